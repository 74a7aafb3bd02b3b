package conformance_test

import (
	"context"
	"testing"

	"github.com/zkbench/zkbench/variants/rwlock"
	"github.com/zkbench/zkbench/variants/session"
)

type revocableRWOpener = opener[rwlock.RevocableLock]

var revocableRWVariants = openersOf[rwlock.RevocableLock](rwlock.RevocableRecipe().Variants)

// urgent is a lock that its client acquires urgently, in one mode.
type urgent struct {
	rwlock.RevocableLock
	mode rwlock.Mode
}

func (l urgent) Acquire(ctx context.Context) (session.Grant, error) {
	return l.AcquireUrgently(ctx, l.mode)
}

// urgentlyAs opens a lock for an urgent reader, or for an urgent writer.
func urgentlyAs(mode rwlock.Mode, open revocableRWOpener) lockOpener {
	return func(t testing.TB, c *client, dir string) session.Lock { return urgent{open(t, c, dir), mode} }
}

type revocableRWCheck = func(t *testing.T, v venue, dir string, open revocableRWOpener)

// revocableRWChecks are what every variant must pass in addition to the checks of a read/write lock. Clients that ask
// are urgent.
var revocableRWChecks = []check[revocableRWCheck]{
	{"tells all readers", revocableRWTellsAllReaders},
	{"tells those in between", revocableRWTellsThoseInBetween},
}

func TestRevocableRW(t *testing.T) { onEmbedded(t, checkRevocableRW) }

func checkRevocableRW(t *testing.T, at place) {
	t.Helper()
	checkRWLocks(t, at, revocableRWVariants)
	checkAll(t, at, revocableRWChecks, revocableRWVariants,
		func(t *testing.T, v venue, do revocableRWCheck, variant underTest[revocableRWOpener]) {
			do(t, v, directory(t, v), variant.open)
		})
	checkAll(t, at, askChecks, revocableRWVariants, func(t *testing.T, v venue, do askCheck, variant underTest[revocableRWOpener]) {
		do(t, v, as(rwlock.Write, variant.open), urgentlyAs(rwlock.Read, variant.open))
		do(t, v, as(rwlock.Read, variant.open), urgentlyAs(rwlock.Write, variant.open))
	})
	at.run(t, "spares ordinary clients and urgent ones", revocableRWSparesEquals)
}

// A writer asks all readers that hold, and they hold on until they consent.
func revocableRWTellsAllReaders(t *testing.T, v venue, dir string, open revocableRWOpener) {
	reader, writer := as(rwlock.Read, open), urgentlyAs(rwlock.Write, open)
	l := newLine(t, dir, clients(t, v, 3), reader, reader, writer)
	first, second := l.hold(0), l.hold(1)
	granted := l.want(testContext(t), 2)
	mustBeAsked(t, first)
	mustBeAsked(t, second)
	l.release(1)
	awaitWaiting(t, l.cs[2])
	mustStillWait(t, "the writer", granted)
	l.release(0)
	mustGrow(t, second, mustBeGranted(t, granted))
	l.release(2)
	mustBeEmpty(t, v, dir)
}

// Those that stand between an urgent client and the holder are to give up as soon as they have the lock.
func revocableRWTellsThoseInBetween(t *testing.T, v venue, dir string, open revocableRWOpener) {
	reader, writer := as(rwlock.Read, open), as(rwlock.Write, open)
	l := newLine(t, dir, clients(t, v, 4), reader, writer, reader, urgentlyAs(rwlock.Write, open))
	holder := l.hold(0)
	var granted []<-chan outcome
	for i := 1; i < 4; i++ {
		granted = append(granted, l.want(testContext(t), i))
	}
	mustBeAsked(t, holder)
	l.release(0)
	mustBeAsked(t, mustBeGranted(t, granted[0]))
	l.release(1)
	mustBeAsked(t, mustBeGranted(t, granted[1]))
	l.release(2)
	mustBeGranted(t, granted[2])
	l.release(3)
	mustBeEmpty(t, v, dir)
}

// Only an urgent client asks, and no urgent one is asked.
func revocableRWSparesEquals(t *testing.T, v venue) {
	dir, open := directory(t, v), revocableRWVariants[2].open
	ordinary, urgent := as(rwlock.Write, open), urgentlyAs(rwlock.Write, open)
	l := newLine(t, dir, clients(t, v, 4), ordinary, ordinary, urgent, urgentlyAs(rwlock.Read, open))
	grant := l.hold(0)
	second := l.want(testContext(t), 1)
	catchUp(t, l.cs[0], dir)
	mustNotBeAsked(t, grant)
	third := l.want(testContext(t), 2)
	mustBeAsked(t, grant)
	l.release(0)
	mustBeAsked(t, mustBeGranted(t, second))
	l.release(1)
	if mustBeGranted(t, third).Revoked != nil {
		t.Error("an urgent client can be asked to give up")
	}
	last := l.want(testContext(t), 3)
	l.release(2)
	mustBeGranted(t, last)
	l.release(3)
	mustBeEmpty(t, v, dir)
}
