package conformance_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/election"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/revocable"
)

// pollInterval is that of the polling variant under test: none of what is tested depends on it.
const pollInterval = 10 * time.Millisecond

// electionVariants are the variants under test, by name.
var electionVariants = []underTest[func(t testing.TB, c *client, dir string) election.Election]{
	{"poll", func(t testing.TB, c *client, dir string) election.Election {
		c.polls = true
		return mustOpen(t)(election.NewPoll(t.Context(), c.session(), dir, pollInterval))
	}},
	{"master-znode", func(t testing.TB, c *client, dir string) election.Election {
		return mustOpen(t)(election.NewMasterZnode(t.Context(), c.session(), dir))
	}},
	{"leader-watch", func(_ testing.TB, c *client, dir string) election.Election {
		return election.NewLeaderWatch(c.session(), dir)
	}},
	{"predecessor-watch", func(_ testing.TB, c *client, dir string) election.Election {
		return election.NewPredecessorWatch(c.session(), dir)
	}},
	{"resigned-mark", func(_ testing.TB, c *client, dir string) election.Election {
		return election.NewResignedMark(c.session(), dir)
	}},
	{"acknowledged", func(_ testing.TB, c *client, dir string) election.Election {
		return election.NewAcknowledged(c.session(), dir)
	}},
}

func mustOpen(t testing.TB) func(election.Election, error) election.Election {
	return func(e election.Election, err error) election.Election {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
}

// office is an election in the words of a lock: to lead is to hold it. So an election must pass all that a lock must.
type office struct{ election.Election }

func (o office) Acquire(ctx context.Context) (lock.Grant, error) {
	term, err := o.Campaign(ctx)
	if errors.Is(err, election.ErrLeading) {
		err = lock.ErrHeld
	}
	return lock.Grant{Token: term.Epoch, Lost: term.Lost}, err
}

func (o office) Release(ctx context.Context) error { return o.Resign(ctx) }

// offices are the variants under test as locks.
func offices() []lockVariant {
	var out []lockVariant
	for _, variant := range electionVariants {
		out = append(out, lockVariant{variant.name, func(t testing.TB, c *client, dir string) lock.Lock {
			return office{variant.open(t, c, dir)}
		}})
	}
	return out
}

type electionCheck = func(t *testing.T, v venue, dir string, open opener)

// electionChecks are what every variant must pass beyond that.
var electionChecks = []check[electionCheck]{
	{"a successor after a crash", electionSucceedsACrash},
	{"a candidate loses its session", electionCandidateLosesItsSession},
	{"a late resignation spares the successor", lateRelease},
}

func TestElection(t *testing.T) { onEmbedded(t, checkElections) }

func checkElections(t *testing.T, at place) {
	t.Helper()
	checkLocks(t, at, offices())
	checkAll(t, at, electionChecks, offices(), func(t *testing.T, v venue, do electionCheck, variant lockVariant) {
		do(t, v, directory(t, v), variant.open)
	})
	t.Run("keeps its promise", func(t *testing.T) { checkPromise(t, at, electionKeepsItsPromise) })
	t.Run("keeps its promise in a crash", func(t *testing.T) { checkPromise(t, at, electionKeepsItsPromiseInACrash) })
}

func checkPromise(t *testing.T, at place, check func(*testing.T, venue, variants.Variant)) {
	t.Helper()
	onEachOf(t, at, election.Recipe(), func(t *testing.T, v venue, variant variants.Variant) {
		check(t, v, variant)
	})
}

// succession is a leader and a candidate that waits for its end.
type succession struct {
	leader, successor lock.Lock
	term              lock.Grant
	elected           <-chan lock.Grant
}

// arrange lets the first client lead and the second campaign.
func arrange(t *testing.T, leader, candidate *client, dir string, open opener) succession {
	t.Helper()
	elected := make(chan lock.Grant, 1)
	s := succession{leader: open(t, leader, dir), successor: open(t, candidate, dir), elected: elected}
	s.term = mustAcquire(t, s.leader)
	ctx := testContext(t)
	var wait sync.WaitGroup
	t.Cleanup(wait.Wait)
	wait.Go(func() {
		term, err := s.successor.Acquire(ctx)
		if err != nil {
			t.Error(err)
		}
		elected <- term
	})
	awaitWaiting(t, candidate)
	return s
}

// awaitSuccessor returns when the candidate leads, and holds its epoch to the promise.
func (s succession) awaitSuccessor(t *testing.T) {
	t.Helper()
	if next := <-s.elected; next.Token <= s.term.Token {
		t.Errorf("epoch %d after epoch %d", next.Token, s.term.Token)
	}
}

func (s succession) awaitLost(t *testing.T) {
	t.Helper()
	await(t, "the old leader was not told that its session is lost", s.term.Lost)
}

// A leader that closes its session has a successor, and learns that it no longer leads.
func electionSucceedsACrash(t *testing.T, v venue, dir string, open opener) {
	crashing, other := connect(t, v.Servers()[0], v.shortest, nil), clients(t, v, 1)[0]
	s := arrange(t, crashing, other, dir, open)
	crashing.Close()
	s.awaitSuccessor(t)
	s.awaitLost(t)
	wantError(t, "resigning after a crash", s.leader.Release(testContext(t)), variants.ErrSessionLost)
	if n := contenders(t, other, dir); n != 1 {
		t.Errorf("%d znodes stand for one leader", n)
	}
	mustRelease(t, s.successor)
}

// A candidate that is cut off is told so, and what it leaves goes with its session.
func electionCandidateLosesItsSession(t *testing.T, v venue, dir string, open opener) {
	cut, cable := cabled(t, v, v.shortest)
	other := clients(t, v, 1)[0]
	leader, candidate := open(t, other, dir), open(t, cut, dir)
	mustAcquire(t, leader)
	ctx := testContext(t)
	failed := background(func() error { return errorOf(candidate.Acquire(ctx)) })
	awaitWaiting(t, cut)
	cable.unplug()
	wantError(t, "a campaign in a lost session", <-failed, variants.ErrSessionLost)
	mustRelease(t, leader)
	mustAcquire(t, leader) // although the znode of the cut candidate may be in front
	mustRelease(t, leader)
}

// oblivious opens a session that is not closed when it is lost, and of whose loss its user is never told: the client
// library goes on with a new one.
func oblivious(t *testing.T, v venue, cable *cable) *client {
	t.Helper()
	c := newClient(t, v.shortest)
	conn, events, err := zk.Connect([]string{v.Servers()[0].Addr}, v.shortest, zk.WithLogger(quiet{}),
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) {
			conn, err := v.Servers()[0].Dial(t.Context())
			if err != nil {
				return nil, err
			}
			return cable.wrap(distance{c.ledger.Wrap(conn)})
		}))
	if err != nil {
		t.Fatal(err)
	}
	c.conn = conn
	t.Cleanup(c.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	c.handle = variants.NewSession(conn, c.monitor.Lost())
	return c
}

