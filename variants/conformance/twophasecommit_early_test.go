package conformance_test

import (
	"context"
	"testing"

	"github.com/zkbench/zkbench/variants/twophasecommit"
)

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

// mustKeep wants so many transactions in the tree at most.
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

// Where the first vote to abort decides, the others go on without a dead site. It learns what it has missed.
func sitesJoinAgainAfterTheyWereMissed(t *testing.T, v venue, dir string, variant siteVariant) {
	if !variant.early {
		return // the others wait for it, or abort because of it
	}
	cs := clients(t, v, 4)
	sites := assemble(t, dir, variant.open, cs[:3]...)
	transactTogether(t, sites...)
	cs[2].Close()
	for range 3 {
		abortBy(t, sites[1], sites[0])
	}
	sites[2] = variant.again(t, cs[3], twophasecommit.Group{Dir: dir, Sites: 3, Site: 2}, 4, outcome(0, twophasecommit.Commit),
		outcome(1, twophasecommit.Abort), outcome(2, twophasecommit.Abort), outcome(3, twophasecommit.Abort))
	for range 4 {
		transactTogether(t, sites...)
	}
	mustKeep(t, 2, cs[0], dir)
	mustClose(t, v, dir, sites...)
}

// The sites do not wait for a coordinator that dies before its vote, if one of them has voted to abort.
func coordinatorJoinsAgainAfterItWasMissed(t *testing.T, v venue, dir string, variant siteVariant) {
	if !variant.early {
		return
	}
	cs := clients(t, v, 4)
	sites := assemble(t, dir, variant.open, cs[:3]...)
	transactTogether(t, sites...)
	mustPrepare(t, sites[0])
	cs[0].Close()
	abortBy(t, sites[1], sites[2])
	sites[0] = variant.again(t, cs[3], twophasecommit.Group{Dir: dir, Sites: 3}, 2,
		outcome(0, twophasecommit.Commit), outcome(1, twophasecommit.Abort))
	for range 3 {
		transactTogether(t, sites...)
	}
	mustKeep(t, 2, cs[3], dir)
	mustClose(t, v, dir, sites...)
}
