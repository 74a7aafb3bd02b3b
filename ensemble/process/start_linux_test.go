package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/must"
)

func TestEscaped(t *testing.T) {
	for value, want := range map[string]string{
		"/var/lib/x":         "/var/lib/x",
		"/home/hü":           `/home/h\u00fc`,
		`/a\u0041\`:          `/a\u005cu0041\u005c`,
		"/a b #!=:":          "/a b #!=:",
		"/日本/𝄞":              `/\u65e5\u672c/\ud834\udd1e`,
		"/a\nb\tc\x7f\u202e": `/a\u000ab\u0009c\u007f\u202e`,
	} {
		if got := escaped(value); got != want {
			t.Errorf("escaped(%q) = %s, want %s", value, got, want)
		}
	}
}

// A server with TLS has no other client port, and finds its files in any folder. One with a digest demands it.
func TestProtectedConfig(t *testing.T) {
	for _, tt := range []struct {
		opts        ensemble.Options
		want, never []string
	}{
		{ensemble.Options{}, []string{";127.0.0.1:5003\n"}, []string{"secureClientPort", "enforce.auth"}},
		{ensemble.Options{Digest: true}, []string{";127.0.0.1:5001\n", "enforce.auth.enabled=true\nenforce.auth.schemes=digest\n"}, []string{"secureClientPort"}},
		{ensemble.Options{TLS: true}, []string{"secureClientPort=5002\n", "\nsecureClientPortAddress=127.0.0.1\n", "\nssl.clientAuth=need\n",
			`/h\u00fc/x/access/server.pem` + "\n", `/h\u00fc/x/access/ca.pem` + "\n", "NettyServerCnxnFactory\n"}, []string{";127.0.0.1", "enforce.auth"}},
	} {
		dir := filepath.Join(t.TempDir(), "hü", "x")
		tt.opts.Ports = []int{5001, 5002, 5003}
		servers := must.Get(configure(dir, tt.opts))(t)
		text := string(must.Get(os.ReadFile(filepath.Join(servers[1], configFile)))(t))
		for _, line := range tt.want {
			if !strings.Contains(text, line) {
				t.Errorf("%+v: no %q in\n%s", tt.opts, line, text)
			}
		}
		for _, line := range tt.never {
			if strings.Contains(text, line) {
				t.Errorf("%+v: %q in\n%s", tt.opts, line, text)
			}
		}
	}
}

// javaThat makes a shell script the java command, and a folder an installation, which it returns.
func javaThat(t *testing.T, script string) (home string) {
	t.Helper()
	home = t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(home, "lib"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(home, "lib", "zookeeper-3.9.3.jar"), nil, 0o644))
	must.Do(t, os.WriteFile(filepath.Join(home, "java"), []byte("#!/bin/sh\n"+script), 0o755))
	t.Setenv("PATH", home+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return home
}

// The error of servers that end at once has the line of one of them that says why, once, and no others.
func TestServersThatEndAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name, script, want, not string
		taken                   bool
	}{
		{"a JVM that refuses its options", `echo "Picked up JAVA_TOOL_OPTIONS: -Xmx0q"; echo "Invalid maximum heap size: -Xmx0q" >&2; exit 1`,
			"| Invalid maximum heap size: -Xmx0q\n", "Picked up", false},
		{"a JVM that is too old", `printf 'Error: LinkageError occurred while loading main class X\n\tjava.lang.UnsupportedClassVersionError: X\n' >&2; exit 1`,
			"| \tjava.lang.UnsupportedClassVersionError: X\n", "no quorum", false},
		{"a bad zoo.cfg", `cat <<END
[main] INFO o.a.z.QuorumPeerConfig - Reading configuration
org.apache.zookeeper.server.quorum.QuorumPeerConfig$ConfigException: Error processing zoo.cfg
	at org.apache.zookeeper.server.quorum.QuorumPeerConfig.parse(QuorumPeerConfig.java:198)
Caused by: java.lang.NumberFormatException: For input string: "x"
	... 2 more
END
exit 2`, "| Caused by: java.lang.NumberFormatException: For input string: \"x\"\n", "QuorumPeerConfig.java", false},
		{"a port that is taken", `echo "java.net.BindException: Address already in use"; exit 14`,
			"| java.net.BindException: Address already in use\n", "", true},
		{"silence", "exit 1", "the servers did not become ready", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := javaThat(t, tt.script)
			_, err := Up(t.Context(), ensemble.Options{Name: "ends", Home: home})
			if !errors.Is(err, ensemble.ErrNotStarted) || errors.Is(err, ensemble.ErrPortTaken) != tt.taken {
				t.Fatalf("error = %v, want ErrNotStarted", err)
			}
			if text := err.Error(); strings.Count(text, tt.want) != 1 || !strings.Contains(text, " is not running") {
				t.Errorf("error = %v\nwant %q once, and a server that is not running", err, tt.want)
			}
			if tt.not != "" && strings.Contains(err.Error(), tt.not) {
				t.Errorf("error = %v\nwant it without %q", err, tt.not)
			}
		})
	}
}

// A server counts as running from its start on, although the system does not show its command line at once.
func TestRunningFromTheStartOn(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	inst := must.Get(findInstallation(javaThat(t, "read never <'"+dir+"/fifo'")))(t)
	server := filepath.Join(dir, "zoo1")
	must.Do(t, os.Mkdir(server, 0o700))
	for range 500 {
		must.Do(t, launch(inst, server))
		pid, alive := running(server)
		if !alive {
			t.Fatal("a server that was just started is not running")
		}
		must.Do(t, send(pid, syscall.SIGKILL))
	}
}
