package conformance_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
)

var live ensembletest.Shared

// TestMain lets more checks run at once than there are CPUs: they wait for reconnects and expiries more than they work. The limit
// makes the garbage collector return the buffers of closed sessions, 3 MB each, which would add up to gigabytes. It is well above
// what the open sessions of that many checks need: with a limit of 512 MB, the collector takes four times as long as the tests.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "24") // unless the command line says otherwise
	flag.Parse()
	if testing.Short() {
		fmt.Println("conformance tests are left out by -short")
		return
	}
	debug.SetMemoryLimit(2 << 30)
	os.Exit(live.Main(m))
}

// patience bounds everything that should not take long; reaching it is a failure, not a measurement.
const patience = time.Minute

// venue is where a check takes place.
type venue struct {
	ensemble.Ensemble
	shortest time.Duration      // session that is granted
	begin    func(t *testing.T) // called at the start of each check
}

// liveVenue is real servers, on which all checks run at once, too: each in a directory of its own.
func liveVenue(t *testing.T) venue {
	t.Helper()
	return venue{live.Get(t), 8 * time.Second, (*testing.T).Parallel}
}

// embeddedVenue is a server with short sessions, on which all checks run at once. They are long enough for a busy machine:
// clients ping after a third of them.
func embeddedVenue(t *testing.T) venue {
	t.Helper()
	return embeddedWithTick(t, 500*time.Millisecond)
}

// patientVenue is an embedded server for checks in which no session is meant to expire, however busy the machine is.
func patientVenue(t *testing.T) venue {
	t.Helper()
	return embeddedWithTick(t, 20*time.Second)
}

func embeddedWithTick(t *testing.T, tick time.Duration) venue {
	t.Helper()
	return venue{ensembletest.Embedded(t, embedded.Config{Tick: tick}), 2 * tick, (*testing.T).Parallel}
}

// onEmbedded runs checks on an embedded server.
func onEmbedded(t *testing.T, checks func(t *testing.T, v venue)) {
	t.Parallel()
	checks(t, embeddedVenue(t))
}

// onLive runs checks on real servers.
func onLive(t *testing.T, checks func(t *testing.T, v venue)) {
	t.Parallel()
	checks(t, liveVenue(t))
}

// check is one thing that all variants of a recipe must do. What a recipe's checks are told of the place is its own affair.
type check[F any] struct {
	name string
	do   F
}

// underTest is a variant of which nothing need be known but how a client opens it.
type underTest[O any] struct {
	name string
	open O
}

func (v underTest[O]) label() string { return v.name }

// named is a variant under test.
type named interface{ label() string }

// checkAll runs every check on every variant. How is up to run, which makes the place, such as a directory of its own.
func checkAll[F any, V named](t *testing.T, v venue, checks []check[F], all []V, run func(t *testing.T, do F, variant V)) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, v, all, func(t *testing.T, variant V) { run(t, c.do, variant) })
		})
	}
}

// onEach does something with each variant under test, in a subtest of its name.
func onEach[V named](t *testing.T, v venue, all []V, do func(t *testing.T, variant V)) {
	t.Helper()
	for _, variant := range all {
		t.Run(variant.label(), func(t *testing.T) {
			v.begin(t)
			do(t, variant)
		})
	}
}

// onEachOf does something with each variant as the recipe describes it.
func onEachOf(t *testing.T, v venue, recipe variants.Recipe, do func(t *testing.T, variant variants.Variant)) {
	t.Helper()
	for _, variant := range recipe.Variants {
		t.Run(variant.Name, func(t *testing.T) {
			v.begin(t)
			do(t, variant)
		})
	}
}

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
	handle  *variants.Session
	polls   bool                           // it waits by asking again and again
	also    atomic.Pointer[func(zk.Event)] // is called with every event, too
}

// session returns a handle on the client's session, a new one for each call.
func (c *client) session() *variants.Session { return c.handle.Fork() }

// handles has the sessions of what waits in these tests, such as locks and participants.
var handles sync.Map

// opened remembers the session of what a client has opened, for untilWaiting.
func opened[O any](c *client, object O) O {
	handles.Store(object, c.handle)
	return object
}

// waits tells whether the client does nothing but wait.
func (c *client) waits() bool {
	if c.polls {
		counts := c.ledger.Counts()
		return counts.Requests[wire.OpExists] > 1 || counts.Requests[wire.OpGetChildren2] > 1
	}
	return c.ledger.Idle()
}

// connect opens a session through a dialer, which is the ledger's own if nil.
func connect(t testing.TB, server ensemble.Server, timeout time.Duration, wrap func(net.Conn) (net.Conn, error)) *client {
	t.Helper()
	c := &client{ledger: wire.NewLedger(time.Now()), monitor: variants.NewMonitor(timeout)}
	ready := make(chan struct{}, 1)
	conn, _, err := zk.Connect([]string{server.Addr}, timeout,
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) {
			conn, err := server.Dial(t.Context())
			if err != nil {
				return nil, err
			}
			counted := c.ledger.Wrap(conn)
			if wrap == nil {
				return counted, nil
			}
			return wrap(counted)
		}),
		zk.WithEventCallback(func(e zk.Event) {
			c.monitor.Observe(e)
			if also := c.also.Load(); also != nil {
				(*also)(e)
			}
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
		t.Fatalf("no session at %s", server.Addr)
	}
	c.conn = conn
	c.handle = variants.NewMonitoredSession(conn, c.monitor)
	c.handle.OrderBy(c.ledger)
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
		out[i] = connect(t, servers[i%len(servers)], ensemble.SessionTimeout, nil)
	}
	return out
}

// directory creates an empty znode for one test and removes it, with whatever is in it, at the end.
func directory(t testing.TB, e ensemble.Ensemble) string {
	t.Helper()
	c := connect(t, e.Servers()[0], ensemble.SessionTimeout, nil)
	dir, err := c.conn.Create(fmt.Sprintf("/conformance-%d", time.Now().UnixNano()), nil, 0, zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeTree(t, c, dir) })
	return dir
}

// removeTree deletes a znode with all below it, and begins again where a client that is still closing adds to it.
func removeTree(t testing.TB, c *client, path string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		names, _, err := c.conn.Children(path)
		for _, name := range names {
			removeTree(t, c, path+"/"+name)
		}
		if err == nil {
			err = c.conn.Delete(path, -1)
		}
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			return
		}
		if !errors.Is(err, zk.ErrNotEmpty) || time.Now().After(deadline) {
			t.Errorf("deleting %s: %v", path, err)
			return
		}
	}
}

// catchUp lets a client's server learn of everything that others have done. A write does, also one that fails: its reply
// comes when the server has applied all that went before. A sync does not on the leader, which answers those of its own
// sessions before it has applied all that followers have.
func catchUp(t testing.TB, c *client, dir string) {
	t.Helper()
	wantError(t, "a delete of what is not there", c.conn.Delete(dir+"/is-not-there", -1), zk.ErrNoNode)
}

// catchUpAll lets the servers of several learn of it.
func catchUpAll(t testing.TB, dir string, cs ...*client) {
	t.Helper()
	for _, c := range cs {
		catchUp(t, c, dir)
	}
}

// children lists a znode as the leader has it.
func children(t testing.TB, c *client, dir string) []string {
	t.Helper()
	catchUp(t, c, dir)
	names, _, err := c.conn.Children(dir)
	if err != nil {
		t.Fatal(err)
	}
	return names
}
