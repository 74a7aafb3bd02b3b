package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/twophasecommit"
)

// siteOpener lets one client join a group of sites.
type siteOpener func(t testing.TB, c *client, g twophasecommit.Group) twophasecommit.Site

// siteVariant is a variant under test.
type siteVariant struct {
	name      string
	open      siteOpener
	ephemeral bool // the death of a site is noticed
	early     bool // the first vote to abort decides
}

func (v siteVariant) label() string { return v.name }

var siteVariants = []siteVariant{
	{"separate-writes", func(_ testing.TB, c *client, g twophasecommit.Group) twophasecommit.Site {
		return opened(c, twophasecommit.NewSeparateWrites(c.session(), g))
	}, false, false},
	{"all-watch", func(_ testing.TB, c *client, g twophasecommit.Group) twophasecommit.Site {
		return opened(c, twophasecommit.NewAllWatch(c.session(), g))
	}, false, false},
	{"early-abort", func(_ testing.TB, c *client, g twophasecommit.Group) twophasecommit.Site {
		return opened(c, twophasecommit.NewEarlyAbort(c.session(), g))
	}, false, true},
	{"coordinator", func(_ testing.TB, c *client, g twophasecommit.Group) twophasecommit.Site {
		return opened(c, twophasecommit.NewCoordinator(c.session(), g))
	}, false, false},
	{"coordinator-ephemeral", func(t testing.TB, c *client, g twophasecommit.Group) twophasecommit.Site {
		s, err := twophasecommit.NewCoordinatorEphemeral(t.Context(), c.session(), g)
		if err != nil {
			t.Fatal(err)
		}
		return opened(c, s)
	}, true, false},
}

type siteCheck = func(t *testing.T, v venue, dir string, variant siteVariant)

// siteChecks are what every variant must pass, on every ensemble.
var siteChecks = []check[siteCheck]{
	{"agree", sitesAgree},
	{"wait for the coordinator", sitesWaitForTheCoordinator},
	{"go on after a cancellation", sitesGoOnAfterACancellation},
	{"vote once", sitesVoteOnce},
	{"wait for all votes, or for the first to abort", sitesWaitForTheVotesThatDecide},
	{"keep few transactions", sitesKeepFewTransactions},
	{"agree with a site that has fallen behind", sitesAgreeWithOneThatHasFallenBehind},
	{"survive a death before the vote", sitesSurviveADeathBeforeTheVote},
	{"survive a death that the coordinator waits for", sitesSurviveADeathThatTheCoordinatorWaitsFor},
	{"survive a death after the vote", sitesSurviveADeathAfterTheVote},
	{"report a lost session", sitesReportALostSession},
	{"recover a lost reply", sitesRecoverALostReply},
	{"recover a lost request", sitesRecoverALostRequest},
	{"recover a lost vote", sitesRecoverALostVote},
	{"honour a deadline of a silent server", sitesHonourADeadlineOfASilentServer},
	{"respect foreign znodes", sitesRespectForeignZnodes},
	{"tell of a withdrawal", sitesTellOfAWithdrawal},
}

func TestTwoPhaseCommit(t *testing.T) { onEmbedded(t, checkSites) }

func checkSites(t *testing.T, at place) {
	checkAll(t, at, siteChecks, siteVariants, func(t *testing.T, v venue, do siteCheck, variant siteVariant) {
		do(t, v, transactionDirectory(t, v), variant)
	})
}

// transactionDirectory is a directory whose transactions are removed, too, should a check leave any.
func transactionDirectory(t *testing.T, v venue) string {
	t.Helper()
	dir := directory(t, v)
	c := clients(t, v, 1)[0]
	t.Cleanup(func() {
		for _, name := range children(t, c, dir) {
			for _, child := range children(t, c, dir+"/"+name) {
				if err := c.conn.Delete(dir+"/"+name+"/"+child, -1); err != nil {
					t.Error(err)
				}
			}
		}
	})
	return dir
}

// assemble lets each client join a group, the first as its coordinator.
func assemble(t testing.TB, dir string, open siteOpener, cs ...*client) []twophasecommit.Site {
	t.Helper()
	sites := make([]twophasecommit.Site, len(cs))
	for i, c := range cs {
		sites[i] = open(t, c, twophasecommit.Group{Dir: dir, Sites: len(cs), Site: i})
	}
	return sites
}

