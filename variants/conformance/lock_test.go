package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
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
	{"is not reentrant", lockIsNotReentrant},
	{"keeps the lock from those behind a withdrawal", lockKeepsTheLockFromThoseBehindAWithdrawal},
	{"frees no other client's lock", lateRelease},
	{"honours a deadline of a silent server", lockHonoursADeadlineOfASilentServer},
	{"ignores foreign znodes", lockIgnoresForeignZnodes},
}

func TestLock(t *testing.T)     { onEmbedded(t, checkLockVariants) }
func TestLiveLock(t *testing.T) { onLive(t, checkLockVariants) }

func checkLockVariants(t *testing.T, at place) { checkLocks(t, at, lockVariants) }

// checkLocks runs every check on every variant, each in a directory of its own.
func checkLocks(t *testing.T, at place, locks []lockVariant) {
	t.Helper()
	checkAll(t, at, lockChecks, locks, func(t *testing.T, v venue, do lockCheck, variant lockVariant) {
		do(t, v, directory(t, v), variant.open)
	})
}

// brokenLocks are the variants in Go that are known to be broken.
var brokenLocks = openersOf[session.Lock](list.Where(lock.Recipe().Broken, func(v variants.Variant) bool { return v.Driver == nil }))

// A lock that is known to be broken passes the checks in which clients do not race: it has no other mistake than the
// one that is known.
func TestBrokenLocks(t *testing.T) {
	t.Parallel()
	races := []string{"excludes", "withdraws"} // a predecessor goes while its successor looks at it
	withoutRaces := slices.DeleteFunc(slices.Clone(lockChecks), func(c check[lockCheck]) bool { return slices.Contains(races, c.name) })
	checkAll(t, bubbles, withoutRaces, brokenLocks, func(t *testing.T, v venue, do lockCheck, variant lockVariant) {
		do(t, v, directory(t, v), variant.open)
	})
}

// contenders counts the znodes in dir that belong to a client that holds or waits. A leader's acknowledgement of its
// term counts if there is no leader.
func contenders(t testing.TB, c *client, dir string) int {
	t.Helper()
	n, acknowledged := 0, 0
	for _, name := range unmarked(t, c, dir) {
		switch name {
		case "fence":
		case "acknowledged":
			acknowledged++
		default:
			n++
		}
	}
	return max(n, acknowledged)
}

