package conformance_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants/revocable"
	"github.com/zkbench/zkbench/variants/session"
)

// revocableVariants have so much patience that none uses force, except where force is tested.
func revocableVariants() []lockVariant {
	return list.Map(openersOf[session.Lock](revocable.Recipe().Variants), func(v lockVariant) lockVariant {
		if v.name == "forced" {
			v.open = func(_ testing.TB, c *client, dir string) session.Lock {
				return revocable.NewForced(c.session(), dir, patience)
			}
		}
		return v
	})
}

// revocableChecks are what every variant must pass in addition to the checks of a lock.
var revocableChecks = []check[lockCheck]{
	{"tells the holder", revocableTellsTheHolder},
	{"tells who is asked while it waits", revocableTellsWhoIsAskedWhileItWaits},
	{"asks for one that did not", revocableAsksForOneThatDidNot},
}

type askCheck = func(t *testing.T, v venue, holder, asker lockOpener)

// askChecks are what every lock must pass whose holder can be asked, of whatever kind the two clients are.
var askChecks = []check[askCheck]{
	{"ignores what is no request", askIgnoresWhatIsNoRequest},
	{"tells of a lost session", askTellsOfALostSession},
}

func TestRevocable(t *testing.T) { onEmbedded(t, checkRevocable) }

func checkRevocable(t *testing.T, at place) {
	t.Helper()
	checkLocks(t, at, slices.Concat(lockChecks, revocableChecks), revocableVariants())
	checkAll(t, at, askChecks, revocableVariants(), func(t *testing.T, v venue, do askCheck, variant lockVariant) {
		do(t, v, variant.open, variant.open)
	})
	at.run(t, "takes the lock by force", revocableTakesTheLockByForce)
	at.run(t, "spares who waits", revocableSparesWhoWaits)
}

func mustBeAsked(t *testing.T, grant session.Grant) {
	t.Helper()
	await(t, "the holder was not told that it was asked", grant.Revoked)
}

// mustNotBeAsked fails if a holder has been asked. The clients that could have asked it wait.
func mustNotBeAsked(t *testing.T, grant session.Grant) {
	t.Helper()
	if session.IsClosed(grant.Revoked) {
		t.Error("the holder was asked")
	}
}

func revocableTellsTheHolder(t *testing.T, v venue, dir string, open lockOpener) {
	l := newLine(t, dir, clients(t, v, 2), open)
	grant, granted := l.hold(0), l.want(testContext(t), 1)
	mustBeAsked(t, grant)
	if session.IsClosed(grant.Lost) {
		t.Error("a lock that was asked for is not lost")
	}
	l.release(0)
	mustGrow(t, grant, mustBeGranted(t, granted))
	l.release(1)
	mustBeEmpty(t, v, dir)
}

func revocableTellsWhoIsAskedWhileItWaits(t *testing.T, v venue, dir string, open lockOpener) {
	l := newLine(t, dir, clients(t, v, 3), open)
	l.hold(0)
	second, third := l.want(testContext(t), 1), l.want(testContext(t), 2)
	l.release(0)
	mustBeAsked(t, mustBeGranted(t, second))
	l.release(1)
	mustBeGranted(t, third)
	l.release(2)
	mustBeEmpty(t, v, dir)
}

