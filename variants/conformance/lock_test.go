package conformance_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/revocable"
	"github.com/zkbench/zkbench/variants/session"
)

type lockOpener = opener[session.Lock]

type lockVariant = underTest[lockOpener]

var lockVariants = openersOf[session.Lock](lock.Recipe().Variants)

type lockCheck = func(t *testing.T, v venue, dir string, open lockOpener)

// lockChecks are what every variant must pass, on every ensemble.
var lockChecks = []check[lockCheck]{
	{"excludes", lockExcludes},
	{"withdraws", lockWithdraws},
	{"keeps the lock from those behind a withdrawal", lockKeepsTheLockFromThoseBehindAWithdrawal},
	{"frees no other client's lock", lateRelease},
	{"is not reentrant", lockIsNotReentrant},
	{"grants nothing to a lost session", lockGrantsNothingToALostSession},
	{"honours a deadline of a silent server", lockHonoursADeadlineOfASilentServer},
	{"ignores foreign znodes", lockIgnoresForeignZnodes},
}

// loneLockChecks are those of them in which one client acquires.
var loneLockChecks = lockChecks[4:]

func TestLock(t *testing.T)     { onEmbedded(t, checkLockVariants) }
func TestLiveLock(t *testing.T) { onLive(t, checkLockVariants) }

func checkLockVariants(t *testing.T, at place) { checkLocks(t, at, lockChecks, lockVariants) }

// checkLocks runs checks on variants, each in a directory of its own.
func checkLocks(t *testing.T, at place, checks []check[lockCheck], locks []lockVariant) {
	t.Helper()
	checkAll(t, at, checks, locks, func(t *testing.T, v venue, do lockCheck, variant lockVariant) {
		do(t, v, directory(t, v), variant.open)
	})
}

// lockChecksWithout returns the checks but those of these names.
func lockChecksWithout(names ...string) []check[lockCheck] {
	return slices.DeleteFunc(slices.Clone(lockChecks), func(c check[lockCheck]) bool { return slices.Contains(names, c.name) })
}

// brokenLocks are the variants in Go that are known to be broken.
var brokenLocks = openersOf[session.Lock](list.Where(lock.Recipe().Broken, func(v variants.Variant) bool { return v.Driver == nil }))

// A lock that is known to be broken passes the checks in which clients do not race: it has no other mistake than the
// one that is known.
func TestBrokenLocks(t *testing.T) {
	t.Parallel()
	withoutRaces := lockChecksWithout("excludes", "withdraws") // a predecessor goes while its successor looks at it
	checkLocks(t, bubbles, withoutRaces, brokenLocks)
}

