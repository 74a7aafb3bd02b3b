package launch_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/scenarios/launch"
)

const token = "a-secret-of-this-run"

// controller is the end to which workers dial.
type controller struct {
	*network
	listener net.Listener
	job      launch.Job
	said     []string
}

func newController(t *testing.T, number int) *controller {
	n := startHosts(t, number, nil)
	l := must.Get(net.Listen("tcp", n.controller+":0"))(t)
	t.Cleanup(func() { l.Close() })
	c := &controller{network: n, listener: l}
	c.job = launch.Job{Run: "Test run", Join: l.Addr().String(), Token: token, Say: func(s string) { c.said = append(c.said, s) }}
	return c
}

// accept returns the connections of n workers, and what they say, sorted.
func (c *controller) accept(t *testing.T, n int) (conns []net.Conn, lines []string) {
	t.Helper()
	for range n {
		conn := must.Get(c.listener.Accept())(t)
		t.Cleanup(func() { conn.Close() })
		conns = append(conns, conn)
		lines = append(lines, strings.TrimSpace(must.Get(bufio.NewReader(conn).ReadString('\n'))(t)))
	}
	slices.Sort(lines)
	return conns, lines
}

// on returns what a command prints on a host.
func (c *controller) on(t *testing.T, host int, script string) string {
	t.Helper()
	out, err := c.hosts[host].command(t.Context(), "sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s on host%d: %v: %s", script, host, err, out)
	}
	return strings.TrimSpace(string(out))
}

const (
	copies   = "ls ~/.cache/zkbench 2>/dev/null || true"
	commands = `for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || { tr '\0' ' ' <$p/cmdline; tr '\0' ' ' <$p/environ; echo; }; done`
	running  = `for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline; echo; done 2>/dev/null | grep '/zkbench-[^ ]* worker' || true`
)

// ends waits until a worker has closed its connection, as the end of its process does.
func ends(t *testing.T, conn net.Conn) {
	t.Helper()
	must.Do(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("a worker did not end: %v", err)
	}
}

// wait waits until no worker runs on a host.
func (c *controller) wait(t *testing.T, host int) {
	t.Helper()
	for c.on(t, host, running) != "" {
	}
}

func TestLiveSSH(t *testing.T) {
	c := newController(t, 3)
	c.job.Args = []string{"--zone", "it's $HOME; a \"zone\""}
	s := must.Get(launch.Start(t.Context(), workers(t, "ssh:host0,host1,root@host2,host1"), c.job))(t)
	conns, lines := c.accept(t, 4)
	words := "|" + token + `|--zone|it's $HOME; a "zone"`
	if want := []string{"host0" + words, "host1" + words, "host1" + words, "host2" + words}; !slices.Equal(lines, want) {
		t.Errorf("the workers say %q, want %q", lines, want)
	}
	if len(c.said) != 1 || !strings.HasSuffix(c.said[0], " MB) to the hosts") {
		t.Errorf("said %q, want that it copies to the hosts", c.said)
	}
	for i := range c.hosts {
		if got := c.on(t, i, copies); !strings.HasPrefix(got, "zkbench-") || strings.ContainsAny(got, "\n ") {
			t.Errorf("host%d has the copies %q, want one", i, got)
		}
		if got := c.on(t, i, commands); strings.Contains(got, token) || !strings.Contains(got, "worker --join") {
			t.Errorf("host%d runs these commands, want a worker and no token:\n%s", i, got)
		}
	}
	for _, file := range must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t) {
		if line, _ := os.ReadFile(file); strings.Contains(string(line), token) {
			t.Errorf("the token is in the command line %q of this machine", line)
		}
	}
	if got := s.Missing(t.Context()); got != "" {
		t.Errorf("nothing is missing, but: %s", got)
	}
	must.Do(t, s.End(t.Context()))
	for _, conn := range conns {
		ends(t, conn)
	}
	for i := range c.hosts {
		if got := c.on(t, i, copies+"; "+running); got != "" {
			t.Errorf("host%d still has %q", i, got)
		}
	}
	if len(s.Exited()) > 0 {
		t.Errorf("an orderly end was reported: %s", <-s.Exited())
	}
}

