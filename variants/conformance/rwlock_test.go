package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/rwlock"
	"github.com/zkbench/zkbench/variants/session"
)

type rwlockOpener = opener[rwlock.Lock]

type rwlockCheck = func(t *testing.T, v venue, dir string, open rwlockOpener)

// rwlockChecks are what every variant must pass, on every ensemble.
var rwlockChecks = []check[rwlockCheck]{
	{"withdraws", rwlockWithdraws},
	{"is not reentrant", rwlockIsNotReentrant},
	{"grants nothing to a lost session", rwlockGrantsNothingToALostSession},
	{"honours a deadline of a silent server", rwlockHonoursADeadlineOfASilentServer},
	{"ignores foreign znodes", rwlockIgnoresForeignZnodes},
}

func TestRWLock(t *testing.T) { onEmbedded(t, checkRWLocks) }

// checkRWLocks runs every check on every variant, each in a directory of its own.
func checkRWLocks(t *testing.T, at place) {
	all := openersOf[rwlock.Lock](rwlock.Recipe().Variants)
	checkAll(t, at, rwlockChecks, all, func(t *testing.T, v venue, do rwlockCheck, variant underTest[rwlockOpener]) {
		do(t, v, directory(t, v), variant.open)
	})
}

// rwlockLine has clients whose locks stand in one line.
type rwlockLine struct {
	t     *testing.T
	cs    []*client
	locks []rwlock.Lock
}

func newRWLockLine(t *testing.T, v venue, dir string, open rwlockOpener, n int) *rwlockLine {
	l := &rwlockLine{t: t, cs: clients(t, v, n)}
	for _, c := range l.cs {
		l.locks = append(l.locks, open(t, c, dir))
	}
	return l
}

func (l *rwlockLine) replace(i int, c *client, lock rwlock.Lock) { l.cs[i], l.locks[i] = c, lock }

// hold acquires the lock, which must be free.
func (l *rwlockLine) hold(i int, mode rwlock.Mode) session.Grant {
	l.t.Helper()
	grant, err := l.locks[i].Acquire(testContext(l.t), mode)
	if err != nil {
		l.t.Fatalf("client %d as a %s: %v", i, mode, err)
	}
	return grant
}

// request begins to wait for the lock, which must be taken, and returns a channel on which the outcome will come.
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
		if _, err := l.locks[0].Acquire(testContext(t), mode); !errors.Is(err, session.ErrHeld) {
			t.Errorf("Acquire of a held lock as a %s returned %v, want ErrHeld", mode, err)
		}
	}
	l.release(0)
	l.release(0) // of a lock that is not held: nothing to do
	mustBeEmpty(t, v, dir)
}

// Once its session has been taken for lost, a client is granted nothing, although the client library goes on, perhaps with
// a new session, and the lock is free; and its znode does not stay.
func rwlockGrantsNothingToALostSession(t *testing.T, v venue, dir string, open rwlockOpener) {
	for _, mode := range []rwlock.Mode{rwlock.Read, rwlock.Write} {
		c := clients(t, v, 1)[0]
		lost := session.NewMonitor(ensemble.SessionTimeout) // guards nothing, so that the connection goes on
		lost.Observe(zk.Event{Type: zk.EventSession, State: zk.StateExpired})
		lock := open(t, &client{t: t, conn: c.conn, ledger: c.ledger, monitor: lost, handle: session.NewSession(c.conn, lost.Lost())}, dir)
		if _, err := lock.Acquire(testContext(t), mode); !errors.Is(err, session.ErrSessionLost) {
			t.Errorf("Acquire as a %s in a lost session returned %v, want ErrSessionLost", mode, err)
		}
	}
	mustBeEmpty(t, v, dir)
}

// A caller gets control back although the server does not answer at all, and the lock cleans up in the background.
func rwlockHonoursADeadlineOfASilentServer(t *testing.T, v venue, dir string, open rwlockOpener) {
	c, cable := cabled(t, v, ensemble.SessionTimeout)
	l := newRWLockLine(t, v, dir, open, 1)
	l.replace(0, c, open(t, c, dir))
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