func mustPrepare(t testing.TB, sites ...twophasecommit.Site) {
	t.Helper()
	for i, s := range sites {
		transaction, err := s.Prepare(testContext(t), []byte("query"))
		if err != nil {
			t.Fatalf("site %d: %v", i, err)
		}
		if string(transaction.Query) != "query" {
			t.Fatalf("site %d was asked %q", i, transaction.Query)
		}
	}
}

// decision is how a Decide ended.
type decision struct {
	outcome twophasecommit.Decision
	err     error
}

// vote lets a site decide behind the caller's back.
func vote(ctx context.Context, s twophasecommit.Site, d twophasecommit.Decision) <-chan decision {
	done := make(chan decision, 1)
	go func() {
		outcome, err := s.Decide(ctx, d)
		done <- decision{outcome, err}
	}()
	return done
}

// voteAndWait is vote that returns when the vote has been cast and the site waits. That the session waits for a
// notification would not tell: a site may watch for the outcome before it votes.
func voteAndWait(ctx context.Context, t testing.TB, s twophasecommit.Site, d twophasecommit.Decision) <-chan decision {
	t.Helper()
	return untilWaiting(ctx, t, s, func(ctx context.Context) <-chan decision { return vote(ctx, s, d) })
}

func mustDecide(t testing.TB, want twophasecommit.Decision, decisions ...<-chan decision) {
	t.Helper()
	for i, done := range decisions {
		if d := <-done; d.err != nil || d.outcome != want {
			t.Errorf("decision %d is %q (%v), want %q", i, d.outcome, d.err, want)
		}
	}
}

// voteAll lets all sites vote to commit, at once.
func voteAll(t testing.TB, sites ...twophasecommit.Site) []<-chan decision {
	t.Helper()
	var decisions []<-chan decision
	for _, s := range sites {
		decisions = append(decisions, vote(testContext(t), s, twophasecommit.Commit))
	}
	return decisions
}

// mustClose closes sites, the coordinator last, after which nothing may be left.
func mustClose(t testing.TB, v venue, dir string, sites ...twophasecommit.Site) {
	t.Helper()
	for _, s := range slices.Backward(sites) {
		closeAll(t, s)
	}
	mustBeEmpty(t, v, dir)
}

// transact lets clients take part in a number of transactions as in a run in closed mode, and returns their history.
// wrap can replace their sessions by faulty ones.
func transact(t *testing.T, dir, variant string, rounds int, cs []*client, wrap func(int, variants.Conn) variants.Conn) variants.History {
	t.Helper()
	group := newCompany(t.Context(), variantOf(twophasecommit.Recipe(), variant), variants.Env{Clients: len(cs), Root: dir})
	for i, c := range cs {
		group.join(t, wrap(i, c.conn), c.monitor.Lost())
	}
	group.mustStep(t, rounds)
	if left := transactionsIn(children(t, cs[0], dir)); left > 2 {
		t.Errorf("%d transactions are left of %d", left, rounds)
	}
	group.leave(t)
	return group.history()
}

func transactionsIn(names []string) int {
	n := 0
	for _, name := range names {
		if strings.HasPrefix(name, "tx-") {
			n++
		}
	}
	return n
}

func sitesAgree(t *testing.T, v venue, dir string, variant siteVariant) {
	const rounds = 22 // the last is one that all want to commit, after which two transactions are left
	for _, n := range []int{1, 2, 5} {
		cs := clients(t, v, n)
		h := transact(t, dir, variant.name, rounds, cs, func(_ int, s variants.Conn) variants.Conn { return s })
		for _, violation := range twophasecommit.Recipe().Violations(h) {
			t.Errorf("%d sites: %s", n, violation.Text)
		}
		if decided := phasesIn(twophasecommit.Recipe(), h)[twophasecommit.Recipe().Operation]; decided != n*rounds {
			t.Errorf("%d sites decided %d times in %d transactions", n, decided, rounds)
		}
		mustBeEmpty(t, v, dir)
	}
}