// Each run has a program of its own, even of the same build. Clean does not disturb a worker that runs.
func TestLiveSSHTwoRuns(t *testing.T) {
	c := newController(t, 1)
	w := workers(t, "ssh:host0")
	first := must.Get(launch.Start(t.Context(), w, c.job))(t)
	c.accept(t, 1)
	c.job.Run = "another"
	second := must.Get(launch.Start(t.Context(), w, c.job))(t)
	conns, _ := c.accept(t, 1)
	must.Do(t, first.End(t.Context()))
	if got := c.on(t, 0, copies); got != "zkbench-another" {
		t.Errorf("after the end of the first run host0 has %q", got)
	}
	c.on(t, 0, "touch ~/.cache/zkbench/zkbench-old.17") // a copy that is not complete
	removed, err := launch.Clean(t.Context(), w, launch.KubernetesOptions{})
	if want := []string{"host0:zkbench-another", "host0:zkbench-old.17"}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("Clean beside a worker removes %q, %v, want %q", removed, err, want)
	}
	if got := c.on(t, 0, running); got == "" || len(second.Exited()) > 0 {
		t.Error("Clean ended a worker")
	}
	must.Do(t, second.End(t.Context()))
	ends(t, conns[0])
	if got := c.on(t, 0, copies); got != "" {
		t.Errorf("host0 still has %q", got)
	}
}

// A worker ends when its ssh is killed, and is reported.
func TestLiveSSHKilled(t *testing.T) {
	c := newController(t, 2)
	s := must.Get(launch.Start(t.Context(), workers(t, "ssh:host0,host1"), c.job))(t)
	conns, _ := c.accept(t, 2)
	must.Do(t, must.Get(os.FindProcess(sshTo(t, "host1")))(t).Kill())
	if got, want := <-s.Exited(), "the worker on host1 ended (ssh: signal: killed)"; got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
	for _, conn := range conns {
		if strings.HasPrefix(conn.RemoteAddr().String(), c.hosts[1].address+":") {
			ends(t, conn)
		}
	}
	if got := s.Missing(t.Context()); got != "the worker on host1 ended (ssh: signal: killed)" {
		t.Errorf("Missing() = %q", got)
	}
	c.wait(t, 1)
	must.Do(t, s.End(t.Context()))
	for i := range c.hosts {
		if got := c.on(t, i, copies+"; "+running); got != "" {
			t.Errorf("host%d still has %q", i, got)
		}
	}
}

// startAndStay is a controller that only a signal ends.
func startAndStay(join string) int {
	var w launch.Workers
	_ = w.Set("ssh:host0,host0")
	_, err := launch.Start(context.Background(), w, launch.Job{Run: "killed", Join: join, Token: token, Say: func(string) {}})
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	select {}
}

// Workers end when their controller is killed, and Clean removes what it would have removed.
func TestLiveSSHControllerKilled(t *testing.T) {
	c := newController(t, 1)
	cmd := exec.CommandContext(t.Context(), must.Get(os.Executable())(t), "controller", c.job.Join)
	cmd.Stderr = os.Stderr
	must.Do(t, cmd.Start())
	conns, _ := c.accept(t, 2)
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, conn := range conns {
		ends(t, conn)
	}
	c.wait(t, 0)
	removed, err := launch.Clean(t.Context(), workers(t, "ssh:host0"), launch.KubernetesOptions{})
	if got := c.on(t, 0, copies); err != nil || len(removed) != 1 || got != "" {
		t.Errorf("Clean() = %q, %v, and host0 still has %q", removed, err, got)
	}
}

