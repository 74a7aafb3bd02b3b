package conformance_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/session"
)

// libraryLocks are the locks of libraries in Go.
var libraryLocks = openersOf[session.Lock](list.Where(lock.Recipe().Libraries, func(v variants.Variant) bool { return v.Driver == nil }))

// A library's lock passes the checks, except for those that other tests show to fail, and those that must observe that
// it waits.
func TestLibraryLocks(t *testing.T) {
	t.Parallel()
	without := []string{"withdraws", "keeps the lock from those behind a withdrawal", "ignores foreign znodes"}
	checkLocks(t, bubbles, lockChecksWithout(without...), libraryLocks)
}

// A client of zk.Lock that gives up stays in the line, and passes the lock on when its turn comes.
func TestLibraryLockThatGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir, cs := directory(t, v), clients(t, v, 3)
		open := libraryLocks[0].open
		holder := open(t, cs[0], dir)
		mustAcquire(t, holder)
		quitter := open(t, cs[1], dir)
		ctx, cancel := context.WithTimeout(testContext(t), 50*time.Millisecond)
		defer cancel()
		wantError(t, "Acquire after its deadline", errorOf(quitter.Acquire(ctx)), context.DeadlineExceeded)
		if n := contenders(t, cs[0], dir); n != 2 {
			t.Errorf("%d znodes are in the line, want those of the holder and of the client that gave up", n)
		}
		mustRelease(t, holder)
		next := open(t, cs[2], dir)
		mustAcquire(t, next)
		mustRelease(t, next)
		eventually(t, "the znode of the client that gave up is left", func() bool { return contenders(t, cs[0], dir) == 0 })
	})
}

// zk.Lock fails beside a znode that has no number at its end, and forgets its own znode.
func TestLibraryLockBesideAForeignZnode(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir, c := directory(t, v), clients(t, v, 1)[0]
		must(t, errorOf(c.conn.Create(dir+"/foreign", nil, 0, zk.WorldACL(zk.PermAll))))
		if grant, err := libraryLocks[0].open(t, c, dir).Acquire(testContext(t)); err == nil {
			t.Errorf("granted %+v", grant)
		}
		if left := children(t, c, dir); len(left) != 2 {
			t.Errorf("left behind: %v, want the foreign znode and the forgotten one", left)
		}
	})
}
