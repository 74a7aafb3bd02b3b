package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/rwlock"
)

// rwlockOpener makes one client's read/write lock of one variant.
type rwlockOpener func(c *client, dir string) rwlock.Lock

// rwlockVariants are the variants under test, by name.
var rwlockVariants = []underTest[rwlockOpener]{
	{"children-watch", func(c *client, dir string) rwlock.Lock {
		return rwlock.NewChildrenWatch(c.session(), dir)
	}},
	{"first-writer-watch", func(c *client, dir string) rwlock.Lock {
		return rwlock.NewFirstWriterWatch(c.session(), dir)
	}},
	{"nearest-writer-watch", func(c *client, dir string) rwlock.Lock {
		return rwlock.NewNearestWriterWatch(c.session(), dir)
	}},
	{"released-mark", func(c *client, dir string) rwlock.Lock {
		return rwlock.NewReleasedMark(c.session(), dir)
	}},
}

type rwlockCheck = func(t *testing.T, v venue, dir string, open rwlockOpener)

// rwlockChecks are what every variant must pass, on every ensemble.
var rwlockChecks = []check[rwlockCheck]{
	{"shares and excludes in turn", rwlockSharesAndExcludesInTurn},
	{"withdraws", rwlockWithdraws},
	{"is not reentrant", rwlockIsNotReentrant},
	{"survives a crash in the line", rwlockSurvivesACrashInTheLine},
	{"survives an expiry in the line", rwlockSurvivesAnExpiryInTheLine},
	{"reports a lost reader", func(t *testing.T, v venue, dir string, open rwlockOpener) {
		rwlockReportsALostSession(t, v, dir, open, rwlock.Read)
	}},
	{"reports a lost writer", func(t *testing.T, v venue, dir string, open rwlockOpener) {
		rwlockReportsALostSession(t, v, dir, open, rwlock.Write)
	}},
	{"grants nothing to a lost session", rwlockGrantsNothingToALostSession},
	{"survives an outage", rwlockSurvivesAnOutage},
	{"recovers a lost reply", func(t *testing.T, v venue, dir string, open rwlockOpener) {
		rwlockRecovers(t, v, dir, open, dropReply)
	}},
	{"recovers a lost request", func(t *testing.T, v venue, dir string, open rwlockOpener) {
		rwlockRecovers(t, v, dir, open, dropRequest)
	}},
	{"honours a deadline of a silent server", rwlockHonoursADeadlineOfASilentServer},
	{"ignores foreign znodes", rwlockIgnoresForeignZnodes},
}

func TestRWLock(t *testing.T) { onEmbedded(t, checkRWLocks) }

// checkRWLocks runs every check on every variant, each in a directory of its own.
func checkRWLocks(t *testing.T, at place) {
	checkAll(t, at, rwlockChecks, rwlockVariants, func(t *testing.T, v venue, do rwlockCheck, variant underTest[rwlockOpener]) {
		do(t, v, directory(t, v), variant.open)
	})
	t.Run("keeps its promise in a crowd", func(t *testing.T) {
		onEachOf(t, at, rwlock.Recipe(), func(t *testing.T, v venue, variant variants.Variant) {
			dir := directory(t, v)
			for _, breach := range rwlockCrowd(t, v, dir, variant, honest) {
				t.Error(breach.Text)
			}
			mustBeEmpty(t, v, dir)
		})
	})
}

// rwlockCrowd lets nine participants loop in closed mode and returns what the recipe's check finds.
func rwlockCrowd(t *testing.T, v venue, dir string, variant variants.Variant, wrap broken) []variants.Violation {
	t.Helper()
	const n, rounds = 9, 6
	crowd := newCompany(t.Context(), variant, variants.Env{Clients: n, Root: dir, Hold: briefly})
	for i, c := range clients(t, v, n) {
		crowd.join(t, wrap(c.conn), c.monitor.Lost())
		crowd.start(i, rounds)
	}
	crowd.mustEnd(t)
	return rwlock.Recipe().Violations(crowd.history())
}

// blind is a session that does not see the znodes of one kind that other sessions have created.
type blind struct {
	variants.Conn
	marker string
	mu     sync.Mutex
	own    string
}

func (b *blind) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := b.Conn.Create(path, data, flags, acl)
	b.created(created)
	return created, err
}

// Multi makes what may create the client's znode as its last operation.
func (b *blind) Multi(ops ...any) ([]zk.MultiResponse, error) {
	results, err := b.Conn.Multi(ops...)
	if err == nil {
		b.created(results[len(results)-1].String)
	}
	return results, err
}

