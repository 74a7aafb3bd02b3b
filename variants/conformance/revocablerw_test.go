package conformance_test

import (
	"testing"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants/rwlock"
	"github.com/zkbench/zkbench/variants/session"
)

type revocableRWOpener = opener[rwlock.RevocableLock]

var revocableRWVariants = openersOf[rwlock.RevocableLock](rwlock.RevocableRecipe().Variants)

type revocableRWCheck = func(t *testing.T, v venue, dir string, open revocableRWOpener)

// revocableRWChecks are what every variant must pass in addition to the checks of a read/write lock. Clients that ask
// are urgent.
var revocableRWChecks = []check[revocableRWCheck]{
	{"tells all readers", revocableRWTellsAllReaders},
	{"tells those in between", revocableRWTellsThoseInBetween},
	{"ignores what is no request", revocableRWIgnoresWhatIsNoRequest},
	{"tells of a lost session", revocableRWTellsOfALostSession},
}

func TestRevocableRW(t *testing.T) { onEmbedded(t, checkRevocableRW) }

func checkRevocableRW(t *testing.T, at place) {
	t.Helper()
	checkAll(t, at, rwlockChecks, revocableRWVariants, func(t *testing.T, v venue, do rwlockCheck, variant underTest[revocableRWOpener]) {
		do(t, v, directory(t, v), func(t testing.TB, c *client, dir string) rwlock.Lock { return variant.open(t, c, dir) })
	})
	checkAll(t, at, revocableRWChecks, revocableRWVariants,
		func(t *testing.T, v venue, do revocableRWCheck, variant underTest[revocableRWOpener]) {
			do(t, v, directory(t, v), variant.open)
		})
	at.run(t, "spares ordinary clients and urgent ones", func(t *testing.T, v venue) {
		revocableRWSparesEquals(t, v)
	})
}

// revocableRWLine has clients whose locks stand in one line.
type revocableRWLine struct {
	t     *testing.T
	cs    []*client
	locks []rwlock.RevocableLock
}

func newRevocableRWLine(t *testing.T, v venue, dir string, open revocableRWOpener, n int) *revocableRWLine {
	l := &revocableRWLine{t: t, cs: clients(t, v, n)}
	for _, c := range l.cs {
		l.locks = append(l.locks, open(t, c, dir))
	}
	return l
}

// hold acquires the lock, which must be free.
func (l *revocableRWLine) hold(i int, mode rwlock.Mode) session.Grant {
	l.t.Helper()
	grant, err := l.locks[i].Acquire(testContext(l.t), mode)
	must(l.t, err)
	return grant
}

// want begins to wait for the lock, which must be taken, as an urgent client or not.
func (l *revocableRWLine) want(i int, mode rwlock.Mode, urgent bool) <-chan session.Grant {
	l.t.Helper()
	acquire := l.locks[i].Acquire
	if urgent {
		acquire = l.locks[i].AcquireUrgently
	}
	ctx, granted := testContext(l.t), make(chan session.Grant, 1)
	done := make(chan struct{})
	l.t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		grant, err := acquire(ctx, mode)
		if err != nil {
			l.t.Error(err)
		}
		granted <- grant
	}()
	awaitWaiting(l.t, l.cs[i])
	return granted
}

func (l *revocableRWLine) release(i int) {
	l.t.Helper()
	must(l.t, l.locks[i].Release(testContext(l.t)))
}

func mustBeAsked(t *testing.T, grant session.Grant) {
	t.Helper()
	await(t, "the holder was not asked", grant.Revoked)
}

// mustNotBeAsked fails if a holder has been asked. The clients that could have asked it wait.
func mustNotBeAsked(t *testing.T, c *client, dir string, grant session.Grant) {
	t.Helper()
	catchUp(t, c, dir)
	select {
	case <-grant.Revoked:
		t.Error("the holder was asked")
	default:
	}
}