func lockExcludes(t *testing.T, v venue, dir string, open lockOpener) {
	const rounds = 5
	var inside, breaches atomic.Int64
	var lastToken atomic.Int64
	lastToken.Store(-1)
	cs := clients(t, v, 9)
	var wait sync.WaitGroup
	for _, c := range cs {
		l := open(t, c, dir)
		wait.Go(func() {
			for range rounds {
				grant, err := l.Acquire(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 || lastToken.Swap(grant.Token) >= grant.Token {
					breaches.Add(1)
				}
				inside.Add(-1)
				if err := l.Release(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	if n := breaches.Load(); n > 0 {
		t.Errorf("%d times two clients were inside, or a fencing token did not grow", n)
	}
	mustContend(t, cs[0], dir, 0)
}

// A waiter whose context ends, by cancellation or by its deadline, leaves nothing behind, and the line moves on.
func lockWithdraws(t *testing.T, v venue, dir string, open lockOpener) {
	const holder, quitter, next, late = 0, 1, 2, 3
	l := newLine(t, dir, clients(t, v, 4), open)
	l.hold(holder)
	ctx, cancel := context.WithCancel(testContext(t))
	quits, granted := l.want(ctx, quitter), l.want(testContext(t), next)
	cancel()
	wantError(t, "a cancelled Acquire", (<-quits).err, context.Canceled)
	expiring, stop := context.WithTimeout(testContext(t), 50*time.Millisecond)
	defer stop()
	wantError(t, "Acquire after its deadline", errorOf(l.locks[late].Acquire(expiring)), context.DeadlineExceeded)
	l.release(holder)
	mustBeGranted(t, granted)
	l.release(next)
	l.hold(quitter) // usable again
	l.release(quitter)
	mustContend(t, l.cs[holder], dir, 0)
}

// A waiter that wakes because the one before it has withdrawn looks again, and waits for the holder.
func lockKeepsTheLockFromThoseBehindAWithdrawal(t *testing.T, v venue, dir string, open lockOpener) {
	const holder, quitter, next = 0, 1, 2
	l := newLine(t, dir, clients(t, v, 3), open)
	l.hold(holder)
	ctx, cancel := context.WithCancel(testContext(t))
	quits, granted := l.want(ctx, quitter), l.want(testContext(t), next)
	cancel()
	wantError(t, "a cancelled Acquire", (<-quits).err, context.Canceled)
	l.mustStillWait(next, granted)
	l.release(holder)
	mustBeGranted(t, granted)
	l.release(next)
}

func lockIsNotReentrant(t *testing.T, v venue, dir string, open lockOpener) {
	c := clients(t, v, 1)[0]
	l := open(t, c, dir)
	mustAcquire(t, l)
	for range 2 {
		wantError(t, "Acquire of a held lock", errorOf(l.Acquire(testContext(t))), session.ErrHeld)
	}
	mustRelease(t, l)
	mustRelease(t, l) // of a lock that is not held: nothing to do
	mustContend(t, c, dir, 0)
}

// Once its session has been taken for lost, a client is granted nothing, although the client library goes on, perhaps with
// a new session, and the lock is free; and its znode does not stay.
func lockGrantsNothingToALostSession(t *testing.T, v venue, dir string, open lockOpener) {
	c := clients(t, v, 1)[0]
	lost := session.NewMonitor(ensemble.SessionTimeout) // guards nothing, so that the connection goes on
	lost.Observe(zk.Event{Type: zk.EventSession, State: zk.StateExpired})
	l := open(t, &client{t: t, conn: c.conn, ledger: c.ledger, monitor: lost, handle: session.NewSession(c.conn, lost.Lost())}, dir)
	wantError(t, "Acquire in a lost session", errorOf(l.Acquire(testContext(t))), session.ErrSessionLost)
	mustContend(t, c, dir, 0)
}

// A caller gets control back although the server does not answer at all, and the lock cleans up in the background.
func lockHonoursADeadlineOfASilentServer(t *testing.T, v venue, dir string, open lockOpener) {
	c, cable := cabled(t, v, ensemble.SessionTimeout)
	l := open(t, c, dir)
	cable.mustTimeOut(t, "Acquire", func(ctx context.Context) error { return errorOf(l.Acquire(ctx)) })
	mustAcquire(t, l) // waits for the clean-up
	mustContend(t, clients(t, v, 1)[0], dir, 1)
	mustRelease(t, l)
}

// Foreign znodes in the lock's directory are not contenders.
func lockIgnoresForeignZnodes(t *testing.T, v venue, dir string, open lockOpener) {
	c := clients(t, v, 1)[0]
	foreign := []string{"a", "x-lock-", "x-lock-abc", "x-write-", "x-read-abc", "_c_1"}
	for _, name := range foreign {
		must(t, errorOf(c.conn.Create(dir+"/"+name, nil, 0, zk.WorldACL(zk.PermAll))))
	}
	l := open(t, c, dir)
	for range 2 {
		mustAcquire(t, l)
		mustRelease(t, l)
	}
	mustContend(t, c, dir, len(foreign))
}

// A holder that does not know that its session has expired cannot end what its successor holds.
func lateRelease(t *testing.T, v venue, dir string, open lockOpener) {
	const old, successor = 0, 1
	cable, other := &cable{}, clients(t, v, 1)[0]
	l := newLine(t, dir, []*client{oblivious(t, v, cable), other}, open)
	grant, granted := l.hold(old), l.want(testContext(t), successor)
	expired := l.cs[old].conn.SessionID()
	cable.unplug()
	mustGrow(t, grant, mustBeGranted(t, granted))
	cable.replug()
	awaitNextSession(t, l.cs[old], expired)
	err := l.locks[old].Release(testContext(t))
	forced := errors.Is(err, revocable.ErrForced) // a successor without patience may come before the expiry
	if !forced && !errors.Is(err, session.ErrSessionLost) {
		t.Errorf("a late release returned %v, want ErrSessionLost", err)
	}
	mustContend(t, clients(t, v, 1)[0], dir, 1)
	l.release(successor)
}

// oblivious opens an unguarded session whose user does not learn of its loss.
func oblivious(t *testing.T, v venue, cable *cable) *client {
	t.Helper()
	c := unguarded(t, v.Servers()[0], v.shortest, cable.wrap)
	c.handle = session.NewSession(c.conn, nil)
	return c
}

// awaitNextSession returns when the client library has gone on with another session.
func awaitNextSession(t *testing.T, c *client, expired int64) {
	t.Helper()
	eventually(t, "the client library did not go on with a new session", func() bool {
		return c.conn.State() == zk.StateHasSession && c.conn.SessionID() != expired
	})
}

// This is the weakness of the session id in the name: the second lock of a session takes the first one's znode for its
// own.
func TestTwoLocksOfOneSession(t *testing.T) {
	t.Parallel()
	onEach(t, bubbles, lockVariants, func(t *testing.T, v venue, variant lockVariant) {
		dir, c := directory(t, v), clients(t, v, 1)[0]
		first := mustAcquire(t, variant.open(t, c, dir))
		ctx, cancel := context.WithCancel(testContext(t))
		defer cancel()
		sent := func() (n int64) {
			for _, requests := range c.ledger.Counts().Requests {
				n += requests
			}
			return n
		}
		before := sent()
		ends := acquires(ctx, variant.open(t, c, dir))
		eventually(t, "the second lock was not granted, and does not wait", func() bool {
			return len(ends) > 0 || sent() > before && c.waits()
		})
		cancel() // if it waits, as it should
		second := <-ends
		adopted := second.err == nil && second.Token == first.Token
		if want := variant.name == "predecessor-watch-session-id"; adopted != want || !adopted && !errors.Is(second.err, context.Canceled) {
			t.Errorf("the second lock was granted %v (%v), the first one %v", second.Grant, second.err, first)
		}
	})
}
