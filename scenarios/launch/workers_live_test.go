package launch_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/store"
)

var live ensembletest.Shared

// zkbench builds the program, which each test of whole runs starts, with further flags of the compiler.
func zkbench(t *testing.T, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "zkbench")
	build := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build", "-o", path}, flags, []string{"../../cmd/zkbench"})...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// reachable returns addresses at which hosts reach servers that listen on this machine alone.
func (n *network) reachable(t *testing.T, servers []ensemble.Server) string {
	t.Helper()
	var addresses []string
	for _, s := range servers {
		l := must.Get(net.Listen("tcp", n.controller+":0"))(t)
		t.Cleanup(func() { l.Close() })
		addresses = append(addresses, l.Addr().String())
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go forward(conn, s.Addr)
			}
		}()
	}
	return strings.Join(addresses, ",")
}

func forward(conn net.Conn, to string) {
	defer conn.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		io.Copy(server, conn)
		server.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(conn, server)
}

// Clients on 1, 2 and 4 hosts, one of which has a clock of its own, keep the promises of their recipes, and the servers confirm all counts.
func TestLiveWorkers(t *testing.T) {
	n := startHosts(t, 4, map[int]time.Duration{1: 100_000 * time.Second})
	servers, program := n.reachable(t, live.Get(t).Servers()), zkbench(t)
	for _, question := range [][]string{
		{"lock-contention", "--variants", "predecessor-watch"},
		{"queue-claims", "--variants", "matched-ticket"},
		{"rwlock-mixed", "--variants", "nearest-writer-watch"},
		{"watch-delivery", "--variants", "one-znode"},
	} {
		for _, hosts := range []string{"host0", "host0,host1", "host0,host1,host2,host3"} {
			t.Run(question[0]+" on "+hosts, func(t *testing.T) {
				out := t.TempDir()
				cmd := exec.CommandContext(t.Context(), program, slices.Concat([]string{"run"}, question, []string{
					"--quick", "--mode", "closed", "--operations", "5", "--warm-up", "0s", "--clients", "12", // no window may be empty
					"--servers", servers, "--dedicated", "--workers", "ssh:" + hosts, "--out", out,
				})...)
				if said, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, said)
				}
				docs := must.Get(store.ReadAll(must.Get(filepath.Glob(out + "/*.json"))(t)))(t)
				if len(docs) == 0 {
					t.Error("no document")
				}
				for _, d := range docs {
					checkWorkers(t, d, strings.Split(hosts, ","))
				}
			})
		}
	}
}

func checkWorkers(t *testing.T, d *results.Document, hosts []string) {
	t.Helper()
	if !d.Oracle.Checked || !d.Oracle.Agrees() || len(d.Violations) > 0 {
		t.Errorf("oracle %+v, violations %v", d.Oracle, d.Violations)
	}
	for _, deviation := range doubts.Deviations(d) {
		if deviation.Exact {
			t.Error(deviation)
		}
	}
	if len(d.Workers) != len(hosts) {
		t.Fatalf("workers %+v, want %v", d.Workers, hosts)
	}
	for i, w := range d.Workers {
		if w.Host != hosts[i] || w.Clients != 12/len(hosts) {
			t.Errorf("worker %d is %s with %d clients, want %s", i, w.Host, w.Clients, hosts[i])
		}
	}
	if longest := fmt.Sprint(d.ClockError()); d.ClockError() > float64(time.Minute) {
		t.Errorf("the clocks may differ by %s ns, although one is only ahead", longest)
	}
}

