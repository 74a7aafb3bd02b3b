package conformance_test

import (
	"context"
	"errors"
	"sync"
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

type revocableCheck = func(t *testing.T, v venue, dir string, variant lockVariant)

// revocableChecks are what every variant must pass in addition to the checks of a lock.
var revocableChecks = []check[revocableCheck]{
	{"tells the holder", revocableTellsTheHolder},
	{"tells who is asked while it waits", revocableTellsWhoIsAskedWhileItWaits},
	{"asks for one that did not", revocableAsksForOneThatDidNot},
	{"ignores what is no request", revocableIgnoresWhatIsNoRequest},
	{"tells of a lost session", revocableTellsOfALostSession},
}

func TestRevocable(t *testing.T) { onEmbedded(t, checkRevocable) }

func checkRevocable(t *testing.T, at place) {
	t.Helper()
	checkLocks(t, at, revocableVariants())
	checkAll(t, at, revocableChecks, revocableVariants(), func(t *testing.T, v venue, do revocableCheck, variant lockVariant) {
		do(t, v, directory(t, v), variant)
	})
	at.run(t, "takes the lock by force", func(t *testing.T, v venue) {
		revocableTakesTheLockByForce(t, v)
	})
	at.run(t, "spares who waits", func(t *testing.T, v venue) {
		revocableSparesWhoWaits(t, v)
	})
}

// revocableWant lets a client want the lock in the background, and returns when it waits.
func revocableWant(t *testing.T, c *client, l session.Lock) <-chan session.Grant {
	t.Helper()
	ctx, granted := testContext(t), make(chan session.Grant, 1)
	var wait sync.WaitGroup
	t.Cleanup(wait.Wait)
	wait.Go(func() {
		grant, err := l.Acquire(ctx)
		if err != nil {
			t.Error(err)
		}
		granted <- grant
	})
	awaitWaiting(t, c)
	return granted
}

func revocableMustBeTold(t *testing.T, what string, told <-chan struct{}) {
	t.Helper()
	await(t, "the holder was not told that "+what, told)
}

func revocableTellsTheHolder(t *testing.T, v venue, dir string, variant lockVariant) {
	cs := clients(t, v, 2)
	holder, next := variant.open(t, cs[0], dir), variant.open(t, cs[1], dir)
	grant := mustAcquire(t, holder)
	granted := revocableWant(t, cs[1], next)
	revocableMustBeTold(t, "it was asked", grant.Revoked)
	select {
	case <-grant.Lost:
		t.Error("a lock that was asked for is not lost")
	default:
	}
	mustRelease(t, holder)
	second := <-granted
	if second.Token <= grant.Token {
		t.Errorf("fencing token %d after %d", second.Token, grant.Token)
	}
	mustRelease(t, next)
	mustBeEmpty(t, v, dir)
}

func revocableTellsWhoIsAskedWhileItWaits(t *testing.T, v venue, dir string, variant lockVariant) {
	cs := clients(t, v, 3)
	first, second, third := variant.open(t, cs[0], dir), variant.open(t, cs[1], dir), variant.open(t, cs[2], dir)
	mustAcquire(t, first)
	granted := revocableWant(t, cs[1], second)
	last := revocableWant(t, cs[2], third)
	mustRelease(t, first)
	revocableMustBeTold(t, "it was asked before it held", (<-granted).Revoked)
	mustRelease(t, second)
	<-last
	mustRelease(t, third)
	mustBeEmpty(t, v, dir)
}

// A client that leaves between taking its place and asking has asked no other client; the one behind it must.
func revocableAsksForOneThatDidNot(t *testing.T, v venue, dir string, variant lockVariant) {
	cs := clients(t, v, 3)
	holder, next := variant.open(t, cs[0], dir), variant.open(t, cs[2], dir)
	grant := mustAcquire(t, holder)
	silent := cs[1].conn
	must(t, errorOf(silent.Create(dir+"/silent-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))))
	granted := revocableWant(t, cs[2], next)
	select {
	case <-grant.Revoked:
		t.Error("the holder was asked by a client that is not next")
	default:
	}
	silent.Close()
	revocableMustBeTold(t, "it was asked", grant.Revoked)
	mustRelease(t, holder)
	<-granted
	mustRelease(t, next)
	mustBeEmpty(t, v, dir)
}

// A write of another client to a holder's znode that is not a request asks for nothing, and does not make the holder
// deaf.
func revocableIgnoresWhatIsNoRequest(t *testing.T, v venue, dir string, variant lockVariant) {
	cs := clients(t, v, 2)
	holder, next := variant.open(t, cs[0], dir), variant.open(t, cs[1], dir)
	grant := mustAcquire(t, holder)
	znode := dir + "/" + children(t, cs[1], dir)[0]
	reads := func() int64 { return cs[0].ledger.Counts().Requests[wire.OpGetData] }
	before := reads()
	must(t, errorOf(cs[1].conn.Set(znode, []byte("hello"), -1)))
	eventually(t, "the holder did not look at its znode", func() bool { return reads() != before })
	granted := revocableWant(t, cs[1], next)
	revocableMustBeTold(t, "it was asked", grant.Revoked)
	if data, _, err := cs[1].conn.Get(znode); err != nil || string(data) != "unlock" {
		t.Errorf("the holder was told although its znode says %q (%v)", data, err)
	}
	mustRelease(t, holder)
	<-granted
	mustRelease(t, next)
}

// A holder whose session is closed learns of it, whether it was asked before or not.
func revocableTellsOfALostSession(t *testing.T, v venue, dir string, variant lockVariant) {
	for _, asked := range []bool{false, true} {
		cs := []*client{connect(t, v.Servers()[0], v.shortest, nil), clients(t, v, 1)[0]}
		holder, next := variant.open(t, cs[0], dir), variant.open(t, cs[1], dir)
		grant := mustAcquire(t, holder)
		var granted <-chan session.Grant
		if asked {
			granted = revocableWant(t, cs[1], next)
			revocableMustBeTold(t, "it was asked", grant.Revoked)
		}
		cs[0].Close()
		revocableMustBeTold(t, "its session is lost", grant.Lost)
		revocableMustBeTold(t, "it must stop", grant.Revoked)
		wantError(t, "Release of a lost lock", holder.Release(testContext(t)), session.ErrSessionLost)
		if asked {
			<-granted
		} else {
			mustAcquire(t, next)
		}
		mustRelease(t, next)
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
	if second := mustAcquire(t, next); second.Token <= grant.Token {
		t.Errorf("fencing token %d after %d", second.Token, grant.Token)
	}
	revocableMustBeTold(t, "the lock was taken away", grant.Lost)
	wantError(t, "Release of a lock that was taken away", deaf.Release(testContext(t)), revocable.ErrForced)
	mustRelease(t, next)
	mustAcquire(t, deaf) // usable again
	mustRelease(t, deaf)
	mustBeEmpty(t, v, dir)
}

// However long a client waits, force is used against the holder only.
func revocableSparesWhoWaits(t *testing.T, v venue) {
	dir, cs := directory(t, v), clients(t, v, 3)
	holder := revocable.NewDataWatch(cs[0].session(), dir)
	patient := revocable.NewDataWatch(cs[1].session(), dir)
	mustAcquire(t, holder)
	granted := revocableWant(t, cs[1], patient)
	ctx, withdraw := context.WithCancel(testContext(t))
	withdrawn := make(chan error, 1)
	go func() {
		_, err := revocable.NewForced(cs[2].session(), dir, shortGrace).Acquire(ctx)
		withdrawn <- err
	}()
	eventually(t, "three graces did not pass", func() bool { return cs[2].ledger.Counts().Requests[wire.OpGetChildren2] >= 4 })
	if n := len(children(t, cs[0], dir)); n != 3 {
		t.Errorf("%d znodes stand for a holder and two who wait", n)
	}
	withdraw() // else it may use force on the patient one as soon as that one is the first, before it has noticed
	if err := <-withdrawn; !errors.Is(err, context.Canceled) {
		t.Errorf("the one who withdrew: %v", err)
	}
	mustRelease(t, holder)
	<-granted
}
