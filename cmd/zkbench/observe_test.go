package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/scenarios/observe"
)

// lockedBuffer is a buffer that one goroutine writes and another one reads.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func awaitText(t *testing.T, said *lockedBuffer, text string) {
	t.Helper()
	ensembletest.Await(t, func() string {
		if now := said.String(); !strings.Contains(now, text) {
			return fmt.Sprintf("%q is not in %s", text, now)
		}
		return ""
	})
}

// observed runs `zkbench observe` in front of a server, calls use with its address, interrupts it, and returns its output.
func observed(t *testing.T, use func(address string, said *lockedBuffer), args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	var out, said lockedBuffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, app{stdout: &out, stderr: &said, started: &started{}, args: append([]string{"observe"}, args...)})
	}()
	var address string
	ensembletest.Await(t, func() string {
		_, rest, ok := strings.Cut(said.String(), "point the application at ")
		if address, _, _ = strings.Cut(rest, "\n"); !ok || address == "" {
			return "no address: " + said.String()
		}
		return ""
	})
	use(address, &said)
	cancel(errInterrupted)
	code = <-done
	return out.String(), said.String(), code
}

// A run through the addresses of an observation is shown with its herds, and is plotted, gated and compared like any other.
func TestObserveAnApplication(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("COLUMNS", "120")
	outsideCI(t)
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	var ran string
	var stdout string
	for _, out := range []string{"one", "two"} {
		var stderr string
		var code int
		report := out + ".json"
		stdout, stderr, code = observed(t, func(address string, _ *lockedBuffer) {
			_, ran, _ = command(t.Context(), "run", "lock-contention", "--variants", "children-watch", "--clients", "5", "--operations", "40",
				"--warm-up", "0s", "--repeats", "1", "--servers", address, "--out", out+"-run")
		}, "--servers", addr, "--json", report, "--out", out, "--tag", "app="+out)
		if code != outcome.CodePass {
			t.Fatalf("exit code %d: %s%s%s", code, stderr, stdout, ran)
		}
		checkReportFile(t, report)
	}
	hasAll(t, strings.Join(strings.Fields(stdout), " "),
		"largest herds, cause first", "by session 0x", "NodeChildrenChanged of /zkbench-", "within 50 ms: ", "no write followed",
		": lock/children-watch (sessions that create ephemeral znodes in it: 5, ",
		"lock/predecessor-watch would need at most 5 requests and 1 notification per operation with 5 sessions",
		"zkbench explain lock/predecessor-watch", "four-letter commands, forwarded and not decoded",
	)
	prints(t, outcome.CodePass, "tags: app=one\n", "report", "one")
	for _, args := range [][]string{{"plot", "one"}, {"report", "one"}, {"gate", "one"}, {"compare", "one", "two"}} {
		stdout, stderr, code := command(t.Context(), args...)
		if code != outcome.CodePass {
			t.Errorf("%v: exit code %d: %s%s", args, code, stdout, stderr)
		}
		if args[0] == "report" && (!strings.Contains(stdout, "1 measurement only observed") || strings.Contains(stdout, "promise was kept")) {
			t.Errorf("the report speaks of a promise:\n%s", stdout)
		}
	}
}

func checkReportFile(t *testing.T, path string) {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	var r struct {
		observe.Report
		Connections proxy.Stats `json:"connections"`
	}
	must.Do(t, json.Unmarshal(text, &r))
	if r.HerdMax < 2 || r.HerdMax > 5 || r.MostSessions < 5 || r.Connections.Connections < 5 || len(r.Looks) == 0 {
		t.Errorf("%s: herds of at most %d, %d sessions, connections %+v, looks like %+v", path, r.HerdMax, r.MostSessions, r.Connections, r.Looks)
	}
}

// Without traffic, the report says so, and no document is written.
func TestObserveNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	stdout, _, code := observed(t, func(string, *lockedBuffer) {}, "--servers", addr)
	if code != outcome.CodePass || !strings.Contains(stdout, "0 sessions, and no request") || !strings.Contains(stdout, "no client has connected") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	stdout, stderr, code := command(t.Context(), "observe", "--servers", addr, "--for", "50ms", "--out", "out")
	if code != outcome.CodeInvalid || !strings.Contains(stderr, "--out out has no document: no write succeeded") || !strings.Contains(stdout, "no request") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if left, _ := filepath.Glob("out/*"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// A client whose exists has set a watch on a sequential znode that is gone is reported while it waits.
func TestObserveAStuckClient(t *testing.T) {
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	stdout, stderr, code := observed(t, func(address string, said *lockedBuffer) {
		conn := must.Get(ensemble.Connect(t.Context(), ensemble.Server{Addr: address}, wire.NewLedger(time.Now()), nil))(t)
		defer conn.Close()
		create := func(path string, flags int32) string {
			return must.Get(conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll)))(t)
		}
		create("/lock", 0)
		gone := create("/lock/x-", zk.FlagEphemeral|zk.FlagSequence)
		must.Do(t, conn.Delete(gone, -1))
		if _, _, _, err := conn.ExistsW(gone); err != nil {
			t.Fatal(err)
		}
		awaitText(t, said, "has waited for /lock/x-0000000000, which is gone")
	}, "--servers", addr)
	if code != outcome.CodePass || strings.Count(stderr, "stuck:") != 1 || !strings.Contains(stdout, "stuck sessions that have ended: 1") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// Servers that cannot be reached, and addresses that are in use, are errors at once. An interrupt before the end of --for is an
// error at the end.
func TestObserveErrors(t *testing.T) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	taken := listener.Addr().String()
	defer listener.Close()
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	ports := must.Get(ensemble.FreePorts(1))(t)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--servers", fmt.Sprintf("127.0.0.1:%d", ports[0])}, outcome.CodeFailed, "no server can be reached"},
		{[]string{"--servers", addr, "--listen", taken}, outcome.CodeUsage, "address already in use"},
	} {
		says(t, tt.code, tt.want, append([]string{"observe"}, tt.args...)...)
	}
	_, stderr, code := observed(t, func(string, *lockedBuffer) {}, "--servers", addr, "--for", "1h", "--listen", "0.0.0.0:0")
	if code != outcome.CodeInterrupted || !strings.Contains(stderr, "is not on loopback") || strings.Contains(stderr, "0.0.0.0") || strings.Contains(stderr, "[::]") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
