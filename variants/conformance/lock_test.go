package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/lock"

	"github.com/zkbench/zkbench/variants"
)

// opener makes one client's lock of one variant.
type opener func(t testing.TB, c *client, dir string) lock.Lock

// lockVariants are the variants under test, by name.
var lockVariants = []struct {
	name string
	open opener
}{
	{"znode", func(t testing.TB, c *client, dir string) lock.Lock {
		l, err := lock.NewZnode(t.Context(), c.conn, dir, c.monitor.Lost())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}},
	{"children-watch", func(_ testing.TB, c *client, dir string) lock.Lock {
		return lock.NewChildrenWatch(c.conn, dir, c.monitor.Lost())
	}},
	{"predecessor-watch", func(_ testing.TB, c *client, dir string) lock.Lock {
		return lock.NewPredecessorWatch(c.conn, dir, c.monitor.Lost())
	}},
}

// forEachLock runs a test for every variant, each in a directory of its own.
func forEachLock(t *testing.T, test func(t *testing.T, e ensemble.Ensemble, dir string, open opener)) {
	e := live.Get(t)
	for _, v := range lockVariants {
		t.Run(v.name, func(t *testing.T) { test(t, e, directory(t, e), v.open) })
	}
}

// contenders counts the znodes in dir that stand for somebody holding or waiting.
func contenders(t testing.TB, c *client, dir string) int {
	t.Helper()
	n := 0
	for _, name := range children(t, c, dir) {
		if name != "fence" {
			n++
		}
	}
	return n
}

func mustAcquire(t testing.TB, l lock.Lock) lock.Grant {
	t.Helper()
	grant, err := l.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

func mustRelease(t testing.TB, l lock.Lock) {
	t.Helper()
	if err := l.Release(testContext(t)); err != nil {
		t.Fatal(err)
	}
}

// awaitWaiting returns when n sessions wait for nothing but a notification.
func awaitWaiting(t testing.TB, cs ...*client) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for _, c := range cs {
		for !c.ledger.Settled() {
			if time.Now().After(deadline) {
				t.Fatal("a waiter did not come to rest")
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func TestLiveLockExcludes(t *testing.T) {
	forEachLock(t, func(t *testing.T, e ensemble.Ensemble, dir string, open opener) {
		const rounds = 5
		var inside, breaches atomic.Int64
		var lastToken atomic.Int64
		lastToken.Store(-1)
		cs := clients(t, e, 9)
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
	})
}

// A waiter whose context ends, by cancellation or by its deadline, leaves nothing behind, and the line moves on.
func TestLiveLockWithdraws(t *testing.T) {
	forEachLock(t, func(t *testing.T, e ensemble.Ensemble, dir string, open opener) {
		cs := clients(t, e, 3)
		holder, quitter, next := open(t, cs[0], dir), open(t, cs[1], dir), open(t, cs[2], dir)
		mustAcquire(t, holder)
		ctx, cancel := context.WithCancel(testContext(t))
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, err := quitter.Acquire(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled Acquire returned %v, want context.Canceled", err)
			}
		})
		awaitWaiting(t, cs[1])
		wait.Go(func() { mustAcquire(t, next) })
		awaitWaiting(t, cs[2])
		cancel()
		expiring, stop := context.WithTimeout(testContext(t), 50*time.Millisecond)
		defer stop()
		if _, err := open(t, clients(t, e, 1)[0], dir).Acquire(expiring); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire after its deadline returned %v, want context.DeadlineExceeded", err)
		}
		mustRelease(t, holder)
		wait.Wait()
		mustRelease(t, next)
		mustAcquire(t, quitter) // usable again
		mustRelease(t, quitter)
		if n := contenders(t, cs[0], dir); n != 0 {
			t.Errorf("%d znodes are left", n)
		}
	})
}

func TestLiveLockIsNotReentrant(t *testing.T) {
	forEachLock(t, func(t *testing.T, e ensemble.Ensemble, dir string, open opener) {
		l := open(t, clients(t, e, 1)[0], dir)
		mustAcquire(t, l)
		if _, err := l.Acquire(testContext(t)); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("Acquire of a held lock returned %v, want ErrHeld", err)
		}
		mustRelease(t, l)
		mustRelease(t, l) // of a lock that is not held: nothing to do
	})
}

// A waiter that closes its session in the middle of the line costs its successor one look, not its turn.
func TestLiveLockSurvivesACrashInTheLine(t *testing.T) {
	forEachLock(t, func(t *testing.T, e ensemble.Ensemble, dir string, open opener) {
		cs := clients(t, e, 3)
		mustAcquire(t, open(t, cs[0], dir))
		crashing, last := open(t, cs[1], dir), open(t, cs[2], dir)
		ctx, cancel := context.WithCancel(testContext(t))
		var wait sync.WaitGroup
		wait.Go(func() { _, _ = crashing.Acquire(ctx) })
		awaitWaiting(t, cs[1])
		acquired := make(chan struct{})
		wait.Go(func() { mustAcquire(t, last); close(acquired) })
		awaitWaiting(t, cs[2])
		cs[1].conn.Close()
		cs[0].conn.Close() // the holder crashes, too
		select {
		case <-acquired:
		case <-time.After(patience):
			t.Fatal("the lock was lost with its waiters")
		}
		cancel()
		wait.Wait()
		mustRelease(t, last)
	})
}