// A writer asks all readers that hold, and they hold on until they consent.
func revocableRWTellsAllReaders(t *testing.T, v venue, dir string, open revocableRWOpener) {
	l := newRevocableRWLine(t, v, dir, open, 3)
	first, second := l.hold(0, rwlock.Read), l.hold(1, rwlock.Read)
	writer := l.want(2, rwlock.Write, true)
	mustBeAsked(t, first)
	mustBeAsked(t, second)
	l.release(1)
	awaitWaiting(t, l.cs[2])
	mustStillWait(t, "the writer", writer)
	l.release(0)
	if grant := await(t, "the writer was not granted the lock", writer); grant.Token <= second.Token {
		t.Errorf("fencing token %d after %d", grant.Token, second.Token)
	}
	l.release(2)
	mustBeEmpty(t, v, dir)
}

// Those that stand between an urgent client and the holder are to give up as soon as they have the lock.
func revocableRWTellsThoseInBetween(t *testing.T, v venue, dir string, open revocableRWOpener) {
	l := newRevocableRWLine(t, v, dir, open, 4)
	holder := l.hold(0, rwlock.Read)
	writer, reader := l.want(1, rwlock.Write, false), l.want(2, rwlock.Read, false)
	last := l.want(3, rwlock.Write, true)
	mustBeAsked(t, holder)
	l.release(0)
	mustBeAsked(t, await(t, "the first writer was not granted the lock", writer))
	l.release(1)
	mustBeAsked(t, await(t, "the reader was not granted the lock", reader))
	l.release(2)
	await(t, "the last writer was not granted the lock", last)
	l.release(3)
	mustBeEmpty(t, v, dir)
}

// A write of another client to a holder's znode that is not a request asks for nothing, and does not make the holder
// deaf.
func revocableRWIgnoresWhatIsNoRequest(t *testing.T, v venue, dir string, open revocableRWOpener) {
	l := newRevocableRWLine(t, v, dir, open, 2)
	grant := l.hold(0, rwlock.Write)
	reads := func() int64 { return l.cs[0].ledger.Counts().Requests[wire.OpGetData] }
	before := reads()
	must(t, errorOf(l.cs[1].conn.Set(dir+"/"+children(t, l.cs[1], dir)[0], []byte("hello"), -1)))
	eventually(t, "the holder did not look at its znode", func() bool { return reads() != before })
	mustNotBeAsked(t, l.cs[0], dir, grant)
	reader := l.want(1, rwlock.Read, true)
	mustBeAsked(t, grant)
	l.release(0)
	<-reader
	l.release(1)
}

// A holder whose session is closed learns of it.
func revocableRWTellsOfALostSession(t *testing.T, v venue, dir string, open revocableRWOpener) {
	l := newRevocableRWLine(t, v, dir, open, 2)
	grant := l.hold(0, rwlock.Read)
	writer := l.want(1, rwlock.Write, true)
	mustBeAsked(t, grant)
	l.cs[0].Close()
	await(t, "the holder was not told that its session is lost", grant.Lost)
	wantError(t, "Release of a lost lock", l.locks[0].Release(testContext(t)), session.ErrSessionLost)
	<-writer
	l.release(1)
	mustBeEmpty(t, v, dir)
}

// Only an urgent client asks, and no urgent one is asked.
func revocableRWSparesEquals(t *testing.T, v venue) {
	dir := directory(t, v)
	l := newRevocableRWLine(t, v, dir, revocableRWVariants[2].open, 4)
	grant := l.hold(0, rwlock.Write)
	ordinary := l.want(1, rwlock.Write, false)
	mustNotBeAsked(t, l.cs[0], dir, grant)
	urgent := l.want(2, rwlock.Write, true)
	mustBeAsked(t, grant)
	l.release(0)
	mustBeAsked(t, <-ordinary)
	l.release(1)
	if grant := <-urgent; grant.Revoked != nil {
		t.Error("an urgent client can be asked to give up")
	}
	other := l.want(3, rwlock.Read, true)
	l.release(2)
	<-other
	l.release(3)
	mustBeEmpty(t, v, dir)
}
