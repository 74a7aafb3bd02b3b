package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/revocable"
)

// revocableVariant is a variant under test.
type revocableVariant = underTest[func(c *client, dir string) revocable.Lock]

// revocableVariants are given so much patience that none uses force where that is not what is tested.
var revocableVariants = []revocableVariant{
	{"poll", func(c *client, dir string) revocable.Lock {
		return revocable.NewPoll(c.session(), dir, pollInterval)
	}},
	{"data-watch", func(c *client, dir string) revocable.Lock {
		return revocable.NewDataWatch(c.session(), dir)
	}},
	{"forced", func(c *client, dir string) revocable.Lock {
		return revocable.NewForced(c.session(), dir, patience)
	}},
}

// revocableLock is a revocable lock in the words of a plain one: it must pass all that one must.
type revocableLock struct{ revocable.Lock }

func (l revocableLock) Acquire(ctx context.Context) (lock.Grant, error) {
	grant, err := l.Lock.Acquire(ctx)
	if errors.Is(err, revocable.ErrHeld) {
		err = lock.ErrHeld
	}
	return lock.Grant{Token: grant.Token, Lost: grant.Lost}, err
}

type revocableCheck = func(t *testing.T, v venue, dir string, variant revocableVariant)

// revocableChecks are what every variant must pass beyond that.
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
	var locks []lockVariant
	for _, variant := range revocableVariants {
		locks = append(locks, lockVariant{variant.name, func(_ testing.TB, c *client, dir string) lock.Lock {
			return revocableLock{variant.open(c, dir)}
		}})
	}
	checkLocks(t, at, locks)
	checkAll(t, at, revocableChecks, revocableVariants, func(t *testing.T, v venue, do revocableCheck, variant revocableVariant) {
		do(t, v, directory(t, v), variant)
	})
	t.Run("keeps its promise", func(t *testing.T) { revocableKeepsItsPromise(t, at) })
	at.run(t, "keeps its promise by force", func(t *testing.T, v venue) {
		revocableKeepsItsPromiseByForce(t, v)
	})
	at.run(t, "takes the lock by force", func(t *testing.T, v venue) {
		revocableTakesTheLockByForce(t, v)
	})
	at.run(t, "spares who waits", func(t *testing.T, v venue) {
		revocableSparesWhoWaits(t, v)
	})
}

