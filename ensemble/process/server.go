package process

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf16"

	"github.com/zkbench/zkbench/ensemble"
)

// The files in the folders of an ensemble and of its servers.
const (
	homeFile         = "home"
	protectionFile   = "protection"
	protectionFolder = "access"
	lifetimeFile     = "lifetime"
	txnLogFile       = "txnlog"
	configFile       = "zoo.cfg"
	addrFile         = "addr"
	pidFile          = "pid"
	logFile          = "server.log"
)

func serverDir(dir string, id int) string { return filepath.Join(dir, fmt.Sprintf("zoo%d", id)) }

type installation struct {
	home      string
	java      string
	classpath string
}

// Available returns nil if Java is installed, and ZooKeeper is installed or unpacked in the folder home.
func Available(home string) error {
	_, err := findInstallation(home)
	return err
}

// debianJar is a file of Debian's zookeeper package. Its manifest names the other jars.
const debianJar = "/usr/share/java/zookeeper.jar"

func findInstallation(home string) (installation, error) {
	if runtime.GOOS != "linux" { // processes are found in /proc
		return installation{}, fmt.Errorf("%w: --ensemble process works on Linux only", ensemble.ErrUnavailable)
	}
	home = cmp.Or(home, os.Getenv("ZOOKEEPER_HOME"), debianJar)
	inst := installation{home: home, classpath: filepath.Join(home, "lib", "*")}
	if home == debianJar {
		if _, err := os.Stat(debianJar); err != nil {
			return inst, fmt.Errorf("%w: no ZooKeeper is installed: apt-get install zookeeper, or set ZOOKEEPER_HOME to an unpacked release",
				ensemble.ErrUnavailable)
		}
		inst.classpath = strings.Join(append([]string{debianJar, "/usr/share/java/slf4j-simple.jar"}, nettyJars()...), ":")
	} else if jars, _ := filepath.Glob(filepath.Join(home, "lib", "zookeeper-*.jar")); len(jars) == 0 {
		return inst, fmt.Errorf("%w: %s holds no lib/zookeeper-*.jar: it must be an unpacked ZooKeeper release", ensemble.ErrUnavailable, home)
	}
	java, err := exec.LookPath("java")
	if javaHome := os.Getenv("JAVA_HOME"); err != nil && javaHome != "" {
		java, err = exec.LookPath(filepath.Join(javaHome, "bin", "java"))
	}
	if err != nil {
		return inst, fmt.Errorf("%w: there is no java command: install a Java runtime (apt-get install default-jre-headless)",
			ensemble.ErrUnavailable)
	}
	inst.java = java
	return inst, nil
}

// nettyJars returns files that TLS needs, and that the manifest of Debian's jar does not name.
func nettyJars() []string {
	return []string{"/usr/share/java/netty-codec.jar", "/usr/share/java/netty-resolver.jar"}
}

func (i installation) checkTLS() error {
	for _, jar := range nettyJars() {
		if _, err := os.Stat(jar); err != nil && i.home == debianJar {
			return fmt.Errorf("%w: the TLS of Debian's ZooKeeper needs %s: apt-get install libnetty-java", ensemble.ErrUnavailable, jar)
		}
	}
	return nil
}

func configure(dir string, opts ensemble.Options) ([]string, error) {
	clients, err := opts.ClientPorts()
	if err != nil {
		return nil, err
	}
	peers, err := ensemble.FreePorts(2*ensemble.Size, clients...)
	if err != nil {
		return nil, err
	}
	var members strings.Builder
	for i, client := range clients {
		plain := fmt.Sprintf(";127.0.0.1:%d", client)
		fmt.Fprintf(&members, "server.%d=127.0.0.1:%d:%d%s\n", i+1, peers[2*i], peers[2*i+1], map[bool]string{false: plain}[opts.TLS])
	}
	protection, err := opts.Protect(filepath.Join(dir, protectionFolder))
	if err != nil {
		return nil, err
	}
	files := map[string]string{filepath.Join(dir, lifetimeFile): string(opts.Lifetime), filepath.Join(dir, txnLogFile): string(opts.TxnLog),
		filepath.Join(dir, protectionFile): protection.String()}
	logs := dir
	if opts.TxnLog == ensemble.InMemory {
		if logs, err = makeMemoryDir(dir); err != nil {
			return nil, err
		}
	}
	var servers []string
	for i, client := range clients {
		settings := protection.Settings(escaped(protection.Folder), client)
		if protection.TLS {
			settings = append(settings, "secureClientPortAddress=127.0.0.1")
		}
		server := serverDir(dir, i+1)
		servers = append(servers, server)
		files[filepath.Join(server, configFile)] = serverConfig(server, serverDir(logs, i+1)) + strings.Join(append(settings, ""), "\n") +
			members.String()
		files[filepath.Join(server, addrFile)] = fmt.Sprintf("127.0.0.1:%d", client)
		files[filepath.Join(server, "data", "myid")] = strconv.Itoa(i + 1)
	}
	return servers, writeAll(files)
}

