// Package twophasecommit compares five ways to let a group of sites commit a transaction, or abort it, together.
//
// The promise of all variants: in each transaction, all sites that decide reach the same decision, on the query that the
// coordinator has sent; they commit only if every site has voted to, and abort only if one has voted against it or
// failed.
//
// Site 0 is the coordinator, and takes part in the vote like all others. With N sites, one transaction costs
//
//	variant                znodes                                         notifications  requests
//	separate-writes        <dir>/tx-<round>, and s-<site> below it        N²             2N²+3N+1
//	all-watch              <dir>/tx-<round>, and s-<site> below it        N(N-1)         2N²
//	early-abort            <dir>/tx-<round>, and s-<site> below it        N(N-1)         2N²
//	coordinator            <dir>/tx-<round>, and s-<site> below it        2(N-1)         5N-3
//	coordinator-ephemeral  <dir>/tx-<round>, <dir>/site-<site> ephemeral  2(N-1)         5N-3
//
// Except with early-abort, the znodes of a transaction are deleted in the same multi that opens the one after the next:
// every site must have decided a transaction before it can vote in the next one, so that no site needs them any more.
// That costs neither a request nor a round trip, and leaves the znodes of at most two transactions behind, which Close
// deletes.
//
// With early-abort the first vote against a transaction decides it. A site can then fall behind by more than one transaction, so
// that a transaction is kept until every site has voted in a later one. The others decide when they have all votes, and do not
// depend on what the votes are.
//
// What a failure does:
//
//	variant                a site dies before its vote is counted   a site dies later   the coordinator dies
//	all-watch              the others wait until it joins again     nothing             the others wait for the next transaction
//	separate-writes        as all-watch                             nothing             as all-watch
//	early-abort            as all-watch, unless one votes to abort  nothing             the others wait for the next transaction
//	coordinator            the others wait until it joins again     nothing             the others wait until it joins again
//	coordinator-ephemeral  abort, when its session has ended        nothing             the others wait until it joins again
//
// A site that joins again finds the present transaction in the tree, see Site.Resume, and takes part in it unless it is decided.
// Its vote and the outcome of every transaction in which it has voted are still there, with one exception: where a dead site
// aborts, the group goes on without it, and forgets the outcomes of all but the last two transactions. A coordinator that
// joins again collects the votes once more. All variants let sites wait for a dead coordinator, as two-phase commit does, so that
// none of them promises that no site is blocked.
package twophasecommit

import (
	"context"
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Decision is a site's vote, or the outcome of a transaction.
type Decision string

// The decisions. The empty one stands for none yet.
const (
	Commit Decision = "commit"
	Abort  Decision = "abort"
)

// Transaction is a query that the sites are asked to commit.
type Transaction struct {
	Round int64 // 0 for a group's first transaction, and one more for each after it
	Query []byte
}

// Group is the sites that take part in the transactions, and which of them a site is.
type Group struct {
	Dir   string // an existing znode, the group's alone
	Sites int
	Site  int // from 0 on; 0 is the coordinator

	Again bool // the site has joined the group before, in another process or session; see [Site.Resume]
}

// Outcome is the decision on a transaction.
type Outcome struct {
	Round    int64
	Decision Decision
}

// Site is one site of a group. It takes part in all transactions, one after another. Its methods may be called
// concurrently and then run one after another.
type Site interface {
	// Resume lets a site that joins again find the place where its group is. It returns the outcomes that are still known of
	// transactions in which the site may have voted, and the round of the transaction that Prepare returns next. It comes before
	// the first Prepare, or after one that returned ErrDecided.
	//
	// The transaction may be one in which the site has voted before. If its vote is no longer there, the site must vote in the
	// same way again: a site keeps its votes in its own log, as every two-phase commit demands.
	Resume(ctx context.Context) (outcomes []Outcome, next int64, err error)
	// Prepare opens the next transaction at the coordinator, and waits for it at any other site, where query means
	// nothing. Before the last transaction is decided it returns that one again.
	Prepare(ctx context.Context, query []byte) (Transaction, error)
	// Decide votes, and waits for the decision. A vote cannot be taken back: when ctx ends first, the transaction is in
	// doubt. Calling Decide again, whose vote is then ignored, returns its outcome.
	Decide(ctx context.Context, vote Decision) (Decision, error)
	// Close withdraws the site. At the coordinator it deletes the transactions that are left, and must therefore come
	// when all sites have decided: a site that has not gets ErrWithdrawn.
	Close(ctx context.Context) error
}

// The errors of the calls of a Site.
var (
	// ErrNotPrepared is returned by Decide when there is nothing to vote on.
	ErrNotPrepared = errors.New("no transaction has been prepared")
	// ErrWithdrawn says that the coordinator has closed the group before this site learned of its decision.
	ErrWithdrawn = errors.New("the transaction was withdrawn by its coordinator")
	// ErrDecided is returned by Prepare for a transaction that was decided without this site, which had joined too late: see [Site.Resume].
	ErrDecided = errors.New("the transaction was decided before this site took part")
	// ErrTaken says that the directory holds a transaction, or a site, of another group.
	ErrTaken = errors.New("the znode belongs to another group")
)

// Recipe returns the recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:    "twophasecommit",
		Summary: "all sites commit a transaction, or all abort it",
		Source:  "ZooKeeper recipes page, Two-phased Commit",
		Variants: []variants.Variant{
			separateWritesVariant(), allWatchVariant(), earlyAbortVariant(), coordinatorVariant(), coordinatorEphemeralVariant(),
		},
		Phases:    phases(),
		Operation: phaseDecide,
		Workload: variants.Workload{
			Collective: true,
			Size:       "transactions in a row that one site votes against, each site in its turn; four times as many follow without one",
			Roles:      []string{roleCoordinator, roleSite},
		},
		Losses:      []variants.Loss{variants.Blocked},
		Events:      []string{"joins", "begins a round", "has the transaction", "votes", "decides", "gives up", "learns of a decision"},
		Calls:       []variants.EventKind{voted},
		NewObserver: newObserver,
		Code:        code,
		Bound: variants.Bound{Phase: phaseOutcome, Writes: "0.8 + 0.2/N", Reads: "(N-1)/N", Notifications: "(N-1)/N",
			Why: "To commit, as four transactions in five do, each site must write its vote, and to abort a single one; each must " +
				"read the query, and all but the last to vote are notified of the outcome"},
	}
}
