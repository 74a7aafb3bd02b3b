package conformance_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/session"
)

var live ensembletest.Shared

// TestMain lets more checks run at once than there are CPUs: those on real servers wait more than they work. Those in bubbles take turns.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "24") // unless the command line says otherwise
	flag.Parse()
	os.Exit(live.Main(m))
}

// patience bounds everything that should not take long; reaching it is a failure, not a measurement.
const patience = time.Minute

// venue is where one check takes place.
type venue struct {
	ensemble.Ensemble
	shortest time.Duration // session that is granted
}

// place is where checks take place: it gives each check a venue.
type place func(t *testing.T, check func(t *testing.T, v venue))

func (p place) run(t *testing.T, name string, check func(t *testing.T, v venue)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { p(t, check) })
}

var bubbles, servers place = inBubble, onServers

// turns has as many as there are CPUs.
var turns = make(chan struct{}, runtime.GOMAXPROCS(0))

// inBubble gives a check a server of its own with short sessions, in virtual time.
func inBubble(t *testing.T, check func(t *testing.T, v venue)) {
	t.Helper()
	ensembletest.Sample(t)
	if testing.Short() && sha256.Sum256([]byte(t.Name()))[0]%4 != 0 {
		t.Skip("not in the sample that runs with -short")
	}
	t.Parallel()
	turns <- struct{}{}
	defer func() { <-turns }()
	config := embedded.Config{Tick: 500 * time.Millisecond}
	ensembletest.Bubble(t, config, func(t *testing.T, e *embedded.Ensemble) {
		check(t, venue{e, 2 * config.Tick})
	})
}

// onServers gives a check the real servers, which all checks share at once.
func onServers(t *testing.T, check func(t *testing.T, v venue)) {
	t.Helper()
	t.Parallel()
	check(t, venue{live.Get(t), 8 * time.Second})
}

// onEmbedded runs checks on embedded servers.
func onEmbedded(t *testing.T, checks func(t *testing.T, at place)) {
	t.Parallel()
	checks(t, bubbles)
}

// onLive runs checks on real servers.
func onLive(t *testing.T, checks func(t *testing.T, at place)) {
	live.Get(t) // or skips
	t.Parallel()
	checks(t, servers)
}

// check is one requirement on all variants of a recipe.
type check[F any] struct {
	name string
	do   F
}

// underTest is a variant of which only how a client opens it matters.
type underTest[O any] struct {
	name string
	open O
}

func (v underTest[O]) label() string { return v.name }

// openFunc opens a client's end of a variant in a directory, and opener one that must open.
type (
	openFunc[E any] = func(ctx context.Context, s *session.Session, dir string) (E, error)
	opener[E any]   = func(t testing.TB, c *client, dir string) E
)

// opensOf returns variants whose ends are opened as their participants open them.
func opensOf[E any](all []variants.Variant) []underTest[openFunc[E]] {
	return list.Map(all, func(v variants.Variant) underTest[openFunc[E]] {
		return underTest[openFunc[E]]{v.Name, func(ctx context.Context, s *session.Session, dir string) (E, error) {
			return openEnd[E](ctx, v, variants.Env{Clients: 1, Session: s, Root: dir, Dial: sharing(s)})
		}}
	})
}

// openEnd opens a client's end of a variant, such as a lock, without a participant. [variants.JoinBy] must have made the variant's Join.
func openEnd[E any](ctx context.Context, v variants.Variant, env variants.Env) (end E, err error) {
	is := false
	env.Opened = func(opened any) { end, is = opened.(E) }
	env.Record = func(variants.EventKind, int64) {}
	if _, err = v.Join(ctx, env); err == nil && !is {
		err = fmt.Errorf("variant %s opens no %T", v.Name, &end)
	}
	return end, err
}

// by makes a constructor return a client's end of a recipe as the interface that all variants implement.
func by[E, O, P any](
	construct func(context.Context, *session.Session, P) (O, error),
) func(context.Context, *session.Session, P) (E, error) {
	return func(ctx context.Context, s *session.Session, where P) (end E, err error) {
		own, err := construct(ctx, s, where)
		if err == nil {
			end = any(own).(E)
		}
		return end, err
	}
}

// openersOf is opensOf with ends that must open.
func openersOf[E any](all []variants.Variant) []underTest[opener[E]] {
	return list.Map(opensOf[E](all), func(v underTest[openFunc[E]]) underTest[opener[E]] {
		return underTest[opener[E]]{v.name, func(t testing.TB, c *client, dir string) E {
			t.Helper()
			end, err := v.open(t.Context(), c.session(), dir)
			must(t, err)
			return end
		}}
	})
}

// named is a variant under test.
type named interface{ label() string }

// checkAll runs every check on every variant. run makes what the check needs, such as a directory.
func checkAll[F any, V named](t *testing.T, at place, checks []check[F], all []V, run func(t *testing.T, v venue, do F, variant V)) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, at, all, func(t *testing.T, v venue, variant V) { run(t, v, c.do, variant) })
		})
	}
}

// onEach calls do with each variant under test, in a subtest of its name.
func onEach[V named](t *testing.T, at place, all []V, do func(t *testing.T, v venue, variant V)) {
	t.Helper()
	for _, variant := range all {
		at.run(t, variant.label(), func(t *testing.T, v venue) { do(t, v, variant) })
	}
}