// A client that leaves between taking its place and asking has asked no other client; the one behind it must.
func revocableAsksForOneThatDidNot(t *testing.T, v venue, dir string, open lockOpener) {
	l, silent := newLine(t, dir, clients(t, v, 2), open), clients(t, v, 1)[0].conn
	grant := l.hold(0)
	must(t, errorOf(silent.Create(dir+"/silent-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))))
	granted := l.want(testContext(t), 1)
	mustNotBeAsked(t, grant) // by a client that is not next
	silent.Close()
	mustBeAsked(t, grant)
	l.release(0)
	mustBeGranted(t, granted)
	l.release(1)
	mustBeEmpty(t, v, dir)
}

// A write of another client to a holder's znode that is not a request asks for nothing, and does not make the holder
// deaf.
func askIgnoresWhatIsNoRequest(t *testing.T, v venue, holder, asker lockOpener) {
	dir := directory(t, v)
	l := newLine(t, dir, clients(t, v, 2), holder, asker)
	grant, other := l.hold(0), l.cs[1]
	znode := dir + "/" + children(t, other, dir)[0]
	reads := func() int64 { return l.cs[0].ledger.Counts().Requests[wire.OpGetData] }
	before := reads()
	must(t, errorOf(other.conn.Set(znode, []byte("hello"), -1)))
	eventually(t, "the holder did not look at its znode", func() bool { return reads() != before })
	catchUp(t, l.cs[0], dir)
	mustNotBeAsked(t, grant)
	granted := l.want(testContext(t), 1)
	mustBeAsked(t, grant)
	if data, _, err := other.conn.Get(znode); err != nil || string(data) != "unlock" {
		t.Errorf("the holder was told although its znode says %q (%v)", data, err)
	}
	l.release(0)
	mustBeGranted(t, granted)
	l.release(1)
}

// A holder whose session is closed learns of it, whether it was asked before or not.
func askTellsOfALostSession(t *testing.T, v venue, holder, asker lockOpener) {
	for _, asked := range []bool{false, true} {
		dir := directory(t, v)
		l := newLine(t, dir, []*client{connect(t, v.Servers()[0], v.shortest, nil), clients(t, v, 1)[0]}, holder, asker)
		grant := l.hold(0)
		var granted <-chan outcome
		if asked {
			granted = l.want(testContext(t), 1)
			mustBeAsked(t, grant)
		}
		l.cs[0].Close()
		await(t, "the holder was not told that its session is lost", grant.Lost)
		await(t, "the holder was not told that it must stop", grant.Revoked)
		wantError(t, "Release of a lost lock", l.locks[0].Release(testContext(t)), session.ErrSessionLost)
		if asked {
			mustBeGranted(t, granted)
		} else {
			l.hold(1)
		}
		l.release(1)
		mustBeEmpty(t, v, dir)
	}
}

// shortGrace is for holders that do not listen: waiting for it does not make a test slow.
const shortGrace = 50 * time.Millisecond

// The lock is taken away from a holder that does not listen, which learns so.
func revocableTakesTheLockByForce(t *testing.T, v venue) {
	dir, cs := directory(t, v), clients(t, v, 2)
	deaf := revocable.NewForced(cs[0].session(), dir, patience)
	next := revocable.NewForced(cs[1].session(), dir, shortGrace)
	grant := mustAcquire(t, deaf)
	mustGrow(t, grant, mustAcquire(t, next))
	await(t, "the holder was not told that the lock was taken away", grant.Lost)
	wantError(t, "Release of a lock that was taken away", deaf.Release(testContext(t)), revocable.ErrForced)
	mustRelease(t, next)
	mustAcquire(t, deaf) // usable again
	mustRelease(t, deaf)
	mustBeEmpty(t, v, dir)
}

// However long a client waits, force is used against the holder only.
func revocableSparesWhoWaits(t *testing.T, v venue) {
	dir, cs := directory(t, v), clients(t, v, 3)
	l := newLine(t, dir, cs[:2], func(_ testing.TB, c *client, dir string) session.Lock {
		return revocable.NewDataWatch(c.session(), dir)
	})
	l.hold(0)
	granted := l.want(testContext(t), 1)
	ctx, withdraw := context.WithCancel(testContext(t))
	withdrawn := acquires(ctx, revocable.NewForced(cs[2].session(), dir, shortGrace))
	eventually(t, "three graces did not pass", func() bool { return cs[2].ledger.Counts().Requests[wire.OpGetChildren2] >= 4 })
	if n := len(children(t, cs[0], dir)); n != 3 {
		t.Errorf("%d znodes stand for a holder and two who wait", n)
	}
	withdraw() // else it may use force on the patient one as soon as that one is the first, before it has noticed
	wantError(t, "Acquire of the one who withdrew", (<-withdrawn).err, context.Canceled)
	l.release(0)
	mustBeGranted(t, granted)
}
