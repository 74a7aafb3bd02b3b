package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
)

var live ensembletest.Shared

func TestMain(m *testing.M) { os.Exit(live.Main(m)) }

// patience bounds everything that should not take long; reaching it is a failure, not a measurement.
const patience = 30 * time.Second

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// client is one session with what a lock needs of it.
type client struct {
	conn    *zk.Conn
	ledger  *wire.Ledger
	monitor *variants.Monitor
}

// connect opens a session through a dialer, which is the ledger's own if nil.
func connect(t testing.TB, addr string, timeout time.Duration, wrap func(net.Conn) (net.Conn, error)) *client {
	t.Helper()
	c := &client{ledger: wire.NewLedger(time.Now()), monitor: variants.NewMonitor(timeout)}
	ready := make(chan struct{}, 1)
	conn, _, err := zk.Connect([]string{addr}, timeout,
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			conn, err := c.ledger.Dial(network, address, timeout)
			if err != nil || wrap == nil {
				return conn, err
			}
			return wrap(conn)
		}),
		zk.WithEventCallback(func(e zk.Event) {
			c.monitor.Observe(e)
			if e.State == zk.StateHasSession {
				select {
				case ready <- struct{}{}:
				default:
				}
			}
		}),
		zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	select {
	case <-ready:
	case <-time.After(patience):
		t.Fatalf("no session at %s", addr)
	}
	c.conn = conn
	c.monitor.Guard(conn)
	return c
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// clients opens n sessions spread over the ensemble's servers.
func clients(t testing.TB, e ensemble.Ensemble, n int) []*client {
	t.Helper()
	servers := e.Servers()
	out := make([]*client, n)
	for i := range out {
		out[i] = connect(t, servers[i%len(servers)].Addr, ensemble.SessionTimeout, nil)
	}
	return out
}

// directory creates an empty znode for one test and removes it, with whatever is in it, at the end.
func directory(t testing.TB, e ensemble.Ensemble) string {
	t.Helper()
	c := connect(t, e.Servers()[0].Addr, ensemble.SessionTimeout, nil)
	dir, err := c.conn.Create(fmt.Sprintf("/conformance-%d", time.Now().UnixNano()), nil, 0, zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, child := range children(t, c, dir) {
			if err := c.conn.Delete(dir+"/"+child, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
				t.Error(err)
			}
		}
		if err := c.conn.Delete(dir, -1); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// children lists a znode as the leader has it.
func children(t testing.TB, c *client, dir string) []string {
	t.Helper()
	if _, err := c.conn.Sync(dir); err != nil {
		t.Fatal(err)
	}
	names, _, err := c.conn.Children(dir)
	if err != nil {
		t.Fatal(err)
	}
	return names
}