func sitesWaitForTheCoordinator(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 3)
	sites := assemble(t, dir, variant.open, cs...)
	for round := range int64(3) {
		var wait sync.WaitGroup
		for _, s := range sites[1:] {
			wait.Go(func() {
				if transaction, err := s.Prepare(testContext(t), nil); err != nil || transaction.Round != round {
					t.Errorf("prepared %d (%v), want %d", transaction.Round, err, round)
				}
			})
		}
		awaitWaiting(t, cs[1:]...)
		mustPrepare(t, sites[0])
		wait.Wait()
		mustDecide(t, twophasecommit.Commit, voteAll(t, sites...)...)
	}
	mustClose(t, v, dir, sites...)
}

// Whoever is cancelled, and in whatever it waits, can go on with the same transaction.
func sitesGoOnAfterACancellation(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 3)
	sites := assemble(t, dir, variant.open, cs...)
	ctx, cancel := context.WithCancel(testContext(t))
	prepared := background(func() error { return errorOf(sites[1].Prepare(ctx, nil)) })
	awaitWaiting(t, cs[1])
	cancel()
	wantError(t, "a cancelled Prepare", <-prepared, context.Canceled)
	mustPrepare(t, sites...)
	mustPrepare(t, sites...) // the same again
	ctx, cancel = context.WithCancel(testContext(t))
	waiting := []<-chan decision{
		voteAndWait(ctx, t, sites[0], twophasecommit.Commit),
		voteAndWait(ctx, t, sites[1], twophasecommit.Commit),
	}
	cancel()
	for i, done := range waiting {
		if d := <-done; !errors.Is(d.err, context.Canceled) {
			t.Errorf("a cancelled Decide of site %d returned %q, %v, want context.Canceled", i, d.outcome, d.err)
		}
	}
	mustDecide(t, twophasecommit.Commit, voteAll(t, sites...)...)
	mustPrepare(t, sites...)
	mustDecide(t, twophasecommit.Commit, voteAll(t, sites...)...)
	mustClose(t, v, dir, sites...)
}

// A vote cannot be taken back, nor can a decision; and there is none without a transaction.
func sitesVoteOnce(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 2)
	sites := assemble(t, dir, variant.open, cs...)
	wantError(t, "Decide before Prepare", errorOf(sites[0].Decide(testContext(t), twophasecommit.Commit)), twophasecommit.ErrNotPrepared)
	mustPrepare(t, sites...)
	ctx, cancel := context.WithCancel(testContext(t))
	if variant.early {
		mustDecide(t, twophasecommit.Abort, vote(ctx, sites[1], twophasecommit.Abort))
	} else {
		waiting := voteAndWait(ctx, t, sites[1], twophasecommit.Abort)
		cancel()
		<-waiting
	}
	cancel()
	mustDecide(t, twophasecommit.Abort, voteAll(t, sites...)...)
	mustDecide(t, twophasecommit.Abort, voteAll(t, sites...)...)
	mustClose(t, v, dir, sites...)
}

// A site that dies before it has voted aborts the transaction where its death is noticed, and blocks it elsewhere.
func sitesSurviveADeathBeforeTheVote(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 4)
	sites := assemble(t, dir, variant.open, cs...)
	mustPrepare(t, sites...)
	cs[2].Close()
	survive(t, v, dir, variant, sites)
}

// As above, with a session that expires while the coordinator already waits for its vote.
func sitesSurviveADeathThatTheCoordinatorWaitsFor(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 4)
	mortal, cable := cabled(t, v, v.shortest)
	cs[2] = mortal
	sites := assemble(t, dir, variant.open, cs...)
	mustPrepare(t, sites...)
	mustDecide(t, twophasecommit.Commit, voteAll(t, sites...)...) // a whole transaction before
	mustPrepare(t, sites...)
	ctx, cancel := context.WithCancel(testContext(t))
	waiting := voteAndWait(ctx, t, sites[0], twophasecommit.Commit)
	cable.unplug()
	<-cs[2].monitor.Lost()
	if !variant.ephemeral {
		cancel() // nobody will tell it
	}
	defer cancel()
	survive(t, v, dir, variant, sites)
	if d := <-waiting; variant.ephemeral && d.outcome != twophasecommit.Abort {
		t.Errorf("the coordinator's decision is %q (%v), want abort", d.outcome, d.err)
	}
}

