package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/twophasecommit"
)

type siteOpener func(t testing.TB, c *client, g twophasecommit.Group) twophasecommit.Site

type siteVariant struct {
	name      string
	open      siteOpener
	ephemeral bool // the death of a site is noticed
	early     bool // the first vote to abort decides
}

func (v siteVariant) label() string { return v.name }

// siteBy makes an opener of a constructor that cannot fail.
func siteBy[S twophasecommit.Site](construct func(*session.Session, twophasecommit.Group) S) siteOpener {
	return func(_ testing.TB, c *client, g twophasecommit.Group) twophasecommit.Site {
		return opened(c, construct(c.session(), g))
	}
}

var siteVariants = []siteVariant{
	{"separate-writes", siteBy(twophasecommit.SeparateWrites), false, false},
	{"all-watch", siteBy(twophasecommit.NewAllWatch), false, false},
	{"early-abort", siteBy(twophasecommit.EarlyAbort), false, true},
	{"coordinator", siteBy(twophasecommit.Coordinator), false, false},
	{"coordinator-ephemeral", func(t testing.TB, c *client, g twophasecommit.Group) twophasecommit.Site {
		s, err := twophasecommit.NewCoordinatorEphemeral(t.Context(), c.session(), g)
		must(t, err)
		return opened(c, s)
	}, true, false},
}

type siteCheck = func(t *testing.T, v venue, dir string, variant siteVariant)

