package conformance_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/planted"
	"github.com/zkbench/zkbench/variants/treecache"
	"github.com/zkbench/zkbench/variants/twophasecommit"
)

// These tests are about what the client library does when a connection is made again. It sends its watches in requests of 128 KB, with the
// last zxid that it has seen. What it sees in that moment is a matter of chance, so that each test has several rounds, each with an outage
// of its own.
var (
	outages = flag.Int("outages", 6, "how many outages there are in each test of one")
	leaves  = flag.Int("leaves", 12_000, "how many znodes are watched in tests of outages; 2,000 take one request of the client library")
)

// A mistake shows only while the client library prepares its requests: the more watches there are, and the more outages, the more surely.
const (
	mostOutages = 100
	moreLeaves  = 4 // times as many
)

// outage is the end of a session's connection, and the time that it takes to make the next one.
type outage struct {
	mu   sync.Mutex
	last net.Conn
	over time.Time
}

// wrap keeps a connection. Its requests take no time: what the client library does at one instant is the matter of these tests.
func (o *outage) wrap(conn net.Conn) (net.Conn, error) {
	if distant, ok := conn.(distance); ok {
		conn = distant.Conn
	}
	o.mu.Lock()
	over := o.over
	o.mu.Unlock()
	time.Sleep(time.Until(over))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = conn
	return conn, nil
}

// begin ends the connection. The next one is made after d.
func (o *outage) begin(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = time.Now().Add(d)
	o.last.Close()
}

// forest is a tree of many znodes and a client whose cache watches all of them, twice: more than the client library sends at once.
type forest struct {
	*testing.T
	writer   *client
	reader   *client
	outage   outage
	cache    treecache.Cache
	mu       sync.Mutex
	copied   map[string]string
	versions int
	leaves   int
}

func leafOf(i int) string { return fmt.Sprintf("/tree/p%05d/l%05d", i/50, i) }

// plant creates the tree, and makes the cache of it with open.
func plant(t *testing.T, e *embedded.Ensemble, wrong bool, open func(*variants.Session, treecache.Listener) (treecache.Cache, error)) *forest {
	t.Helper()
	f := &forest{T: t, writer: clients(t, e, 1)[0], copied: map[string]string{}, leaves: *leaves}
	if wrong {
		f.leaves *= moreLeaves
	}
	f.write(&zk.CreateRequest{Path: "/tree", Acl: variants.WorldACL()})
	for i := 0; i < f.leaves; i += 50 {
		ops := []any{&zk.CreateRequest{Path: leafOf(i)[:len("/tree/p00000")], Acl: variants.WorldACL()}}
		for j := i; j < i+50; j++ {
			ops = append(ops, &zk.CreateRequest{Path: leafOf(j), Data: []byte("old"), Acl: variants.WorldACL()})
		}
		f.write(ops...)
	}
	f.reader = connect(t, e.Servers()[0], ensemble.SessionTimeout, f.outage.wrap)
	var err error
	f.cache, err = open(f.reader.handle, func(u treecache.Update) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.copied[u.Path] = string(u.Data)
	})
	must(t, err)
	must(t, f.cache.Load(t.Context()))
	return f
}

func (f *forest) write(ops ...any) {
	f.Helper()
	_, err := f.writer.conn.Multi(ops...)
	must(f.T, err)
}

// set writes a new version of every n-th leaf, from first on.
func (f *forest) set(first, n int) {
	f.versions++
	for i := first; i < f.leaves; {
		var ops []any
		for ; i < f.leaves && len(ops) < 500; i += n {
			ops = append(ops, &zk.SetDataRequest{Path: leafOf(i), Data: fmt.Append(nil, f.versions), Version: -1})
		}
		f.write(ops...)
	}
}

// stale returns how many of the leaves that set has written last are not in the copy.
func (f *forest) stale(first, n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	missing := 0
	for i := first; i < f.leaves; i += n {
		if f.copied[leafOf(i)] != fmt.Sprint(f.versions) {
			missing++
		}
	}
	return missing
}