// A holder that is cut off for so long that its session may have expired is told so, and somebody else gets the lock.
func TestLiveLockReportsALostSession(t *testing.T) {
	const timeout = 4 * time.Second // the least that the servers grant
	forEachLock(t, func(t *testing.T, e ensemble.Ensemble, dir string, open opener) {
		cable := &cable{}
		cut := connect(t, e.Servers()[0].Addr, timeout, cable.wrap)
		other := clients(t, e, 1)[0]
		lost, next := open(t, cut, dir), open(t, other, dir)
		grant := mustAcquire(t, lost)
		cable.unplug()
		select {
		case <-grant.Lost:
		case <-time.After(patience):
			t.Fatal("the holder was not told that its session is lost")
		}
		second := mustAcquire(t, next)
		if second.Token <= grant.Token {
			t.Errorf("fencing token %d after %d: a store could not tell the old holder from the new one", second.Token, grant.Token)
		}
		if err := lost.Release(testContext(t)); !errors.Is(err, variants.ErrSessionLost) {
			t.Errorf("Release of a lost lock returned %v, want ErrSessionLost", err)
		}
		mustRelease(t, next)
	})
}

// An outage after which the holder must take its session for lost, but which the session itself survives, does not
// leave the lock with a client that no longer knows of it.
func TestLiveLockSurvivesAnOutage(t *testing.T) {
	const timeout = 4 * time.Second // the least that the servers grant
	forEachLock(t, func(t *testing.T, e ensemble.Ensemble, dir string, open opener) {
		cable := &cable{}
		cut := connect(t, e.Servers()[0].Addr, timeout, cable.wrap)
		grant := mustAcquire(t, open(t, cut, dir))
		cable.unplug()
		<-grant.Lost
		cable.replug() // the server has not noticed yet: the client may re-attach
		mustAcquire(t, open(t, clients(t, e, 1)[0], dir))
	})
}

// The connection is cut after the create left and before its reply arrived (or before the server saw it). The lock is
// still acquired, exactly once, and no znode is left that nobody knows of.
func TestLiveLockRecoversALostReply(t *testing.T) {
	for _, fault := range []fault{dropReply, dropRequest} {
		t.Run(fault.String(), func(t *testing.T) {
			forEachLock(t, func(t *testing.T, e ensemble.Ensemble, dir string, open opener) {
				cutter := &cutter{fault: fault}
				c := connect(t, e.Servers()[0].Addr, ensemble.SessionTimeout, cutter.wrap)
				l := open(t, c, dir)
				cutter.arm()
				mustAcquire(t, l)
				if !cutter.fired() {
					t.Fatal("the connection was not cut: the test tests nothing")
				}
				if c.ledger.Reconnects() != 1 {
					t.Errorf("reconnected %d times, want 1", c.ledger.Reconnects())
				}
				observer := clients(t, e, 1)[0]
				if n := contenders(t, observer, dir); n != 1 {
					t.Errorf("%d znodes stand for one holder", n)
				}
				mustRelease(t, l)
				if n := contenders(t, observer, dir); n != 0 {
					t.Errorf("%d znodes are left", n)
				}
				mustAcquire(t, open(t, observer, dir))
			})
		})
	}
}

// The check above must be able to fail: a lock that simply creates again after a lost reply leaves an orphan.
func TestLiveLostReplyWithoutRecoveryLeavesAnOrphan(t *testing.T) {
	e := live.Get(t)
	dir := directory(t, e)
	cutter := &cutter{fault: dropReply}
	c := connect(t, e.Servers()[0].Addr, ensemble.SessionTimeout, cutter.wrap)
	cutter.arm()
	err := variants.Retry(testContext(t), c.monitor.Lost(), func() error {
		_, err := c.conn.Create(dir+"/x-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := contenders(t, clients(t, e, 1)[0], dir); n != 2 {
		t.Errorf("%d znodes, want 2: the cut did not do what it is for", n)
	}
}

// A caller gets control back although the server does not answer at all, and the lock cleans up behind its back.
func TestLiveLockHonoursADeadlineOfASilentServer(t *testing.T) {
	forEachLock(t, func(t *testing.T, e ensemble.Ensemble, dir string, open opener) {
		cable := &cable{}
		c := connect(t, e.Servers()[0].Addr, ensemble.SessionTimeout, cable.wrap)
		l := open(t, c, dir)
		cable.freeze()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := l.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire from a silent server returned %v, want context.DeadlineExceeded", err)
		}
		cable.thaw()
		mustAcquire(t, l) // waits for the clean-up
		if n := contenders(t, clients(t, e, 1)[0], dir); n != 1 {
			t.Errorf("%d znodes stand for one holder", n)
		}
		mustRelease(t, l)
	})
}

// Znodes of somebody else in the lock's directory are not contenders.
func TestLiveLockIgnoresForeignZnodes(t *testing.T) {
	forEachLock(t, func(t *testing.T, e ensemble.Ensemble, dir string, open opener) {
		c := clients(t, e, 1)[0]
		for _, name := range []string{"a", "x-lock-", "x-lock-abc", "_c_1"} {
			if _, err := c.conn.Create(dir+"/"+name, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
		}
		l := open(t, c, dir)
		mustAcquire(t, l)
		mustRelease(t, l)
		if got := fmt.Sprint(children(t, c, dir)); !strings.Contains(got, "x-lock-abc") {
			t.Errorf("foreign znodes are gone: %s", got)
		}
	})
}