// onEachOf calls do with each variant as the recipe describes it.
func onEachOf(t *testing.T, at place, recipe variants.Recipe, do func(t *testing.T, v venue, variant variants.Variant)) {
	t.Helper()
	for _, variant := range recipe.Variants {
		at.run(t, variant.Name, func(t *testing.T, v venue) { do(t, v, variant) })
	}
}

// onEveryVariant tests each variant of each recipe in virtual time.
func onEveryVariant(t *testing.T, test func(*testing.T, venue, variants.Recipe, variants.Variant)) {
	t.Parallel()
	for _, recipe := range catalog.Recipes() {
		t.Run(recipe.Name, func(t *testing.T) {
			onEachOf(t, bubbles, recipe, func(t *testing.T, v venue, variant variants.Variant) { test(t, v, recipe, variant) })
		})
	}
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// client is one session with the parts that a lock needs.
type client struct {
	t       testing.TB
	conn    *zk.Conn
	ledger  *wire.Ledger
	monitor *session.Monitor
	handle  *session.Session
	polls   bool                           // it waits by asking again and again
	also    atomic.Pointer[func(zk.Event)] // is called with every event, too
	closing atomic.Bool
	closed  chan struct{}
}

// newClient does not open the connection.
func newClient(t testing.TB, timeout time.Duration) *client {
	return &client{t: t, ledger: wire.NewLedger(time.Now()), monitor: session.NewMonitor(timeout), closed: make(chan struct{})}
}

// Close closes the session. A second caller waits at a channel for the first: the client library's own Close would wait
// for a mutex, which stops the clock of a bubble.
func (c *client) Close() {
	if !c.closing.CompareAndSwap(false, true) {
		<-c.closed
		return
	}
	c.conn.Close()
	close(c.closed)
}

// session returns a handle on the client's session, a new one for each call.
func (c *client) session() *session.Session { return c.handle.Fork() }

// handles has the sessions of objects that wait in these tests, such as locks and participants.
var handles sync.Map

// opened remembers the session of what a client has opened, for untilWaiting.
func opened[O any](c *client, object O) O {
	remember(c.t, object, c.handle)
	return object
}

// remember keeps an object's session until the test ends, and no longer: it has 3 MB of buffers.
func remember(t testing.TB, object any, s *session.Session) {
	handles.Store(object, s)
	t.Cleanup(func() { handles.Delete(object) })
}

// waits reports whether the client waits for a notification, and has no request under way.
func (c *client) waits() bool {
	if c.polls {
		counts := c.ledger.Counts()
		return counts.Requests[wire.OpExists] > 1 || counts.Requests[wire.OpGetChildren2] > 1
	}
	return c.ledger.Idle()
}

// connect opens a session through a dialer, which is the ledger's own if nil. It is closed when it is lost.
func connect(t testing.TB, server ensemble.Server, timeout time.Duration, wrap func(net.Conn) (net.Conn, error)) *client {
	t.Helper()
	c := unguarded(t, server, timeout, wrap)
	c.handle = session.NewMonitoredSession(c.conn, c.monitor)
	c.handle.OrderBy(c.ledger)
	c.monitor.Guard(c)
	return c
}

// unguarded opens a session that is not closed when it is lost, so that the client library goes on with a new one. It has no handle.
func unguarded(t testing.TB, server ensemble.Server, timeout time.Duration, wrap func(net.Conn) (net.Conn, error)) *client {
	t.Helper()
	c := newClient(t, timeout)
	ready := make(chan struct{}, 1)
	conn, _, err := zk.Connect([]string{server.Addr}, timeout,
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) {
			conn, err := server.Dial(t.Context())
			if err != nil {
				return nil, err
			}
			distant := distance{c.ledger.Wrap(conn)}
			if wrap == nil {
				return distant, nil
			}
			return wrap(distant)
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
		zk.WithLogger(quiet{}), zk.WithMaxBufferSize(largestReply))
	must(t, err)
	c.conn = conn
	t.Cleanup(c.Close)
	select {
	case <-ready:
	case <-time.After(patience):
		t.Fatalf("no session at %s", server.Addr)
	}
	return c
}

// largestReply is larger than any reply here. The client library's own limit is 1.5 MB, which each connection would
// occupy.
const largestReply = 1 << 18

// distance is a connection on which a request takes some time. In virtual time, it would take none, and its
// consequences would not be seen to happen later.
type distance struct{ net.Conn }

func (d distance) Write(p []byte) (int, error) {
	time.Sleep(time.Microsecond)
	return d.Conn.Write(p)
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

// directory creates an empty znode for one test and removes it, with all below it, at the end.
func directory(t testing.TB, e ensemble.Ensemble) string {
	t.Helper()
	c := connect(t, e.Servers()[0], ensemble.SessionTimeout, nil)
	dir, err := c.conn.Create("/conformance-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
	must(t, err)
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

// catchUp lets a client's server apply everything that others have done. A write does this, even one that fails: its
// reply comes when the server has applied all transactions before it. A sync on the leader does not: the leader answers
// syncs of its own sessions before it has applied all that followers have.
func catchUp(t testing.TB, c *client, dir string) {
	t.Helper()
	wantError(t, "a delete of what is not there", c.conn.Delete(dir+"/is-not-there", -1), zk.ErrNoNode)
}

// catchUpAll does so for the servers of several clients.
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
	must(t, err)
	return names
}