// supersede lets an oblivious leader's session expire, waits for its successor, and gives the old leader a new session.
func supersede(t *testing.T, v venue, dir string, open opener) (old *client, s succession) {
	t.Helper()
	cable := &cable{}
	old = oblivious(t, v, cable)
	s = arrange(t, old, clients(t, v, 1)[0], dir, open)
	expired := old.conn.SessionID()
	cable.unplug()
	s.awaitSuccessor(t)
	cable.replug()
	eventually(t, "the client library did not go on with a new session", func() bool {
		return old.conn.State() == zk.StateHasSession && old.conn.SessionID() != expired
	})
	return old, s
}

// A holder that does not know that its session has expired cannot end what its successor holds.
func lateRelease(t *testing.T, v venue, dir string, open opener) {
	_, s := supersede(t, v, dir, open)
	err := s.leader.Release(testContext(t))
	forced := errors.Is(err, revocable.ErrForced) // a successor without patience may come before the expiry
	if !forced && !errors.Is(err, variants.ErrSessionLost) {
		t.Errorf("a late release returned %v, want ErrSessionLost", err)
	}
	if n := contenders(t, clients(t, v, 1)[0], dir); n != 1 {
		t.Errorf("%d znodes stand for the successor", n)
	}
	mustRelease(t, s.successor)
}

// The check above must be able to fail: a plain delete ends the successor's term.
func TestLateResignationWithoutFenceEndsTheNextTerm(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir := directory(t, v)
		old, _ := supersede(t, v, dir, offices()[1].open)
		must(t, old.session().Remove(testContext(t), dir+"/master"))
		if n := contenders(t, clients(t, v, 1)[0], dir); n != 0 {
			t.Errorf("%d znodes are left: the successor was not in danger", n)
		}
	})
}

// elect lets several participants lead several times each, below the given roots, and returns the breaches.
func elect(t *testing.T, v venue, variant variants.Variant, rootOf func(i int) string) []variants.Violation {
	t.Helper()
	const n, rounds = 4, 3
	candidates := newCompany(t.Context(), variant, variants.Env{Clients: n, Hold: briefly})
	for i, c := range clients(t, v, n) {
		candidates.env.Root = rootOf(i)
		candidates.join(t, c.conn, c.monitor.Lost())
		candidates.start(i, rounds)
	}
	candidates.mustEnd(t)
	h := candidates.history()
	if terms := phasesIn(election.Recipe(), h)[election.Recipe().Operation]; terms != n*rounds {
		t.Errorf("%d terms, want %d", terms, n*rounds)
	}
	return election.Recipe().Violations(h)
}