func revocableMustAcquire(t *testing.T, l revocable.Lock) revocable.Grant {
	t.Helper()
	grant, err := l.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

func revocableMustRelease(t *testing.T, l revocable.Lock) {
	t.Helper()
	if err := l.Release(testContext(t)); err != nil {
		t.Error(err)
	}
}

// revocableWant lets a client want the lock behind the caller's back, and returns when it waits.
func revocableWant(t *testing.T, c *client, l revocable.Lock) <-chan revocable.Grant {
	t.Helper()
	ctx, granted := testContext(t), make(chan revocable.Grant, 1)
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

func revocableTellsTheHolder(t *testing.T, v venue, dir string, variant revocableVariant) {
	cs := clients(t, v, 2)
	holder, next := variant.open(cs[0], dir), variant.open(cs[1], dir)
	grant := revocableMustAcquire(t, holder)
	granted := revocableWant(t, cs[1], next)
	revocableMustBeTold(t, "it was asked", grant.Revoked)
	select {
	case <-grant.Lost:
		t.Error("a lock that was asked for is not lost")
	default:
	}
	revocableMustRelease(t, holder)
	second := <-granted
	if second.Token <= grant.Token {
		t.Errorf("fencing token %d after %d", second.Token, grant.Token)
	}
	revocableMustRelease(t, next)
	mustBeEmpty(t, v, dir)
}

func revocableTellsWhoIsAskedWhileItWaits(t *testing.T, v venue, dir string, variant revocableVariant) {
	cs := clients(t, v, 3)
	first, second, third := variant.open(cs[0], dir), variant.open(cs[1], dir), variant.open(cs[2], dir)
	revocableMustAcquire(t, first)
	granted := revocableWant(t, cs[1], second)
	last := revocableWant(t, cs[2], third)
	revocableMustRelease(t, first)
	revocableMustBeTold(t, "it was asked before it held", (<-granted).Revoked)
	revocableMustRelease(t, second)
	<-last
	revocableMustRelease(t, third)
	mustBeEmpty(t, v, dir)
}

// A client that leaves between taking its place and asking has asked no other client; the one behind it must.
func revocableAsksForOneThatDidNot(t *testing.T, v venue, dir string, variant revocableVariant) {
	cs := clients(t, v, 3)
	holder, next := variant.open(cs[0], dir), variant.open(cs[2], dir)
	grant := revocableMustAcquire(t, holder)
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
	revocableMustRelease(t, holder)
	<-granted
	revocableMustRelease(t, next)
	mustBeEmpty(t, v, dir)
}

// What another client writes to a holder's znode asks for nothing, and does not make the holder deaf.
func revocableIgnoresWhatIsNoRequest(t *testing.T, v venue, dir string, variant revocableVariant) {
	cs := clients(t, v, 2)
	holder, next := variant.open(cs[0], dir), variant.open(cs[1], dir)
	grant := revocableMustAcquire(t, holder)
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
	revocableMustRelease(t, holder)
	<-granted
	revocableMustRelease(t, next)
}

// A holder whose session is closed is told so, whether it was asked before or not.
func revocableTellsOfALostSession(t *testing.T, v venue, dir string, variant revocableVariant) {
	for _, asked := range []bool{false, true} {
		cs := []*client{connect(t, v.Servers()[0], v.shortest, nil), clients(t, v, 1)[0]}
		holder, next := variant.open(cs[0], dir), variant.open(cs[1], dir)
		grant := revocableMustAcquire(t, holder)
		var granted <-chan revocable.Grant
		if asked {
			granted = revocableWant(t, cs[1], next)
			revocableMustBeTold(t, "it was asked", grant.Revoked)
		}
		cs[0].Close()
		revocableMustBeTold(t, "its session is lost", grant.Lost)
		revocableMustBeTold(t, "it must stop", grant.Revoked)
		wantError(t, "Release of a lost lock", holder.Release(testContext(t)), variants.ErrSessionLost)
		if asked {
			<-granted
		} else {
			revocableMustAcquire(t, next)
		}
		revocableMustRelease(t, next)
		mustBeEmpty(t, v, dir)
	}
}

// shortGrace is that of holders who do not listen: waiting for it takes no test long.
const shortGrace = 50 * time.Millisecond

// The lock is taken away from a holder that does not listen, which learns so.
func revocableTakesTheLockByForce(t *testing.T, v venue) {
	dir, cs := directory(t, v), clients(t, v, 2)
	deaf := revocable.NewForced(cs[0].session(), dir, patience)
	next := revocable.NewForced(cs[1].session(), dir, shortGrace)
	grant := revocableMustAcquire(t, deaf)
	if second := revocableMustAcquire(t, next); second.Token <= grant.Token {
		t.Errorf("fencing token %d after %d", second.Token, grant.Token)
	}
	revocableMustBeTold(t, "the lock was taken away", grant.Lost)
	wantError(t, "Release of a lock that was taken away", deaf.Release(testContext(t)), revocable.ErrForced)
	revocableMustRelease(t, next)
	revocableMustAcquire(t, deaf) // usable again
	revocableMustRelease(t, deaf)
	mustBeEmpty(t, v, dir)
}

// However long a client waits, only the holder meets force.
func revocableSparesWhoWaits(t *testing.T, v venue) {
	dir, cs := directory(t, v), clients(t, v, 3)
	holder := revocable.NewDataWatch(cs[0].session(), dir)
	patient := revocable.NewDataWatch(cs[1].session(), dir)
	revocableMustAcquire(t, holder)
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
	revocableMustRelease(t, holder)
	<-granted
}

// revocableRun is several participants who take the lock at once, several times each.
type revocableRun struct {
	clients, rounds int
	hold            func(context.Context, <-chan struct{}) error
	terms           revocable.Terms
	open            func(i int, c *client) revocable.Lock
}

// run returns the history.
func (r revocableRun) run(t *testing.T, v venue) variants.History {
	t.Helper()
	cs := clients(t, v, r.clients)
	variant := variants.Variant{Join: func(_ context.Context, env variants.Env) (variants.Participant, error) {
		return revocable.NewParticipant(r.open(env.Index, cs[env.Index]), r.terms, env), nil
	}}
	c := newCompany(t.Context(), variant, variants.Env{Clients: r.clients, Hold: r.hold})
	for i, member := range cs {
		c.join(t, member.conn, member.monitor.Lost())
		c.start(i, r.rounds)
	}
	c.mustEnd(t)
	h := c.history()
	if done := phasesIn(revocable.Recipe(), h)[revocable.Recipe().Operation]; done != r.clients*r.rounds {
		t.Errorf("%d operations, want %d", done, r.clients*r.rounds)
	}
	return h
}

func revocableKeepsItsPromise(t *testing.T, at place) {
	onEach(t, at, revocableVariants, func(t *testing.T, v venue, variant revocableVariant) {
		dir := directory(t, v)
		h := revocableRun{
			4, 3, revocableUntilAsked, revocable.Terms{Grace: patience, Forced: variant.name == "forced"},
			func(_ int, c *client) revocable.Lock { return variant.open(c, dir) },
		}.run(t, v)
		if breaches := revocable.Recipe().Violations(h); len(breaches) > 0 {
			t.Errorf("breaches: %v", breaches)
		}
		if phasesIn(revocable.Recipe(), h)["revoke"] == 0 {
			t.Error("no client was asked to give up")
		}
		mustBeEmpty(t, v, dir)
	})
}

// revocableUntilAsked holds until another client wants the lock. The last holder is not asked.
func revocableUntilAsked(ctx context.Context, asked <-chan struct{}) error {
	return variants.WaitFor(ctx, 200*time.Millisecond, asked, nil)
}

// revocableDeaf holds for longer than any grace, asked or not.
func revocableDeaf(ctx context.Context, _ <-chan struct{}) error {
	return variants.WaitFor(ctx, 10*shortGrace, nil, nil)
}

// revocableBreaches lets two deaf participants have the lock, and returns the breaches in words.
func revocableBreaches(t *testing.T, v venue, terms revocable.Terms, open func(int, *client) revocable.Lock) string {
	t.Helper()
	h := revocableRun{2, 1, revocableDeaf, terms, open}.run(t, v)
	return fmt.Sprint(revocable.Recipe().Violations(h))
}

// Where force may be used, a deaf holder meets the next one, and that is all: but it stops as soon as it learns so.
func revocableKeepsItsPromiseByForce(t *testing.T, v venue) {
	dir := directory(t, v)
	terms := revocable.Terms{Grace: time.Second, Forced: true}
	overlaps := make(chan struct{})
	var entered sync.Mutex
	inside := 0
	hold := func(ctx context.Context, _ <-chan struct{}) error { // until another client holds, too
		entered.Lock()
		if inside++; inside == 2 {
			close(overlaps)
		}
		entered.Unlock()
		select {
		case <-overlaps:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h := revocableRun{2, 1, hold, terms, func(_ int, c *client) revocable.Lock {
		return revocable.NewForced(c.session(), dir, terms.Grace)
	}}.run(t, v)
	if breaches := revocable.Recipe().Violations(h); len(breaches) > 0 {
		t.Errorf("breaches: %v", breaches)
	}
	mustBeEmpty(t, v, dir)
}

// The checks above must be able to fail.
func TestBrokenRevocableLocksAreCaught(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		terms revocable.Terms
		own   bool // each participant has a directory of its own
		open  func(c *client, dir string) revocable.Lock
		want  string
	}{
		{"a deaf holder", revocable.Terms{Grace: shortGrace}, false, revocableVariants[1].open, "after it was asked; the grace is 50ms"},
		{"force without patience", revocable.Terms{Grace: patience, Forced: true}, false, func(c *client, dir string) revocable.Lock {
			return revocable.NewForced(c.session(), dir, shortGrace)
		}, "while client"},
		{"force that was not agreed upon", revocable.Terms{Grace: patience}, false, func(c *client, dir string) revocable.Lock {
			return revocable.NewForced(c.session(), dir, shortGrace)
		}, "while client"},
		{"a holder that goes on after force", revocable.Terms{Grace: shortGrace, Forced: true}, false, func(c *client, dir string) revocable.Lock {
			return revocable.NewForced(c.session(), dir, shortGrace)
		}, "after the lock had been taken away"},
		{"force that is not used", revocable.Terms{Grace: shortGrace, Forced: true}, false, revocableVariants[1].open, "after it was asked"},
		{"a lock for each", revocable.Terms{Grace: patience}, true, revocableVariants[1].open, "while client"},
	} {
		bubbles.run(t, tt.name, func(t *testing.T, v venue) {
			dir := directory(t, v)
			got := revocableBreaches(t, v, tt.terms, func(_ int, c *client) revocable.Lock {
				if tt.own {
					return tt.open(c, directory(t, v))
				}
				return tt.open(c, dir)
			})
			if !strings.Contains(got, tt.want) {
				t.Errorf("breaches %s, want %q", got, tt.want)
			}
		})
	}
}

// After a fault at a write of the client that asks or of the one that gives up, nothing is left that blocks others.
func TestRevocableFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range writeFaults {
		for _, op := range []wire.Opcode{wire.OpCreate, wire.OpSetData, wire.OpDelete} {
			for _, variant := range revocableVariants[1:] { // poll writes what data-watch writes
				bubbles.run(t, fmt.Sprintf("%s/%s/%s", tt.name, op, variant.name), func(t *testing.T, v venue) {
					revocableSurvivesFaults(t, v, variant, embedded.Fault{Op: op, Do: tt.do}, tt.lost)
				})
			}
		}
	}
}

// revocableSurvivesFaults lets a client ask for a lock and give it back, and something go wrong with one of its writes.
func revocableSurvivesFaults(t *testing.T, v venue, variant revocableVariant, fault embedded.Fault, lost bool) {
	t.Helper()
	dir, cs := directory(t, v), clients(t, v, 2)
	holder, hit := variant.open(cs[0], dir), variant.open(cs[1], dir)
	grant := revocableMustAcquire(t, holder)
	fault.Session = cs[1].conn.SessionID()
	trap := embeddedServer(t, v).Inject(fault)
	failed := make(chan error, 1)
	go func() {
		_, err := hit.Acquire(testContext(t))
		if err == nil {
			err = hit.Release(testContext(t))
		}
		failed <- err
	}()
	if !lost || fault.Op == wire.OpDelete {
		revocableMustBeTold(t, "it was asked", grant.Revoked)
		revocableMustRelease(t, holder)
	}
	if err := <-failed; lost != errors.Is(err, variants.ErrSessionLost) || !lost && err != nil {
		t.Errorf("Acquire and Release returned %v; session lost: %v", err, lost)
	}
	<-trap.Fired()
	revocableMustRelease(t, holder) // which does nothing if it has
	revocableMustAcquire(t, holder)
	revocableMustRelease(t, holder)
	mustBeEmpty(t, v, dir)
}

// A client whose session the server ends while it holds, or waits, gives way to the client after it.
func TestRevocableAfterForcedExpiry(t *testing.T) {
	t.Parallel()
	onEach(t, bubbles, revocableVariants, func(t *testing.T, v venue, variant revocableVariant) {
		dir, cs := directory(t, v), clients(t, v, 3)
		holder, middle, last := variant.open(cs[0], dir), variant.open(cs[1], dir), variant.open(cs[2], dir)
		grant := revocableMustAcquire(t, holder)
		failed := background(func() error { return errorOf(middle.Acquire(testContext(t))) })
		awaitWaiting(t, cs[1])
		granted := revocableWant(t, cs[2], last)
		embeddedServer(t, v).Expire(cs[1].conn.SessionID())
		wantError(t, "Acquire in an expired session", <-failed, variants.ErrSessionLost)
		embeddedServer(t, v).Expire(cs[0].conn.SessionID())
		if second := <-granted; second.Token <= grant.Token {
			t.Errorf("fencing token %d after %d", second.Token, grant.Token)
		}
		revocableMustBeTold(t, "its session is lost", grant.Lost)
		revocableMustRelease(t, last)
		mustBeEmpty(t, v, dir)
	})
}