// survive lets all sites but the third vote, which is dead.
func survive(t *testing.T, v venue, dir string, variant siteVariant, sites []twophasecommit.Site) {
	t.Helper()
	alive := []twophasecommit.Site{sites[0], sites[1], sites[3]}
	if variant.ephemeral {
		mustDecide(t, twophasecommit.Abort, voteAll(t, alive...)...)
		mustPrepare(t, alive...) // and from now on
		mustDecide(t, twophasecommit.Abort, voteAll(t, alive...)...)
		mustClose(t, v, dir, alive...)
		return
	}
	ctx, cancel := context.WithTimeout(testContext(t), 200*time.Millisecond)
	defer cancel()
	var decisions []<-chan decision
	for _, s := range alive {
		decisions = append(decisions, vote(ctx, s, twophasecommit.Commit))
	}
	for i, done := range decisions {
		if d := <-done; !errors.Is(d.err, context.DeadlineExceeded) {
			t.Errorf("a site decided %q (%v) without the vote of the dead one (%d)", d.outcome, d.err, i)
		}
	}
	mustClose(t, v, dir, alive...)
}

// A site that dies after it has voted, and before its vote was counted, counts where votes outlive their sites.
func sitesSurviveADeathAfterTheVote(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 4)
	sites := assemble(t, dir, variant.open, cs...)
	mustPrepare(t, sites...)
	dying, stop := context.WithCancel(testContext(t))
	dead := voteAndWait(dying, t, sites[2], twophasecommit.Commit)
	cs[2].Close()
	stop()
	<-dead
	want := twophasecommit.Commit
	if variant.ephemeral {
		want = twophasecommit.Abort
	}
	alive := []twophasecommit.Site{sites[0], sites[1], sites[3]}
	mustDecide(t, want, voteAll(t, alive...)...)
	mustClose(t, v, dir, alive...)
}

// A site that loses its session is told so, in whatever it waits.
func sitesReportALostSession(t *testing.T, v venue, dir string, variant siteVariant) {
	coordinator := clients(t, v, 1)[0]
	voting, cable := cabled(t, v, v.shortest)
	waiting, other := cabled(t, v, v.shortest)
	sites := assemble(t, dir, variant.open, coordinator, voting, waiting)
	early := background(func() error { return errorOf(sites[2].Prepare(testContext(t), nil)) })
	awaitWaiting(t, waiting)
	other.unplug()
	wantError(t, "Prepare without a session", <-early, variants.ErrSessionLost)
	mustPrepare(t, sites[:2]...)
	vote := voteAndWait(testContext(t), t, sites[1], twophasecommit.Commit)
	cable.unplug()
	if d := <-vote; !errors.Is(d.err, variants.ErrSessionLost) {
		t.Errorf("Decide without a session returned %q, %v, want ErrSessionLost", d.outcome, d.err)
	}
	wantError(t, "Decide after the session was lost", errorOf(sites[1].Decide(testContext(t), twophasecommit.Commit)), variants.ErrSessionLost)
	closeAll(t, sites[0])
}

// The connection is cut around each create. The group takes no notice.
func sitesRecoverALostReply(t *testing.T, v venue, dir string, variant siteVariant) {
	sitesRecover(t, v, dir, variant, dropReply)
}

func sitesRecoverALostRequest(t *testing.T, v venue, dir string, variant siteVariant) {
	sitesRecover(t, v, dir, variant, dropRequest)
}