// created remembers the client's own znode.
func (b *blind) created(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.own = path[strings.LastIndex(path, "/")+1:]
}

func (b *blind) seen(names []string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(names, func(name string) bool { return name != b.own && strings.Contains(name, b.marker) })
}

func (b *blind) Children(path string) ([]string, *zk.Stat, error) {
	names, stat, err := b.Conn.Children(path)
	return b.seen(names), stat, err
}

func (b *blind) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, watch, err := b.Conn.ChildrenW(path)
	return b.seen(names), stat, watch, err
}

// The crowd's check must be able to fail: locks that overlook readers, or writers, are caught.
func TestBlindRWLocksAreCaught(t *testing.T) {
	t.Parallel()
	for _, marker := range []string{"-read-", "-write-"} {
		for _, variant := range rwlock.Recipe().Variants {
			bubbles.run(t, variant.Name+marker, func(t *testing.T, v venue) {
				breaches := rwlockCrowd(t, v, directory(t, v), variant, func(s variants.Conn) variants.Conn {
					return &blind{Conn: s, marker: marker}
				})
				if len(breaches) == 0 {
					t.Errorf("a lock that does not see others' %s znodes was not caught", marker)
				}
			})
		}
	}
}

// rwlockLine is clients whose locks stand in one line.
type rwlockLine struct {
	t     *testing.T
	cs    []*client
	locks []rwlock.Lock
}

// newRWLockLine opens a lock for each of n clients.
func newRWLockLine(t *testing.T, v venue, dir string, open rwlockOpener, n int) *rwlockLine {
	l := &rwlockLine{t: t, cs: clients(t, v, n)}
	for _, c := range l.cs {
		l.locks = append(l.locks, open(c, dir))
	}
	return l
}

// replace puts another client into the line.
func (l *rwlockLine) replace(i int, c *client, lock rwlock.Lock) { l.cs[i], l.locks[i] = c, lock }

// hold acquires what must be free.
func (l *rwlockLine) hold(i int, mode rwlock.Mode) rwlock.Grant {
	l.t.Helper()
	grant, err := l.locks[i].Acquire(testContext(l.t), mode)
	if err != nil {
		l.t.Fatalf("client %d as a %s: %v", i, mode, err)
	}
	return grant
}

// request begins to wait for what must be taken, and returns a channel on which the outcome will come.
func (l *rwlockLine) request(ctx context.Context, i int, mode rwlock.Mode) <-chan error {
	l.t.Helper()
	outcome := background(func() error { return errorOf(l.locks[i].Acquire(ctx, mode)) })
	awaitWaiting(l.t, l.cs[i])
	return outcome
}

func (l *rwlockLine) release(i int) {
	l.t.Helper()
	if err := l.locks[i].Release(testContext(l.t)); err != nil {
		l.t.Fatalf("client %d: %v", i, err)
	}
}

// granted waits for the outcomes to be grants.
func granted(t *testing.T, outcomes ...<-chan error) {
	t.Helper()
	for i, outcome := range outcomes {
		if err := await(t, fmt.Sprintf("waiter %d was never granted the lock", i), outcome); err != nil {
			t.Fatalf("waiter %d: %v", i, err)
		}
	}
}

// stillWaiting fails unless these clients wait after they have seen all that has happened so far.
func (l *rwlockLine) stillWaiting(outcomes map[int]<-chan error) {
	l.t.Helper()
	for i, outcome := range outcomes {
		if err := ensemble.Fence(l.cs[i].conn); err != nil {
			l.t.Fatal(err)
		}
		awaitWaiting(l.t, l.cs[i])
		mustStillWait(l.t, fmt.Sprint("client ", i), outcome)
	}
}

// Readers hold together; a writer waits for the last of them, whichever that is, and readers that came later wait for
// the writer.
func rwlockSharesAndExcludesInTurn(t *testing.T, v venue, dir string, open rwlockOpener) {
	l := newRWLockLine(t, v, dir, open, 6)
	l.hold(0, rwlock.Read)
	l.hold(1, rwlock.Read)
	first := l.request(testContext(t), 2, rwlock.Write)
	second := l.request(testContext(t), 3, rwlock.Write)
	reader, other := l.request(testContext(t), 4, rwlock.Read), l.request(testContext(t), 5, rwlock.Read)
	l.release(1) // not in the order in which they came
	l.stillWaiting(map[int]<-chan error{2: first, 3: second, 4: reader, 5: other})
	l.release(0)
	granted(t, first)
	l.stillWaiting(map[int]<-chan error{3: second, 4: reader, 5: other})
	l.release(2)
	granted(t, second)
	l.stillWaiting(map[int]<-chan error{4: reader, 5: other})
	l.release(3)
	granted(t, reader, other)
	l.release(4)
	l.release(5)
	mustBeEmpty(t, v, dir)
}

