package runner_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/session"
)

// bareSession is a client as an application would open it: nothing of zkbench between it and the server.
func bareSession(t testing.TB, addr string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, ensemble.SessionTimeout, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return conn
}

func testRoot(t testing.TB, conn *zk.Conn, name string) string {
	t.Helper()
	path, err := conn.Create(fmt.Sprintf("/%s-%d", name, time.Now().UnixNano()), nil, 0, zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Delete(path, -1); err != nil {
			t.Errorf("clean up %s: %v", path, err)
		}
	})
	return path
}

func predecessorWatch() variants.Variant {
	recipe := catalog.Recipes()[0]
	i := slices.IndexFunc(recipe.Variants, func(v variants.Variant) bool { return v.Name == "predecessor-watch" })
	return recipe.Variants[i]
}

// BenchmarkLiveOverhead runs the same uncontended lock loop bare and through zkbench (counted at the wire, recorded,
// monitored), in short blocks that alternate, and reports the ratio of the throughputs: the median over the pairs.
func BenchmarkLiveOverhead(b *testing.B) {
	server := live.Get(b).Servers()[0]
	conn := bareSession(b, server.Addr)
	l := lock.NewPredecessorWatch(session.NewSession(conn, nil), testRoot(b, conn, "bare"))
	bare := func(ctx context.Context) error {
		if _, err := l.Acquire(ctx); err != nil {
			return err
		}
		return l.Release(ctx)
	}
	root := testRoot(b, conn, "instrumented")
	steps, closeAll, err := runner.OpenClients(b.Context(), []ensemble.Server{server}, lock.Recipe(), predecessorWatch(), root, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer closeAll()
	const block = 25
	var ratios []float64
	for i := 0; b.Loop(); i++ {
		first, second := bare, steps[0]
		if i%2 == 1 {
			first, second = second, first
		}
		a, z := timeBlock(b, first, block), timeBlock(b, second, block)
		if i%2 == 1 {
			a, z = z, a
		}
		ratios = append(ratios, a.Seconds()/z.Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "instrumented/bare")
	b.ReportMetric(halfWidth(ratios), "±95%")
}

func timeBlock(b *testing.B, step func(context.Context) error, n int) time.Duration {
	b.Helper()
	start := time.Now()
	for range n {
		if err := step(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// halfWidth returns half the width of the 95 % interval of the median, by order statistics.
func halfWidth(sorted []float64) float64 {
	n := float64(len(sorted))
	spread := 0.98 * math.Sqrt(n)
	low, high := int(math.Max(n/2-spread, 0)), int(math.Min(n/2+spread, n-1))
	return (sorted[high] - sorted[low]) / 2
}

// A client session costs so little memory that scenarios can have thousands of clients.
func TestLiveTwoThousandSessions(t *testing.T) {
	if ensembletest.RaceDetector {
		t.Skip("the race detector's own memory would be measured")
	}
	const sessions, limitMiB = 2000, 400
	e := onServersAlone(t)
	conn := bareSession(t, e.Servers()[0].Addr)
	root := testRoot(t, conn, "sessions")
	_, closeAll, err := runner.OpenClients(t.Context(), e.Servers(), lock.Recipe(), predecessorWatch(), root, sessions)
	if err != nil {
		t.Fatal(err)
	}
	resident := machine.ResidentMemory() >> 20
	closeAll()
	if resident == 0 {
		t.Skip("the resident memory is not known here")
	}
	t.Logf("%d sessions: %d MiB resident", sessions, resident)
	if resident >= limitMiB {
		t.Errorf("%d MiB resident with %d sessions, want less than %d", resident, sessions, limitMiB)
	}
}

// refusing is a server that ends each connection, and counts them.
type refusing struct{ accepted atomic.Int64 }

func (r *refusing) DialContext(context.Context, string, string) (net.Conn, error) {
	r.accepted.Add(1)
	client, server := dial.Pipe()
	return client, server.Close()
}

// When a server refuses connections, one client finds out, and no others begin.
func TestOneRefusalIsEnough(t *testing.T) {
	bubble(t, func(t *testing.T, _ *embedded.Ensemble) {
		const clients, tries = 400, 3 // of each client: two before it is found out, and one to ask why
		var server refusing
		servers := []ensemble.Server{{ID: 1, Name: "zk1", Addr: "192.0.2.2:2181", Dialer: &server}}
		_, _, err := runner.OpenClients(t.Context(), servers, catalog.Recipes()[0], catalog.Recipes()[0].Variants[0], "/room", clients)
		if err == nil || !strings.Contains(err.Error(), "maxClientCnxns") || !strings.Contains(err.Error(), "on zk1") {
			t.Errorf("error = %v, want it to name the limit and the server", err)
		}
		if n := server.accepted.Load(); n > clients*tries/2 {
			t.Errorf("%d connections were tried, as if each of %d clients had to find out", n, clients)
		}
	})
}