func mustAcquire(t testing.TB, l session.Lock) session.Grant {
	t.Helper()
	grant, err := l.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

func mustRelease(t testing.TB, l session.Lock) {
	t.Helper()
	must(t, l.Release(testContext(t)))
}

// awaitWaiting returns when all these sessions wait for nothing but a notification, or have polled twice.
func awaitWaiting(t testing.TB, cs ...*client) {
	t.Helper()
	for _, c := range cs {
		eventually(t, "a waiter did not come to rest", c.waits)
	}
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
	if n := contenders(t, cs[0], dir); n != 0 {
		t.Errorf("%d znodes are left", n)
	}
}

// A waiter whose context ends, by cancellation or by its deadline, leaves nothing behind, and the line moves on.
func lockWithdraws(t *testing.T, v venue, dir string, open lockOpener) {
	cs := clients(t, v, 3)
	holder, quitter, next := open(t, cs[0], dir), open(t, cs[1], dir), open(t, cs[2], dir)
	mustAcquire(t, holder)
	ctx, cancel := context.WithCancel(testContext(t))
	var wait sync.WaitGroup
	wait.Go(func() {
		wantError(t, "a cancelled Acquire", errorOf(quitter.Acquire(ctx)), context.Canceled)
	})
	awaitWaiting(t, cs[1])
	wait.Go(func() { mustAcquire(t, next) })
	awaitWaiting(t, cs[2])
	cancel()
	expiring, stop := context.WithTimeout(testContext(t), 50*time.Millisecond)
	defer stop()
	wantError(t, "Acquire after its deadline", errorOf(open(t, clients(t, v, 1)[0], dir).Acquire(expiring)), context.DeadlineExceeded)
	mustRelease(t, holder)
	wait.Wait()
	mustRelease(t, next)
	mustAcquire(t, quitter) // usable again
	mustRelease(t, quitter)
	if n := contenders(t, cs[0], dir); n != 0 {
		t.Errorf("%d znodes are left", n)
	}
}

// A waiter that wakes because the one before it has withdrawn looks again, and waits for the holder.
func lockKeepsTheLockFromThoseBehindAWithdrawal(t *testing.T, v venue, dir string, open lockOpener) {
	cs := clients(t, v, 3)
	holder, quitter, next := open(t, cs[0], dir), open(t, cs[1], dir), open(t, cs[2], dir)
	mustAcquire(t, holder)
	ctx, cancel := context.WithCancel(testContext(t))
	quits := background(func() error { return errorOf(quitter.Acquire(ctx)) })
	awaitWaiting(t, cs[1])
	granted := background(func() error { return errorOf(next.Acquire(testContext(t))) })
	awaitWaiting(t, cs[2])
	cancel()
	wantError(t, "a cancelled Acquire", <-quits, context.Canceled)
	must(t, ensemble.Fence(cs[2].conn))
	awaitWaiting(t, cs[2])
	mustStillWait(t, "the client behind the one that withdrew", granted)
	mustRelease(t, holder)
	must(t, <-granted)
	mustRelease(t, next)
}

func lockIsNotReentrant(t *testing.T, v venue, dir string, open lockOpener) {
	l := open(t, clients(t, v, 1)[0], dir)
	mustAcquire(t, l)
	wantError(t, "Acquire of a held lock", errorOf(l.Acquire(testContext(t))), session.ErrHeld)
	mustRelease(t, l)
	mustRelease(t, l) // of a lock that is not held: nothing to do
}

// A caller gets control back although the server does not answer at all, and the lock cleans up in the background.
func lockHonoursADeadlineOfASilentServer(t *testing.T, v venue, dir string, open lockOpener) {
	c, cable := cabled(t, v, ensemble.SessionTimeout)
	l := open(t, c, dir)
	cable.mustTimeOut(t, "Acquire", func(ctx context.Context) error { _, err := l.Acquire(ctx); return err })
	mustAcquire(t, l) // waits for the clean-up
	if n := contenders(t, clients(t, v, 1)[0], dir); n != 1 {
		t.Errorf("%d znodes stand for one holder", n)
	}
	mustRelease(t, l)
}

// Foreign znodes in the lock's directory are not contenders.
func lockIgnoresForeignZnodes(t *testing.T, v venue, dir string, open lockOpener) {
	c := clients(t, v, 1)[0]
	for _, name := range []string{"a", "x-lock-", "x-lock-abc", "_c_1"} {
		must(t, errorOf(c.conn.Create(dir+"/"+name, nil, 0, zk.WorldACL(zk.PermAll))))
	}
	l := open(t, c, dir)
	mustAcquire(t, l)
	mustRelease(t, l)
	if got := fmt.Sprint(children(t, c, dir)); !strings.Contains(got, "x-lock-abc") {
		t.Errorf("foreign znodes are gone: %s", got)
	}
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
		var second session.Grant
		ends := background(func() (err error) {
			second, err = variant.open(t, c, dir).Acquire(ctx)
			return err
		})
		eventually(t, "the second lock was not granted, and does not wait", func() bool {
			return len(ends) > 0 || sent() > before && c.waits()
		})
		cancel() // if it waits, as it should
		err := <-ends
		adopted := err == nil && second.Token == first.Token
		if want := variant.name == "predecessor-watch-session-id"; adopted != want || !adopted && !errors.Is(err, context.Canceled) {
			t.Errorf("the second lock was granted %v (%v), the first one %v", second, err, first)
		}
	})
}