func electionKeepsItsPromise(t *testing.T, v venue, variant variants.Variant) {
	dir := directory(t, v)
	if breaches := elect(t, v, variant, func(int) string { return dir }); len(breaches) > 0 {
		t.Errorf("breaches: %v", breaches)
	}
	if n := contenders(t, clients(t, v, 1)[0], dir); n != 0 {
		t.Errorf("%d znodes are left", n)
	}
}

// The check above must be able to fail: participants that hold elections of their own all lead at once.
func TestElectionsOfOneAreCaught(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		variant := election.Recipe().Variants[2]
		if breaches := elect(t, v, variant, func(int) string { return directory(t, v) }); len(breaches) == 0 {
			t.Error("participants that do not exclude each other keep the promise")
		}
	})
}

// A leader that is cut off stops before its successor leads, and the history of both keeps the promise.
func electionKeepsItsPromiseInACrash(t *testing.T, v venue, variant variants.Variant) {
	cut, cable := cabled(t, v, max(v.shortest, 2*time.Second)) // what separates the two moments is a third of it
	other := clients(t, v, 1)[0]
	leads := make(chan struct{})
	candidates := newCompany(t.Context(), variant, variants.Env{Clients: 2, Root: directory(t, v)})
	candidates.env.Hold = func(context.Context, <-chan struct{}) error {
		close(leads)
		<-cut.monitor.Lost()
		return nil
	}
	first := candidates.join(t, cut.conn, cut.monitor.Lost())
	candidates.env.Hold = briefly
	second := candidates.join(t, other.conn, other.monitor.Lost())
	var wait sync.WaitGroup
	wait.Go(func() {
		wantError(t, "the step of a leader that was cut off", first.Step(testContext(t)), variants.ErrSessionLost)
	})
	<-leads
	wait.Go(func() {
		if err := second.Step(testContext(t)); err != nil {
			t.Error(err)
		}
	})
	other.polls = !variant.HasLockstep()
	awaitWaiting(t, other)
	cable.unplug()
	wait.Wait()
	h := candidates.history()
	if breaches := election.Recipe().Violations(h); len(breaches) > 0 {
		t.Errorf("breaches: %v", breaches)
	}
	isCrash := func(s variants.Span) bool { return s.Phase == "failover-crash" && s.Client == 1 }
	spans, _ := election.Recipe().Replay(h, true)
	if !slices.ContainsFunc(spans, isCrash) {
		t.Errorf("no failover in %v", h)
	}
}

// After a fault at the write that begins or ends a term, a successor is elected, and no znode is left behind.
func TestElectionFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range writeFaults {
		for _, variant := range offices() {
			bubbles.run(t, tt.name+"/"+variant.name, func(t *testing.T, v venue) {
				electionSurvivesFaults(t, v, variant, tt.do, tt.lost)
			})
		}
	}
}

func electionSurvivesFaults(t *testing.T, v venue, variant lockVariant, do embedded.Action, lost bool) {
	t.Helper()
	e, dir, cs := embeddedServer(t, v), directory(t, v), clients(t, v, 3)
	begins, ends := wire.OpCreate, wire.OpDelete
	if variant.name == "poll" || variant.name == "master-znode" {
		begins, ends = wire.OpMulti, wire.OpMulti
	}
	switch variant.name {
	case "acknowledged":
		ends = wire.OpMulti
	case "resigned-mark":
		ends = wire.OpSetData
	}
	verdict := func(what string, err error) {
		t.Helper()
		if lost != errors.Is(err, variants.ErrSessionLost) || !lost && err != nil {
			t.Errorf("%s returned %v; session lost: %v", what, err, lost)
		}
	}
	hit := variant.open(t, cs[0], dir)
	inject(e, cs[0], begins, do)
	_, err := hit.Acquire(testContext(t))
	verdict("Campaign", err)
	if err == nil {
		mustRelease(t, hit)
	}
	s := arrange(t, cs[1], cs[2], dir, variant.open)
	trap := inject(e, cs[1], ends, do)
	verdict("Resign", s.leader.Release(testContext(t)))
	<-trap.Fired()
	s.awaitSuccessor(t)
	mustRelease(t, s.successor)
	if n := contenders(t, clients(t, v, 1)[0], dir); n != 0 {
		t.Errorf("%d znodes are left", n)
	}
}

// A leader whose session the server ends, although it has not been silent, gives way to its successor.
func TestElectionAfterForcedExpiry(t *testing.T) {
	t.Parallel()
	onEach(t, bubbles, offices(), func(t *testing.T, v venue, variant lockVariant) {
		dir, cs := directory(t, v), clients(t, v, 2)
		s := arrange(t, cs[0], cs[1], dir, variant.open)
		embeddedServer(t, v).Expire(cs[0].conn.SessionID())
		s.awaitSuccessor(t)
		s.awaitLost(t)
		if n := contenders(t, cs[1], dir); n != 1 {
			t.Errorf("%d znodes stand for one leader", n)
		}
		mustRelease(t, s.successor)
	})
}