// sshTo returns the process of this test's ssh to the worker on a host.
func sshTo(t *testing.T, host string) int {
	t.Helper()
	for _, file := range must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t) {
		dir := filepath.Dir(file)
		line, _ := os.ReadFile(file)
		status, _ := os.ReadFile(dir + "/status")
		words := strings.Split(string(line), "\x00")
		ours := strings.Contains(string(status), "\nPPid:\t"+strconv.Itoa(os.Getpid())+"\n")
		if ours && filepath.Base(words[0]) == "ssh" && slices.Contains(words, host) {
			return must.Get(strconv.Atoi(filepath.Base(dir)))(t)
		}
	}
	t.Fatalf("there is no ssh to %s", host)
	return 0
}

// A worker that fails is reported with its host, its exit code and its last line.
func TestLiveSSHFailed(t *testing.T) {
	c := newController(t, 1)
	c.job.Args = []string{"fail"}
	s := must.Get(launch.Start(t.Context(), workers(t, "ssh:host0"), c.job))(t)
	if got, want := <-s.Exited(), "the worker on host0 ended (ssh: exit status 7): first; this build is another one"; got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
	if got, want := s.Missing(t.Context()), "the worker on host0 ended (ssh: exit status 7): first; this build is another one"; got != want {
		t.Errorf("Missing() = %q, want %q", got, want)
	}
	must.Do(t, s.End(t.Context()))
}

// A worker that is killed is reported, too. Its host's shell has no code for it.
func TestLiveSSHWorkerKilled(t *testing.T) {
	c := newController(t, 1)
	s := must.Get(launch.Start(t.Context(), workers(t, "ssh:host0"), c.job))(t)
	c.accept(t, 1)
	c.on(t, 0, `for p in /proc/[0-9]*; do case $(tr '\0' ' ' <$p/cmdline) in /*/zkbench-*' worker '*) kill -9 ${p#/proc/};; esac; done`)
	if got, want := <-s.Exited(), "the worker on host0 ended (ssh: exit status 255)"; got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
	must.Do(t, s.End(t.Context()))
}

// A host that cannot be reached, or that refuses the key, is named with ssh's message, and nothing stays on the others.
func TestLiveSSHRefused(t *testing.T) {
	c := newController(t, 2)
	config := string(must.Get(os.ReadFile(c.sshConfig))(t))
	key := filepath.Join(t.TempDir(), "key")
	must.Do(t, exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).Run())
	closed := "Host closed\n  HostName " + c.hosts[1].address + "\n  Port 23\n"
	stranger := "Host stranger\n  HostName " + c.hosts[1].address + "\n  IdentityFile " + key + "\n  IdentitiesOnly yes\n"
	config = strings.Replace(config, "Host *\n", "Match !originalhost stranger\n", 1)
	config = closed + stranger + "  User root\n  UserKnownHostsFile " + filepath.Dir(c.sshConfig) + "/known_hosts\n" + config
	must.Do(t, os.WriteFile(c.sshConfig, []byte(config), 0o600))
	_, err := launch.Start(t.Context(), workers(t, "ssh:host0,closed,stranger"), c.job)
	if err == nil {
		t.Fatal("started on hosts that refuse")
	}
	for _, want := range []string{"closed: ssh: exit status 255: ssh: connect to host", "port 23: Connection refused",
		"stranger: ssh: exit status 255:", "Permission denied (publickey", "does `ssh stranger true` work without a password?"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error has no %q:\n%v", want, err)
		}
	}
	if got := c.on(t, 0, copies+"; "+running); got != "" {
		t.Errorf("host0 still has %q", got)
	}
}

// A worker that does not end with its standard input does not hold up the end of a run that has no more time.
func TestLiveSSHStays(t *testing.T) {
	c := newController(t, 1)
	c.job.Args = []string{"stay"}
	s := must.Get(launch.Start(t.Context(), workers(t, "ssh:host0"), c.job))(t)
	conns, _ := c.accept(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.End(ctx); err == nil {
		t.Error("removed a program without time for it")
	}
	conns[0].Close()
	c.wait(t, 0)
	must.Do(t, s.End(t.Context()))
	if got := c.on(t, 0, copies); got != "" {
		t.Errorf("host0 still has %q", got)
	}
}
