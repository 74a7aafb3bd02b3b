package twophasecommit

import (
	"context"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// AllWatch is the two-phase commit in which every site watches the vote of every other one.
//
//  1. The coordinator creates <dir>/tx-<round> with the query in it, and an empty s-<site> below it for each site. It
//     does so in one multi, so that a site sees all of the transaction or nothing.
//  2. Each site reads tx-<round>; if it is not there yet, the site waits for it with exists.
//  3. Each site reads the other sites' znodes, with a watch on each. A vote that is there already is counted.
//  4. Each site processes the query, and votes by writing to its own znode.
//  5. Each site waits for its remaining watches, one after another, and reads what was written.
//  6. With all votes, each site decides: commit if all are for it.
//
// The coordinator only creates the znodes. In exchange, each of N votes is notified to N-1 sites, and each of these reads
// it.
//
// Cost of one transaction in a lockstep run, where all sites have set their watches before the first one votes:
//
//	requests       1 multi, N-1 reads of the query, N(N-1) reads with a watch, N votes, N(N-1) reads  =  2N²
//	writes         1 multi and N votes  =  N+1
//	notifications  N(N-1), of which one vote sets off N-1
//
// In closed mode, a site other than the coordinator may come too early: then it reads the query twice, and asks
// once whether it exists, which is 2(N-1) requests more in all, and N-1 notifications. A read with a watch that finds a vote
// leaves its watch behind; it fires when the znode is deleted, and not for the vote. Of two sites only one can
// find the other's vote so, since each reads before it votes. So the multi of the transaction after the next may set off
// N(N-1)/2 such notifications, N-1 from watches of sites that found the transaction just when they began to wait for it,
// and N-1 to those that wait for the new one.
//
// The znodes are persistent, as the coordinator creates them: a site that dies before it has voted blocks all others
// until it joins again. It then finds all votes in the tree.
//
// Source: as written, but with one multi that creates the transaction, and without a watch of a site on its own vote: ZooKeeper
// recipes page, Two-phased Commit, first form.
type AllWatch struct {
	site
	separate bool // the coordinator creates each znode by itself, and each site watches its own vote, too: see [SeparateWrites]
	early    bool // the first vote to abort decides: see [EarlyAbort]
	votes    []Decision
	watches  []*session.Watch // on the votes that are missing
	complete int64            // the last transaction in which this site knows that all have voted; -1 for none
}

// NewAllWatch returns one site of a group.
func NewAllWatch(sess *session.Session, group Group) *AllWatch {
	s := &AllWatch{complete: -1}
	s.site = newSite(sess, group, s)
	return s
}

// begin also notes whether the last transaction was complete.
func (s *AllWatch) begin(round int64) {
	if len(s.votes) > 0 && !slices.Contains(s.votes, "") {
		s.complete = round - 1
	}
	s.votes, s.watches = make([]Decision, s.group.Sites), make([]*session.Watch, s.group.Sites)
}

func (s *AllWatch) prepare(ctx context.Context, t *Transaction) error {
	if err := s.receive(ctx, t); err != nil {
		return err
	}
	return s.watchOthers(ctx)
}

func (s *AllWatch) watchOthers(ctx context.Context) error {
	for other := range s.votes {
		if other == s.group.Site && !s.separate || s.votes[other] != "" || s.watches[other] != nil {
			continue
		}
		if err := s.look(ctx, other); err != nil {
			return err
		}
	}
	return nil
}

// look reads the vote of a site with a watch, or when the watch on it has fired.
func (s *AllWatch) look(ctx context.Context, other int) error {
	r, err := s.observe(ctx, s.ballot(s.current.Round, other), &s.watches[other])
	if err != nil {
		return withdrawn(err)
	}
	if s.votes[other] = Decision(r.data); r.data != "" {
		s.watches[other] = nil
	}
	return nil
}

// resume finds out the outcome of a transaction, which all votes together show, or prepares it. This site's own vote is
// still there, too. With separate writes, a transaction without a query is treated as gone: Prepare opens it, or waits for it.
func (s *AllWatch) resume(ctx context.Context, t *Transaction) (Decision, error) {
	r, err := s.read(ctx, s.transaction(t.Round))
	if err == nil && s.separate && !r.written {
		err = zk.ErrNoNode
	}
	if err != nil {
		return "", err
	}
	t.Query = []byte(r.data)
	own, err := s.read(ctx, s.ballot(t.Round, s.group.Site))
	if err != nil {
		return "", err
	}
	s.vote = Decision(own.data)
	s.votes[s.group.Site] = s.vote
	if err := s.watchOthers(ctx); err != nil {
		return "", err
	}
	return s.known(), nil
}

// known returns the outcome, if it follows from the votes that are known.
func (s *AllWatch) known() Decision {
	switch {
	case s.early && slices.Contains(s.votes, Abort):
		return Abort
	case slices.Contains(s.votes, ""):
		return ""
	case slices.ContainsFunc(s.votes, func(vote Decision) bool { return vote != Commit }):
		return Abort
	default:
		return Commit
	}
}

func (s *AllWatch) receive(ctx context.Context, t *Transaction) error {
	if !s.coordinates() {
		return s.await(ctx, func(tx string) error { return s.readQuery(ctx, t, tx) })
	}
	if s.opened < t.Round { // not tried yet
		if err := s.lookBack(ctx, t.Round-2); err != nil {
			return err
		}
	}
	if s.separate {
		return s.openInSteps(ctx, t)
	}
	return s.open(ctx, t, slots(0, s.group.Sites), s.complete)
}

func (s *AllWatch) decide(ctx context.Context) (Decision, error) {
	if err := s.cast(ctx); err != nil {
		return "", err
	}
	for s.known() == "" {
		if err := s.awaitVotes(ctx); err != nil {
			return "", err
		}
	}
	return s.known(), nil
}

// awaitVotes waits for the vote of the first site whose vote is missing.
func (s *AllWatch) awaitVotes(ctx context.Context) error {
	if s.early {
		return s.awaitAnyVote(ctx)
	}
	return s.look(ctx, slices.Index(s.votes, ""))
}

func (s *AllWatch) cast(ctx context.Context) error {
	own := s.group.Site
	if s.votes[own] != "" {
		return nil
	}
	if err := s.write(ctx, s.ballot(s.current.Round, own), string(s.vote)); err != nil {
		return withdrawn(err)
	}
	if !s.separate {
		s.votes[own] = s.vote
	}
	return nil
}

func allWatchVariant() variants.Variant {
	return variants.Variant{
		Name:    "all-watch",
		Kind:    variants.Naive,
		Summary: "every site watches every other site's vote",
		BadAt: "many sites: every vote is notified to, and read by, every other site; " +
			"and a site that dies blocks them all until it joins again",
		Forgoes:  []variants.Loss{variants.Blocked},
		Lockstep: variants.Cost{Requests: "2N", Writes: "(N+1)/N", FailedWrites: "0", Notifications: "N-1", HerdMax: "N-1"},
		Free: variants.Cost{
			Requests: "(2N²+2N-2)/N", Writes: "(N+1)/N", FailedWrites: "0",
			Notifications: "(N-1)(N+1)/N", HerdMax: "(N-1)(N+4)/2",
		},
		Join: joinAs(NewAllWatch),
	}
}