// A client that waits for data is woken although the connection was lost when the data was written, and although another part of the
// application has made a request meanwhile, whose reply overtakes the watches.
func TestNoWakeUpIsLost(t *testing.T) {
	for _, tt := range []struct {
		name  string
		see   func(*variants.Session) *variants.Session
		wrong bool
	}{
		{"released-mark", (*variants.Session).Fork, false},
		{"planted", planted.Trusting, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
				f := plant(t, e, tt.wrong, func(s *variants.Session, l treecache.Listener) (treecache.Cache, error) {
					return treecache.NewFullReload(s, treecache.Tree{Root: "/tree", Depth: 2}, l)
				})
				f.write(&zk.CreateRequest{Path: "/lock", Acl: variants.WorldACL()})
				repeatOutage(t, tt.wrong, func() bool { return f.losesWakeUp(tt.see) })
			})
		})
	}
}

// repeatOutage repeats a test of one outage, which reports whether it found something wrong, until that is the case or it has been
// repeated often enough.
func repeatOutage(t *testing.T, wrong bool, once func() bool) {
	t.Helper()
	n := *outages
	if wrong {
		n = mostOutages
	}
	for i := range n {
		if once() {
			if !wrong {
				t.Errorf("outage %d of %d", i+1, n)
			}
			return
		}
	}
	if wrong {
		t.Errorf("a planted mistake was not found in %d outages", n)
	}
}

// losesWakeUp lets a client wait for a lock that is released in an outage, and reports whether it still waits ten minutes later.
func (f *forest) losesWakeUp(see func(*variants.Session) *variants.Session) bool {
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	holder, waiter := lock.NewReleasedMark(f.writer.session(), "/lock"), lock.NewReleasedMark(see(f.reader.handle), "/lock")
	mustAcquire(f.T, holder)
	got := make(chan error, 1)
	go func() {
		_, err := waiter.Acquire(ctx)
		got <- err
	}()
	time.Sleep(time.Second)
	f.outage.begin(time.Second)
	time.Sleep(10 * time.Millisecond)
	go func() { _, _, _ = f.reader.session().Get(ctx, "/tree") }() // is queued, and then answered at once
	time.Sleep(100 * time.Millisecond)
	mustRelease(f.T, holder)
	select {
	case err := <-got:
		must(f.T, err)
		mustRelease(f.T, waiter)
		return false
	case <-time.After(10 * time.Minute):
		cancel()
		<-got
		return true
	}
}

// A cache that reads only what has changed has everything after an outage, although a notification had come just before it. It does not
// read the whole tree for that.
func TestNoChangeIsLost(t *testing.T) {
	for _, tt := range []struct {
		name  string
		see   func(context.Context, *variants.Session) (*variants.Session, error)
		wrong bool
	}{
		{"resumed-watches", func(_ context.Context, s *variants.Session) (*variants.Session, error) { return s.Fork(), nil }, false},
		{"planted", planted.Late, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
				f := plant(t, e, tt.wrong, func(s *variants.Session, l treecache.Listener) (treecache.Cache, error) {
					s, err := tt.see(t.Context(), s)
					must(t, err)
					return treecache.NewResumedWatches(s, treecache.Tree{Root: "/tree", Depth: 2}, l)
				})
				repeatOutage(t, tt.wrong, func() bool { return f.losesChange(!tt.wrong) })
			})
		})
	}
}