// siteChecks are what every variant must pass, on every ensemble.
var siteChecks = []check[siteCheck]{
	{"go on after a cancellation", sitesGoOnAfterACancellation},
	{"vote once", sitesVoteOnce},
	{"wait for all votes, or for the first to abort", sitesWaitForTheVotesThatDecide},
	{"keep few transactions", sitesKeepFewTransactions},
	{"agree with a site that has fallen behind", sitesAgreeWithOneThatHasFallenBehind},
	{"honour a deadline of a silent server", sitesHonourADeadlineOfASilentServer},
	{"respect foreign znodes", sitesRespectForeignZnodes},
	{"go by the first outcome", sitesGoByTheFirstOutcome},
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

type decision struct {
	outcome twophasecommit.Decision
	err     error
}

// vote lets a site decide in the background.
func vote(ctx context.Context, s twophasecommit.Site, d twophasecommit.Decision) <-chan decision {
	done := make(chan decision, 1)
	go func() {
		outcome, err := s.Decide(ctx, d)
		done <- decision{outcome, err}
	}()
	return done
}

// voteAndWait is vote that returns when the vote has been cast and the site waits. A wait of the session alone would
// not show this: a site may watch for the outcome before it votes.
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

func transactionsIn(names []string) int {
	n := 0
	for _, name := range names {
		if strings.HasPrefix(name, "tx-") {
			n++
		}
	}
	return n
}

// A client that is cancelled, during any wait, can continue with the same transaction.
func sitesGoOnAfterACancellation(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 3)
	sites := assemble(t, dir, variant.open, cs...)
	mustWithdraw(t, "Prepare", cs[1], func(ctx context.Context) error { return errorOf(sites[1].Prepare(ctx, nil)) })
	mustPrepare(t, sites...)
	mustPrepare(t, sites...) // the same again
	ctx, cancel := context.WithCancel(testContext(t))
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

// Znodes of others in the directory are neither adopted nor deleted.
func sitesRespectForeignZnodes(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 3)
	must(t, errorOf(cs[0].conn.Create(dir+"/tx-0", []byte("abort"), 0, zk.WorldACL(zk.PermAll))))
	group := twophasecommit.Group{Dir: dir, Sites: 2}
	coordinator := variant.open(t, cs[0], group)
	for range 2 {
		wantError(t, "Prepare over another group's transaction", errorOf(coordinator.Prepare(testContext(t), nil)), twophasecommit.ErrTaken)
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

// A client that waits for a decision when the coordinator closes the group learns that there will be none.
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

// transactTogether lets sites commit one more transaction.
func transactTogether(t testing.TB, sites ...twophasecommit.Site) {
	t.Helper()
	mustPrepare(t, sites...)
	mustDecide(t, twophasecommit.Commit, voteAll(t, sites...)...)
}

// The first vote to abort decides, in any order of the sites, or else all wait for the last vote.
func sitesWaitForTheVotesThatDecide(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 3)
	sites := assemble(t, dir, variant.open, cs...)
	mustPrepare(t, sites...)
	waiting := []<-chan decision{voteAndWait(testContext(t), t, sites[0], twophasecommit.Commit)}
	if variant.early {
		mustDecide(t, twophasecommit.Abort, append(waiting, vote(testContext(t), sites[2], twophasecommit.Abort))...)
		waiting = nil
	} else {
		waiting = append(waiting, voteAndWait(testContext(t), t, sites[2], twophasecommit.Abort))
		if len(waiting[0])+len(waiting[1]) > 0 {
			t.Error("a site decided before all had voted")
		}
	}
	mustDecide(t, twophasecommit.Abort, append(waiting, vote(testContext(t), sites[1], twophasecommit.Commit))...)
	transactTogether(t, sites...)
	mustClose(t, v, dir, sites...)
}

// abortBy lets one site vote against one more transaction, and others for it. If the coordinator takes part, it is the first of
// these.
func abortBy(t testing.TB, against twophasecommit.Site, others ...twophasecommit.Site) {
	t.Helper()
	mustPrepare(t, append(others, against)...)
	mustDecide(t, twophasecommit.Abort, append(voteAll(t, others...), vote(testContext(t), against, twophasecommit.Abort))...)
}

// mustKeep requires that there are at most so many transactions in the tree.
func mustKeep(t testing.TB, most int, c *client, dir string) {
	t.Helper()
	if names := children(t, c, dir); transactionsIn(names) > most {
		t.Errorf("znodes %v, want those of %d transactions at most", names, most)
	}
}

// Transactions that are aborted one after another do not pile up while all sites take part.
func sitesKeepFewTransactions(t *testing.T, v venue, dir string, variant siteVariant) {
	cs := clients(t, v, 3)
	sites := assemble(t, dir, variant.open, cs...)
	for range 12 {
		abortBy(t, sites[1], sites[0], sites[2])
	}
	mustKeep(t, 3, cs[0], dir)
	mustClose(t, v, dir, sites...)
}

// A site that voted to commit, and has not looked for the outcome since, learns of it however many transactions the others have
// aborted meanwhile. It then goes through these.
func sitesAgreeWithOneThatHasFallenBehind(t *testing.T, v venue, dir string, variant siteVariant) {
	if !variant.early {
		return // the others wait for it
	}
	const aborted = 4
	cs := clients(t, v, 3)
	sites := assemble(t, dir, variant.open, cs...)
	mustPrepare(t, sites...)
	ctx, cancel := context.WithCancel(testContext(t))
	slow := voteAndWait(ctx, t, sites[2], twophasecommit.Commit)
	cancel()
	<-slow
	mustDecide(t, twophasecommit.Commit, voteAll(t, sites[:2]...)...)
	for range aborted {
		abortBy(t, sites[1], sites[0])
	}
	mustDecide(t, twophasecommit.Commit, voteAll(t, sites[2])...)
	for range aborted {
		mustPrepare(t, sites[2])
		mustDecide(t, twophasecommit.Abort, voteAll(t, sites[2])...)
	}
	for range 3 { // each deletes two
		transactTogether(t, sites...)
	}
	mustKeep(t, 2, cs[0], dir)
	mustClose(t, v, dir, sites...)
}

// A former process of the coordinator writes the outcome just before its successor does.
func sitesGoByTheFirstOutcome(t *testing.T, v venue, dir string, variant siteVariant) {
	if !strings.HasPrefix(variant.name, "coordinator") {
		return // nothing but the votes decides
	}
	cs := clients(t, v, 3)
	sites := assemble(t, dir, variant.open, cs[:2]...)
	mustPrepare(t, sites...)
	must(t, errorOf(cs[2].conn.Set(dir+"/tx-0", []byte(twophasecommit.Abort), 0)))
	mustDecide(t, twophasecommit.Abort, voteAll(t, sites...)...)
	mustClose(t, v, dir, sites...)
}
