package twophasecommit

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// EarlyAbort is the two-phase commit in which every site watches every other vote, and the first vote to abort decides.
//
// The recipes page says of the form that all-watch has:
//
//	Note that a node can decide "abort" earlier if some site votes for "abort".
//
// Steps 2 to 4 are the same as in all-watch:
//
//  1. The coordinator creates <dir>/tx-<round> with the query in it, and an empty s-<site> below it for each site, in one
//     multi. The same multi deletes the transactions that no site needs any more, two at most.
//  2. Each site reads tx-<round>; if it is not there yet, the site waits for it with exists.
//  3. Each site reads the other sites' znodes, with a watch on each. A vote that is there already is counted.
//  4. Each site processes the query, and votes by writing to its own znode.
//  5. Unless a vote to abort is known, each site waits for the first of its remaining watches, and reads what was written. It
//     does so until it knows a vote to abort, or all votes.
//  6. Each site decides: abort with the first vote to abort, commit with all votes.
//
// Agreement holds because a vote is never changed: where one site has voted to abort, no site ever sees all votes to commit.
//
// A site that is slow or dead falls behind while the others abort, and may have voted in a transaction that the others have
// committed since. So a transaction is kept until all sites have voted in a later one: a site votes only when it has decided all
// transactions before. The coordinator knows that of a transaction whose votes it has all read. After an early abort, it looks
// once more: before it opens a transaction it reads the votes in the last but one, up to the first that is missing. A site that
// is slow goes through all transactions that are kept. A site that joins again reads them all, and goes on with the last.
//
// Cost of one transaction in a lockstep run, where all sites vote to commit and have set their watches before the first
// one votes. It is the cost of all-watch, as every vote is needed:
//
//	requests       1 multi, N-1 reads of the query, N(N-1) reads with a watch, N votes, N(N-1) reads  =  2N²
//	writes         1 multi and N votes  =  N+1
//	notifications  N(N-1), of which one vote sets off N-1
//
// An early abort saves a site the reads of the votes that it does not wait for, at most N-1 reads for each of N sites. It saves
// no notification: the watches are set before. In closed mode, early sites cost up to 2(N-1) requests and N-1 notifications
// more, as with all-watch, and looking once more up to N-1 reads. Each of the two transactions that a multi may delete sets off
// up to N(N-1)/2 notifications of watches on votes and N-1 of watches on the transaction, and the creation N-1 to those that
// wait for the new one: (N-1)(N+3).
//
// A site that dies before it has voted does not block a transaction which another site votes against. It blocks the others
// in the first transaction that all of them want to commit.
//
// Bound: in the outcome phase, any algorithm needs one write, the vote that decides, and one notification of each other site. This
// variant's path has these and one read, because the vote is in the znode's data; the type of the event could show it instead. With
// an early abort, the vote that decides is the first against the transaction, and not the last.
//
// Source: as written, but with one multi that creates the transaction, and without a watch of a site on its own vote: ZooKeeper
// recipes page, Two-phased Commit, first form, its last sentence.
func EarlyAbort(sess *session.Session, group Group) *AllWatch {
	s := NewAllWatch(sess, group)
	s.early = true
	return s
}

// lookBack finds out whether all sites have voted in a transaction. That is known already unless an early abort has decided.
func (s *AllWatch) lookBack(ctx context.Context, round int64) error {
	if round <= s.complete {
		return nil
	}
	for other := 1; other < s.group.Sites; other++ {
		if r, err := s.read(ctx, s.ballot(round, other)); err != nil || r.data == "" {
			return err
		}
	}
	s.complete = round
	return nil
}

// awaitAnyVote waits until another site has voted, and reads the votes that have come until one decides.
func (s *AllWatch) awaitAnyVote(ctx context.Context) error {
	if err := s.watchOthers(ctx); err != nil || s.known() != "" {
		return err
	}
	if err := s.session.Await(ctx, s.watches...); err != nil {
		return err
	}
	for other, watch := range s.watches {
		if !watch.Fired() {
			continue
		}
		if err := s.look(ctx, other); err != nil || s.known() != "" {
			return err
		}
	}
	return nil
}

func earlyAbortVariant() variants.Variant {
	v := allWatchVariant()
	v.Name, v.Kind = "early-abort", variants.Naive
	v.Summary = "as all-watch, but the first vote to abort decides"
	v.BadAt = "many sites: the requests of a transaction grow with the square of their number, as with all-watch; " +
		"a site that dies blocks the others in the next transaction that they want to commit, " +
		"and the znodes of all transactions are kept that are aborted until then"
	v.Free.Requests, v.Free.HerdMax = "(2N²+3N-3)/N", "(N-1)(N+3)"
	v.Join = joinAs(EarlyAbort)
	return v
}
