package conformance_test

import (
	"context"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
)

// brokenLocks are the variants that are known to be broken.
var brokenLocks = []lockVariant{{"writelock", func(_ testing.TB, c *client, dir string) lock.Lock {
	return lock.NewWriteLock(c.session(), dir)
}}}

// A lock that is known to be broken passes the checks in which clients do not race: its mistake is the one that it is known for.
func TestBrokenLocks(t *testing.T) {
	t.Parallel()
	races := []string{"excludes", "withdraws", "survives a crash in the line"} // a predecessor goes while its successor looks at it
	withoutRaces := slices.DeleteFunc(slices.Clone(lockChecks), func(c check[lockCheck]) bool { return slices.Contains(races, c.name) })
	checkAll(t, bubbles, withoutRaces, brokenLocks, func(t *testing.T, v venue, do lockCheck, variant lockVariant) {
		do(t, v, directory(t, v), variant.open)
	})
}

// late is a connection on which something happens just before a znode is watched.
type late struct {
	variants.Conn
	before func()
}

// ExistsW implements [variants.Conn].
func (l late) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	l.before()
	return l.Conn.ExistsW(path)
}

// GetW implements [variants.Conn].
func (l late) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	l.before()
	return l.Conn.GetW(path)
}

// A predecessor that goes just before it is watched leaves a WriteLock waiting for a watch that never fires, although no client holds
// the lock. The optimized variant looks again.
func TestPredecessorThatGoesBeforeItIsWatched(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		open func(*variants.Session, string) lock.Lock
		hang bool
	}{
		{"predecessor-watch", func(s *variants.Session, dir string) lock.Lock { return lock.NewPredecessorWatch(s, dir) }, false},
		{"writelock", func(s *variants.Session, dir string) lock.Lock { return lock.NewWriteLock(s, dir) }, true},
	} {
		bubbles.run(t, tt.name, func(t *testing.T, v venue) {
			dir, cs := directory(t, v), clients(t, v, 2)
			holder := tt.open(cs[0].session(), dir)
			mustAcquire(t, holder)
			session := variants.NewSession(late{cs[1].conn, func() { mustRelease(t, holder) }}, nil)
			ctx, cancel := context.WithCancel(testContext(t))
			defer cancel()
			granted := background(func() error { return errorOf(tt.open(session, dir).Acquire(ctx)) })
			if !tt.hang {
				must(t, await(t, "the lock was not granted", granted))
				return
			}
			eventually(t, "the client does not wait", func() bool { wait, _ := session.Waiting(); return wait != nil })
			must(t, session.Sync(t.Context(), dir))
			if wait, _ := session.Waiting(); wait == nil || wait.Fired() {
				t.Error("the client was notified")
			}
			mustStillWait(t, "the client", granted)
			if n := contenders(t, cs[0], dir); n != 1 {
				t.Errorf("%d znodes, want that of the client that waits", n)
			}
			cancel()
			wantError(t, "a cancelled Acquire", <-granted, context.Canceled)
		})
	}
}