// losesChange changes a tenth of the tree in an outage, and reports whether the copy lacks some of it five minutes later.
func (f *forest) losesChange(frugal bool) bool {
	f.set(0, f.leaves)
	time.Sleep(time.Millisecond)
	f.outage.begin(2 * time.Second)
	time.Sleep(10 * time.Millisecond)
	ctx, cancel := context.WithCancel(f.Context())
	var following sync.WaitGroup
	following.Go(func() {
		for f.cache.Refresh(ctx) == nil && f.cache.Changed(ctx) == nil {
		}
	})
	time.Sleep(500 * time.Millisecond)
	before := f.reader.ledger.Counts()
	f.set(1, 10)
	time.Sleep(5 * time.Minute)
	if state := f.cache.State(); state != treecache.Current {
		f.Errorf("the copy is %v", state)
	}
	reads := f.reader.ledger.Counts().Requests[wire.OpGetData] - before.Requests[wire.OpGetData]
	if stale := f.stale(1, 10); stale > 0 {
		f.Logf("%d of %d changes are missing after five minutes", stale, f.leaves/10)
		cancel()
		following.Wait()
		return true
	}
	if most := int64(f.leaves/10 + 1); frugal && reads > most {
		f.Errorf("it has read %d znodes, want at most the %d that have changed", reads, most)
	}
	cancel()
	following.Wait()
	return false
}

// stopped is a connection whose client stands still before it reads the fence.
type stopped struct {
	variants.Conn
	before func()
}

func (s stopped) Exists(path string) (bool, *zk.Stat, error) {
	if path == "/d/fence" {
		s.before()
	}
	return s.Conn.Exists(path)
}

// A client that stands still for longer than its session lives, and goes on in a new session of the client library, does not take another
// client's fencing token for its own: with that, it would delete the znode of a holder that lives.
func TestFencingTokenOfAnother(t *testing.T) {
	for _, tt := range []struct {
		name  string
		see   func(*client, variants.Conn) *variants.Session
		wrong bool
	}{
		{"unguarded", func(c *client, conn variants.Conn) *variants.Session {
			return variants.NewSession(conn, c.monitor.Lost())
		}, false},
		{"planted", func(c *client, conn variants.Conn) *variants.Session {
			return variants.NewSession(planted.Outlived{Conn: conn, First: c.conn.SessionID()}, c.monitor.Lost())
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
				if got := takesAnothersToken(t, e, tt.see); got != tt.wrong {
					t.Errorf("a client holds the lock beside another one, whose session lives: %v, want %v", got, tt.wrong)
				}
			})
		})
	}
}

// takesAnothersToken lets a client lose the reply to its create, and stand still while it finds out whether that took effect. It reports
// whether a third client comes to hold the lock while the second one does.
func takesAnothersToken(t *testing.T, e *embedded.Ensemble, see func(*client, variants.Conn) *variants.Session) bool {
	cs := clients(t, e, 2)
	stopping := unguarded(t, e)
	_, err := cs[0].conn.Create("/d", nil, 0, variants.WorldACL())
	must(t, err)
	second, third := newZnodeLock(t, cs[0].session()), newZnodeLock(t, cs[1].session())
	once := sync.OnceFunc(func() {
		e.Expire(stopping.conn.SessionID())
		mustAcquire(t, second)
		time.Sleep(5 * time.Second) // the client library has a new session by then
	})
	first := newZnodeLock(t, see(stopping, stopped{stopping.conn, once}))
	e.Inject(embedded.Fault{Session: stopping.conn.SessionID(), Op: wire.OpMulti, Do: embedded.DropAfter})
	_, err = first.Acquire(t.Context())
	if err == nil {
		t.Error("the client acquired the lock that another client holds")
	}
	got := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		_, err := third.Acquire(ctx)
		got <- err
	}()
	return <-got == nil
}

func newZnodeLock(t *testing.T, s *variants.Session) lock.Lock {
	t.Helper()
	l, err := lock.NewZnode(t.Context(), s, "/d")
	must(t, err)
	return l
}

// unguarded opens a session that is not closed when it is lost.
func unguarded(t *testing.T, e *embedded.Ensemble) *client {
	t.Helper()
	c := &client{ledger: wire.NewLedger(time.Now()), monitor: variants.NewMonitor(ensemble.SessionTimeout)}
	var err error
	c.conn, err = ensemble.Connect(t.Context(), e.Servers()[0], c.ledger, c.monitor.Observe)
	must(t, err)
	t.Cleanup(c.conn.Close)
	return c
}

