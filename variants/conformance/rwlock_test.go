package conformance_test

import (
	"context"
	"testing"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants/rwlock"
	"github.com/zkbench/zkbench/variants/session"
)

// inMode is a read/write lock that its client acquires in one mode.
type inMode struct {
	rwlock.Lock
	mode rwlock.Mode
}

func (l inMode) Acquire(ctx context.Context) (session.Grant, error) {
	return l.Lock.Acquire(ctx, l.mode)
}

// inTurn is a read/write lock that its client acquires as a reader and as a writer, in turn.
type inTurn struct {
	rwlock.Lock
	next rwlock.Mode
}

func (l *inTurn) Acquire(ctx context.Context) (session.Grant, error) {
	mode := l.next
	l.next = rwlock.Read + rwlock.Write - mode
	return l.Lock.Acquire(ctx, mode)
}

// as opens a read/write lock for a reader, or for a writer.
func as[L rwlock.Lock](mode rwlock.Mode, open opener[L]) lockOpener {
	return func(t testing.TB, c *client, dir string) session.Lock { return inMode{open(t, c, dir), mode} }
}

// beginningAs opens a read/write lock for a client that changes its mode.
func beginningAs[L rwlock.Lock](mode rwlock.Mode, open opener[L]) lockOpener {
	return func(t testing.TB, c *client, dir string) session.Lock { return &inTurn{open(t, c, dir), mode} }
}

func TestRWLock(t *testing.T) {
	onEmbedded(t, func(t *testing.T, at place) { checkRWLocks(t, at, openersOf[rwlock.Lock](rwlock.Recipe().Variants)) })
}

// checkRWLocks requires that a read/write lock is a lock to writers, and to a client that is alone in any mode, and what only a lock with
// readers must do.
func checkRWLocks[L rwlock.Lock](t *testing.T, at place, all []underTest[opener[L]]) {
	t.Helper()
	lockOf := func(open func(opener[L]) lockOpener) []lockVariant {
		return list.Map(all, func(v underTest[opener[L]]) lockVariant { return lockVariant{v.name, open(v.open)} })
	}
	checkLocks(t, at, lockChecks, lockOf(func(open opener[L]) lockOpener { return as(rwlock.Write, open) }))
	for _, mode := range []rwlock.Mode{rwlock.Read, rwlock.Write} {
		t.Run("first as a "+mode.String(), func(t *testing.T) {
			checkLocks(t, at, loneLockChecks, lockOf(func(open opener[L]) lockOpener { return beginningAs(mode, open) }))
		})
	}
	t.Run("lets readers past a writer that withdraws", func(t *testing.T) {
		onEach(t, at, all, func(t *testing.T, v venue, variant underTest[opener[L]]) {
			reader, writer := as(rwlock.Read, variant.open), as(rwlock.Write, variant.open)
			rwlockWithdraws(t, v, directory(t, v), reader, writer)
		})
	})
}

// A writer that gives up in the middle of the line lets no client past the writer before it, and all clients past itself.
func rwlockWithdraws(t *testing.T, v venue, dir string, reader, writer lockOpener) {
	l := newLine(t, dir, clients(t, v, 4), writer, writer, reader, reader)
	l.hold(0)
	ctx, cancel := context.WithCancel(testContext(t))
	quits, second, granted := l.want(ctx, 1), l.want(ctx, 2), l.want(testContext(t), 3)
	cancel()
	wantError(t, "a writer's cancelled Acquire", (<-quits).err, context.Canceled)
	wantError(t, "a reader's cancelled Acquire", (<-second).err, context.Canceled)
	l.mustStillWait(3, granted)
	l.release(0)
	mustBeGranted(t, granted)
	l.hold(2) // usable again, beside the other reader
	l.release(3, 2)
	l.hold(1)
	l.release(1)
	mustBeEmpty(t, v, dir)
}