func sitesRecover(t *testing.T, v venue, dir string, variant siteVariant, fault fault) {
	t.Helper()
	coordinator, opening := cutting(t, v, fault)
	other, enlisting := cutting(t, v, fault)
	if variant.ephemeral {
		enlisting.arm()
	}
	sites := assemble(t, dir, variant.open, coordinator, other)
	if enlisting.fired() != variant.ephemeral {
		t.Fatal("the connection was not cut: the test tests nothing")
	}
	want := 0
	for round := range 3 {
		if round != 1 {
			opening.arm() // of the first; and the third, which also deletes the first
			want++
		}
		mustPrepare(t, sites...)
		if got := coordinator.ledger.Reconnects(); got != want {
			t.Fatalf("%d reconnections in transaction %d, want %d: the test tests nothing", got, round, want)
		}
		// The coordinator waits for each vote, so that it has no watches when it is cut again.
		waiting := voteAndWait(testContext(t), t, sites[0], twophasecommit.Commit)
		mustDecide(t, twophasecommit.Commit, waiting, vote(testContext(t), sites[1], twophasecommit.Commit))
	}
	if left := transactionsIn(children(t, coordinator, dir)); left != 2 {
		t.Errorf("%d transactions are left, want 2", left)
	}
	mustClose(t, v, dir, sites...)
}

// The connection is cut around each write of a vote or an outcome.
func sitesRecoverALostVote(t *testing.T, v venue, dir string, variant siteVariant) {
	server := embeddedServer(t, v)
	cs := clients(t, v, 2)
	sites := assemble(t, dir, variant.open, cs...)
	for _, action := range []embedded.Action{embedded.DropBefore, embedded.DropAfter} {
		mustPrepare(t, sites...)
		var traps []*embedded.Trap
		for _, c := range cs {
			traps = append(traps, inject(server, c, wire.OpSetData, action))
		}
		mustDecide(t, twophasecommit.Commit, voteAll(t, sites...)...)
		mustHaveFired(t, traps...)
	}
	mustClose(t, v, dir, sites...)
}

// A caller gets control back although the server does not answer at all.
func sitesHonourADeadlineOfASilentServer(t *testing.T, v venue, dir string, variant siteVariant) {
	frozen, cable := cabled(t, v, ensemble.SessionTimeout)
	sites := assemble(t, dir, variant.open, frozen, clients(t, v, 1)[0])
	cable.mustTimeOut(t, "Prepare", func(ctx context.Context) error {
		_, err := sites[0].Prepare(ctx, []byte("query"))
		return err
	})
	mustPrepare(t, sites...)
	cable.mustTimeOut(t, "Decide", func(ctx context.Context) error {
		_, err := sites[0].Decide(ctx, twophasecommit.Commit)
		return err
	})
	mustDecide(t, twophasecommit.Commit, voteAll(t, sites...)...)
	mustClose(t, v, dir, sites...)
}

// What somebody else has left in the directory is neither adopted nor deleted.
func sitesRespectForeignZnodes(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 3)
	must(t, errorOf(cs[0].conn.Create(dir+"/tx-0", []byte("abort"), 0, zk.WorldACL(zk.PermAll))))
	group := twophasecommit.Group{Dir: dir, Sites: 2}
	coordinator := variant.open(t, cs[0], group)
	for range 2 {
		wantError(t, "Prepare over somebody else's transaction", errorOf(coordinator.Prepare(testContext(t), nil)), twophasecommit.ErrTaken)
	}
	closeAll(t, coordinator)
	if variant.ephemeral {
		group.Site = 1
		own := variant.open(t, cs[1], group)
		wantError(t, "joining as a site that is there", errorOf(twophasecommit.NewCoordinatorEphemeral(t.Context(), cs[2].session(), group)), twophasecommit.ErrTaken)
		closeAll(t, own)
	}
	if left := children(t, cs[0], dir); !slices.Equal(left, []string{"tx-0"}) {
		t.Errorf("znodes %v, want the foreign one alone", left)
	}
}

// Whoever waits for a decision when the coordinator closes the group learns that there will be none.
func sitesTellOfAWithdrawal(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 2)
	sites := assemble(t, dir, variant.open, cs...)
	mustPrepare(t, sites...)
	waiting := voteAndWait(testContext(t), t, sites[1], twophasecommit.Commit)
	closeAll(t, sites[0])
	if d := <-waiting; !errors.Is(d.err, twophasecommit.ErrWithdrawn) {
		t.Errorf("Decide after the withdrawal returned %q, %v, want ErrWithdrawn", d.outcome, d.err)
	}
	mustClose(t, v, dir, sites...)
}