// A writer that gives up in the middle of the line lets no client past the writer before it, and all clients past itself.
func rwlockWithdraws(t *testing.T, v venue, dir string, open rwlockOpener) {
	l := newRWLockLine(t, v, dir, open, 5)
	l.hold(0, rwlock.Write)
	ctx, cancel := context.WithCancel(testContext(t))
	quitter, second := l.request(ctx, 1, rwlock.Write), l.request(ctx, 2, rwlock.Read)
	reader := l.request(testContext(t), 3, rwlock.Read)
	cancel()
	for _, outcome := range []<-chan error{quitter, second} {
		wantError(t, "a cancelled Acquire", <-outcome, context.Canceled)
	}
	l.stillWaiting(map[int]<-chan error{3: reader})
	expiring, stop := context.WithTimeout(testContext(t), 50*time.Millisecond)
	defer stop()
	wantError(t, "Acquire after its deadline", errorOf(l.locks[4].Acquire(expiring, rwlock.Write)), context.DeadlineExceeded)
	l.release(0)
	granted(t, reader)
	l.hold(2, rwlock.Read) // usable again
	l.release(3)
	l.release(2)
	l.hold(1, rwlock.Write)
	l.release(1)
	mustBeEmpty(t, v, dir)
}

func rwlockIsNotReentrant(t *testing.T, v venue, dir string, open rwlockOpener) {
	l := newRWLockLine(t, v, dir, open, 1)
	l.hold(0, rwlock.Read)
	for _, mode := range []rwlock.Mode{rwlock.Read, rwlock.Write} {
		if _, err := l.locks[0].Acquire(testContext(t), mode); !errors.Is(err, rwlock.ErrHeld) {
			t.Errorf("Acquire of a held lock as a %s returned %v, want ErrHeld", mode, err)
		}
	}
	l.release(0)
	l.release(0) // of a lock that is not held: nothing to do
	mustBeEmpty(t, v, dir)
}

// A waiting writer that closes its session lets the readers behind it join the one that holds; a reader that closes its
// session lets the next writer in.
func rwlockSurvivesACrashInTheLine(t *testing.T, v venue, dir string, open rwlockOpener) {
	l := newRWLockLine(t, v, dir, open, 4)
	l.hold(0, rwlock.Read)
	ctx, cancel := context.WithCancel(testContext(t))
	crashed := l.request(ctx, 1, rwlock.Write)
	reader := l.request(testContext(t), 2, rwlock.Read)
	l.cs[1].Close()
	granted(t, reader)
	writer := l.request(testContext(t), 3, rwlock.Write)
	l.cs[0].Close() // a holder crashes, too
	l.stillWaiting(map[int]<-chan error{3: writer})
	l.release(2)
	granted(t, writer)
	l.release(3)
	cancel()
	<-crashed
	mustBeEmpty(t, v, dir)
}

// A waiting writer whose session expires is told so, and no longer keeps readers waiting.
func rwlockSurvivesAnExpiryInTheLine(t *testing.T, v venue, dir string, open rwlockOpener) {
	cut, cable := cabled(t, v, v.shortest)
	l := newRWLockLine(t, v, dir, open, 3)
	l.replace(1, cut, open(cut, dir))
	l.hold(0, rwlock.Read)
	lost := l.request(testContext(t), 1, rwlock.Write)
	reader := l.request(testContext(t), 2, rwlock.Read)
	cable.unplug()
	wantError(t, "Acquire in a session that expired", <-lost, variants.ErrSessionLost)
	granted(t, reader)
	l.release(0)
	l.release(2)
	mustBeEmpty(t, v, dir)
}

// A holder that is cut off for so long that its session may have expired is told so, and a writer gets the lock.
func rwlockReportsALostSession(t *testing.T, v venue, dir string, open rwlockOpener, mode rwlock.Mode) {
	t.Helper()
	cut, cable := cabled(t, v, v.shortest)
	l := newRWLockLine(t, v, dir, open, 2)
	l.replace(0, cut, open(cut, dir))
	grant := l.hold(0, mode)
	cable.unplug()
	await(t, "the holder was not told that its session is lost", grant.Lost)
	second := l.hold(1, rwlock.Write)
	if second.Token <= grant.Token {
		t.Errorf("fencing token %d after %d: a store could not tell the old holder from the new one", second.Token, grant.Token)
	}
	wantError(t, "Release of a lost lock", l.locks[0].Release(testContext(t)), variants.ErrSessionLost)
	l.release(1)
	mustBeEmpty(t, v, dir)
}