func writeAll(files map[string]string) error {
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Settings that the servers do not report.
const (
	heap       = "512m"
	snapCount  = "1000000"
	pauseSleep = "20" // milliseconds
)

// serverConfig returns the same settings as compose.yaml, which explains them. The transaction log is below the folder logs.
func serverConfig(server, logs string) string {
	return strings.Join([]string{
		"dataDir=" + escaped(filepath.Join(server, "data")),
		"dataLogDir=" + escaped(filepath.Join(logs, "datalog")),
		"tickTime=2000",
		"initLimit=10",
		"syncLimit=5",
		"maxClientCnxns=0",
		"standaloneEnabled=false",
		"admin.enableServer=false",
		"4lw.commands.whitelist=srvr,mntr,conf,ruok,cons,wchs,envi,stat,isro,dump",
		"snapCount=" + snapCount,
		"extendedTypesEnabled=true",
		"jvm.pause.monitor=true",
		"jvm.pause.sleep.time.ms=" + pauseSleep,
		"",
	}, "\n")
}

// escaped returns the value of a Java property: backslashes and all letters outside ASCII are escaped as UTF-16.
func escaped(value string) (out string) {
	for _, unit := range utf16.Encode([]rune(value)) {
		out += fmt.Sprintf(map[bool]string{true: "%c", false: `\u%04x`}[unit >= ' ' && unit <= '~' && unit != '\\'], unit)
	}
	return out
}

// launch starts one server in its own process session, so that it outlives both Ctrl-C and zkbench.
func launch(inst installation, server string) error {
	log, err := os.OpenFile(filepath.Join(server, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(inst.java, "-Xmx"+heap, ensemble.HistogramFlag, "-XX:ErrorFile="+filepath.Join(server, "crash.log"),
		"-cp", inst.classpath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(server, configFile))
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(os.Environ(), ensemble.JavaLocale)
	cmd.SysProcAttr = ownSession()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start ZooKeeper: %w", err)
	}
	go func() { _ = cmd.Wait() }() // reaps it if it ends before zkbench
	return errors.Join(os.WriteFile(filepath.Join(server, pidFile), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644),
		os.WriteFile(filepath.Join(filepath.Dir(server), homeFile), []byte(inst.home), 0o644))
}

// running returns the id of the server's process and whether it is alive. The command line shows whether a process with
// that id is the server: process ids are reused, and no foreign process may be ended.
func running(server string) (pid int, alive bool) {
	text, _ := os.ReadFile(filepath.Join(server, pidFile)) // empty after an error
	pid, err := strconv.Atoi(string(text))
	var cmdline []byte
	for tries := 0; err == nil && len(cmdline) == 0 && tries < 15; tries++ { // it is empty while the program begins
		time.Sleep(time.Duration(tries) * time.Millisecond)
		cmdline, err = os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	}
	return pid, err == nil && strings.Contains(string(cmdline), filepath.Join(server, configFile))
}

func stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, fields, _ := strings.Cut(string(stat), ") ") // after the name, which may have spaces
	return err == nil && strings.HasPrefix(fields, "T")
}

const stopTimeout = 5 * time.Second

func remove(dir string) (ended int, err error) {
	for id := 1; id <= ensemble.Size; id++ {
		server := serverDir(dir, id)
		pid, alive := running(server)
		if !alive {
			continue
		}
		ended++
		if err := stop(server, pid); err != nil {
			return ended, err
		}
	}
	return ended, errors.Join(ensemble.RemoveState(dir), os.RemoveAll(memoryDir(dir)))
}

func stop(server string, pid int) error {
	deadline := time.Now().Add(stopTimeout)
	for signal := syscall.SIGTERM; ; time.Sleep(20 * time.Millisecond) {
		if _, alive := running(server); !alive {
			return nil
		}
		if time.Now().After(deadline) {
			if signal == syscall.SIGKILL {
				return fmt.Errorf("process %d does not end", pid)
			}
			signal, deadline = syscall.SIGKILL, time.Now().Add(stopTimeout)
		}
		if err := send(pid, signal); err != nil {
			return fmt.Errorf("end process %d: %w", pid, err)
		}
		if err := send(pid, resume); err != nil { // a paused process handles the signal only then
			return fmt.Errorf("continue process %d: %w", pid, err)
		}
	}
}