// A lock in which each tenth client does not wait for its turn is found, although the only other client is on another host.
func TestLiveWorkersFindAMistake(t *testing.T) {
	n, e, dir := startHosts(t, 2, map[int]time.Duration{1: 100_000 * time.Second}), ensembletest.Embedded(t, embedded.Config{}), t.TempDir()
	file := must.Get(filepath.Abs("../../variants/lock/optimized_predecessor_watch.go"))(t)
	const right, wrong = "line.AwaitTurn)}", `func(ctx context.Context, mine tickets.Ticket) error {
		if mine.Seq%10 == 0 {
			return nil
		}
		return line.AwaitTurn(ctx, mine)
	})}`
	text := string(must.Get(os.ReadFile(file))(t))
	planted := strings.Replace(strings.Replace(text, right, wrong, 1), "import (", "import (\n\"context\"", 1)
	must.Do(t, os.WriteFile(dir+"/planted.go", []byte(planted), 0o600))
	must.Do(t, os.WriteFile(dir+"/overlay", fmt.Appendf(nil, `{"Replace": {%q: %q}}`, file, dir+"/planted.go"), 0o600))
	run := exec.CommandContext(t.Context(), zkbench(t, "-overlay", dir+"/overlay"), "run", "lock-contention", "--variants", "predecessor-watch",
		"--quick", "--mode", "closed", "--operations", "50", "--clients", "2",
		"--servers", n.reachable(t, e.Servers()), "--workers", "ssh:host0,host1", "--out", t.TempDir())
	said, _ := run.CombinedOutput() // the exit code says more
	if code := run.ProcessState.ExitCode(); code != 4 || !strings.Contains(string(said), "promise was breached") {
		t.Errorf("exit code %d, want 4 and a breach in\n%s", code, said)
	}
}

// mishap is what can go wrong while workers apply a load.
type mishap struct {
	name   string
	happen func(t *testing.T, n *network, run *exec.Cmd)
	code   int    // of the run
	says   string // in its output
	leaves bool   // znodes, until the session of the run has ended
}

func mishaps() []mishap {
	onHost1 := func(script string) func(*testing.T, *network, *exec.Cmd) {
		return func(t *testing.T, n *network, _ *exec.Cmd) {
			if out, err := n.hosts[1].command(t.Context(), "sh", "-c", script).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", script, err, out)
			}
		}
	}
	signal := func(s os.Signal) func(*testing.T, *network, *exec.Cmd) {
		return func(t *testing.T, _ *network, run *exec.Cmd) { must.Do(t, run.Process.Signal(s)) }
	}
	const worker = `for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^[^ ]*/zkbench-[^ ]* worker' && kill -%s ${p#/proc/}; done; true`
	return []mishap{
		{"a worker is killed", onHost1(fmt.Sprintf(worker, "KILL")), 1, "the measurement is void", false},
		{"a worker stands still", onHost1(fmt.Sprintf(worker, "STOP")), 1, "no sign of life for 2s", false},
		{"a host is cut off", onHost1("ip link set eth0 down"), 1, "no sign of life for 2s", false},
		{"an interrupt", signal(os.Interrupt), 130, "interrupted", false},
		{"the controller is killed", signal(os.Kill), -1, "", true},
	}
}

// If something happens to a worker or to the controller, the run ends with the reason, and no worker and no session of it stays.
func TestLiveWorkersFail(t *testing.T) {
	program := zkbench(t)
	for _, m := range mishaps() {
		t.Run(m.name, func(t *testing.T) {
			n, e := startHosts(t, 2, nil), ensembletest.Embedded(t, embedded.Config{})
			before := ensembletest.Connections(t, e.Servers())
			run := exec.CommandContext(t.Context(), program, "run", "lock-contention", "--variants", "predecessor-watch", "--clients", "6",
				"--repeats", "1", "--duration", "5m", "--servers", n.reachable(t, e.Servers()), "--workers", "ssh:host0,host1", "--out", t.TempDir())
			var said strings.Builder
			out := must.Get(run.StderrPipe())(t)
			must.Do(t, run.Start())
			lines := bufio.NewScanner(out)
			for happened := false; lines.Scan(); {
				said.WriteString(lines.Text() + "\n")
				if !happened && strings.Contains(lines.Text(), "[2/2]") { // the load itself
					happened = true
					m.happen(t, n, run)
				}
			}
			_ = run.Wait() // the exit code says more
			if code := run.ProcessState.ExitCode(); code != m.code || !strings.Contains(said.String(), m.says) {
				t.Errorf("exit code %d, want %d, and %q in\n%s", code, m.code, m.says, said.String())
			}
			if m.leaves {
				ensembletest.AwaitConnections(t, e.Servers(), before)
			} else if left := ensembletest.Znodes(t, e.Servers()[0]); len(left) > 0 {
				t.Errorf("znodes are left: %v", left)
			}
		})
	}
}