// A coordinator that joins again goes on although a request of its former session has opened the next transaction meanwhile.
func TestLateRequestOfAFormerCoordinator(t *testing.T) {
	for _, variant := range siteVariants {
		for _, wrong := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, planted %v", variant.name, wrong), func(t *testing.T) {
				ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
					cs := clients(t, e, 2)
					_, err := cs[0].conn.Create("/g", nil, 0, variants.WorldACL())
					must(t, err)
					group := twophasecommit.Group{Dir: "/g", Sites: 1}
					former := variant.open(t, cs[0], group)
					mustCommit(t, former, "first", "first")
					if wrong {
						cs[1].handle = cs[1].handle.Through(planted.Unexpecting{Conn: cs[1].conn})
					}
					group.Again = true
					again := variant.open(t, cs[1], group)
					if _, next, err := again.Resume(t.Context()); err != nil || next != 1 {
						t.Fatalf("the next transaction is %d, %v", next, err)
					}
					_, err = former.Prepare(t.Context(), []byte("late")) // its request has been under way since before it was given up
					must(t, err)
					if !wrong {
						mustCommit(t, again, "second", "late")
						mustCommit(t, again, "third", "third")
						return
					}
					for range 3 {
						if _, err := again.Prepare(t.Context(), []byte("second")); !errors.Is(err, twophasecommit.ErrTaken) {
							t.Errorf("the planted mistake is not found: %v", err)
						}
					}
				})
			})
		}
	}
}

// mustCommit lets the only site of a group commit a transaction, in which it finds a query.
func mustCommit(t *testing.T, s twophasecommit.Site, query, want string) {
	t.Helper()
	tx, err := s.Prepare(t.Context(), []byte(query))
	if err != nil || string(tx.Query) != want {
		t.Fatalf("prepared %q, %v; want %q", tx.Query, err, want)
	}
	if d, err := s.Decide(t.Context(), twophasecommit.Commit); err != nil || d != twophasecommit.Commit {
		t.Fatalf("decided %q, %v", d, err)
	}
}

// A site that joins when a transaction is decided does not take the outcome for its query. It can go on with the next one.
func TestSiteThatJoinsLate(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		cs := clients(t, e, 2)
		_, err := cs[0].conn.Create("/g", nil, 0, variants.WorldACL())
		must(t, err)
		coordinator, err := twophasecommit.NewCoordinatorEphemeral(t.Context(), cs[0].session(), twophasecommit.Group{Dir: "/g", Sites: 2})
		must(t, err)
		_, err = coordinator.Prepare(t.Context(), []byte("first"))
		must(t, err)
		if d, err := coordinator.Decide(t.Context(), twophasecommit.Commit); d != twophasecommit.Abort || err != nil {
			t.Fatalf("decided %q, %v without the other site", d, err)
		}
		site, err := twophasecommit.NewCoordinatorEphemeral(t.Context(), cs[1].session(), twophasecommit.Group{Dir: "/g", Sites: 2, Site: 1})
		must(t, err)
		if tx, err := site.Prepare(t.Context(), nil); !errors.Is(err, twophasecommit.ErrDecided) {
			t.Errorf("prepared %+v, %v; want that it is decided", tx, err)
		}
		outcomes, next, err := site.Resume(t.Context())
		if err != nil || next != 1 || len(outcomes) != 1 || outcomes[0].Decision != twophasecommit.Abort {
			t.Errorf("resumed with %v, next %d, %v", outcomes, next, err)
		}
		_, err = coordinator.Prepare(t.Context(), []byte("second"))
		must(t, err)
		if tx, err := site.Prepare(t.Context(), nil); err != nil || string(tx.Query) != "second" {
			t.Errorf("prepared %+v, %v", tx, err)
		}
	})
}