// Once its session has been taken for lost, a client is granted nothing, although the client library goes on, perhaps with
// a new session, and the lock is free; and its znode does not stay.
func rwlockGrantsNothingToALostSession(t *testing.T, v venue, dir string, open rwlockOpener) {
	for _, mode := range []rwlock.Mode{rwlock.Read, rwlock.Write} {
		c := clients(t, v, 1)[0]
		lost := variants.NewMonitor(ensemble.SessionTimeout) // guards nothing, so that the connection goes on
		lost.Observe(zk.Event{Type: zk.EventSession, State: zk.StateExpired})
		lock := open(&client{t: t, conn: c.conn, ledger: c.ledger, monitor: lost, handle: variants.NewSession(c.conn, lost.Lost())}, dir)
		if _, err := lock.Acquire(testContext(t), mode); !errors.Is(err, variants.ErrSessionLost) {
			t.Errorf("Acquire as a %s in a lost session returned %v, want ErrSessionLost", mode, err)
		}
	}
	mustBeEmpty(t, v, dir)
}

// An outage after which the holder must take its session for lost, but which the session itself survives, does not
// leave the lock with a client that no longer knows of it.
func rwlockSurvivesAnOutage(t *testing.T, v venue, dir string, open rwlockOpener) {
	cut, cable := cabled(t, v, v.shortest)
	l := newRWLockLine(t, v, dir, open, 2)
	l.replace(0, cut, open(cut, dir))
	grant := l.hold(0, rwlock.Read)
	cable.unplug()
	<-grant.Lost
	cable.replug() // the server has not noticed yet: the client may re-attach
	l.hold(1, rwlock.Write)
}

// The connection is cut after the create left and before its reply arrived (or before the server saw it). The lock is
// still acquired, exactly once, and no znode is left behind.
func rwlockRecovers(t *testing.T, v venue, dir string, open rwlockOpener, fault fault) {
	t.Helper()
	observer := clients(t, v, 1)[0]
	for _, mode := range []rwlock.Mode{rwlock.Read, rwlock.Write} {
		c, cutter := cutting(t, v, fault)
		l := newRWLockLine(t, v, dir, open, 1)
		l.replace(0, c, open(c, dir))
		cutter.arm()
		l.hold(0, mode)
		cutter.mustHaveCutOnce(t, c)
		if n := len(unmarked(t, observer, dir)); n != 1 {
			t.Errorf("%d znodes stand for one %s", n, mode)
		}
		l.release(0)
		if left := unmarked(t, observer, dir); len(left) != 0 {
			t.Errorf("a %s left behind: %v", mode, left)
		}
	}
}

// A caller gets control back although the server does not answer at all, and the lock cleans up behind its back.
func rwlockHonoursADeadlineOfASilentServer(t *testing.T, v venue, dir string, open rwlockOpener) {
	c, cable := cabled(t, v, ensemble.SessionTimeout)
	l := newRWLockLine(t, v, dir, open, 1)
	l.replace(0, c, open(c, dir))
	cable.mustTimeOut(t, "Acquire", func(ctx context.Context) error {
		_, err := l.locks[0].Acquire(ctx, rwlock.Write)
		return err
	})
	l.hold(0, rwlock.Read) // waits for the clean-up
	if n := len(children(t, clients(t, v, 1)[0], dir)); n != 1 {
		t.Errorf("%d znodes stand for one holder", n)
	}
	l.release(0)
}

// Foreign znodes in the lock's directory are not contenders.
func rwlockIgnoresForeignZnodes(t *testing.T, v venue, dir string, open rwlockOpener) {
	l := newRWLockLine(t, v, dir, open, 1)
	foreign := []string{"a", "x-write-", "x-read-abc", "x-lock-0000000000", "_c_1"}
	for _, name := range foreign {
		must(t, errorOf(l.cs[0].conn.Create(dir+"/"+name, nil, 0, zk.WorldACL(zk.PermAll))))
	}
	for _, mode := range []rwlock.Mode{rwlock.Write, rwlock.Read} {
		l.hold(0, mode)
		l.release(0)
	}
	got := children(t, l.cs[0], dir)
	slices.Sort(got)
	slices.Sort(foreign)
	if fmt.Sprint(got) != fmt.Sprint(foreign) {
		t.Errorf("left of %v: %v", foreign, got)
	}
}
