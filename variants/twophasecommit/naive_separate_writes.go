package twophasecommit

import (
	"context"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// SeparateWrites is the two-phase commit of the recipes page, in which the coordinator creates each znode by itself, and every
// site watches every vote, its own included.
//
//  1. The coordinator creates <dir>/tx-<round>, without content.
//  2. It creates an empty s-<site> below it for each site, one after another.
//  3. It writes the query to tx-<round>, which propagates the transaction to the sites. The same multi deletes the transaction
//     before the last, which no site needs any more.
//  4. Each other site reads tx-<round>. It waits with exists if that is not there yet, and with a watch if it holds no query yet.
//  5. Each site reads each s-<site>, with a watch on each. A vote that is there already is counted.
//  6. Each site processes the query, and votes by writing to its own znode.
//  7. Each site waits for its remaining watches, one after another, and reads what was written.
//  8. With all votes, each site decides: commit if all are for it.
//
// The page opens a transaction by N+1 creates, and does not say how the sites receive its query. Here that is the write of step 3, after
// which no site finds a part of the transaction.
//
// All N sites are notified of all N votes: N² messages for one decision, as the page says. In all-watch, one multi replaces the
// writes of steps 1 to 3, and a site does not watch its own vote. The writes show the one difference, and the notifications the
// other.
//
// Cost of one transaction in a lockstep run, where all sites have set their watches before the first one votes:
//
//	requests       1 create of the transaction, N of the sites' znodes, 1 write of the query, N-1 reads of it, N² reads with a
//	               watch, N votes, N² reads  =  2N²+3N+1
//	writes         N+2 to open it and N votes  =  2N+2
//	notifications  N², of which one vote sets off N
//
// In closed mode, a site other than the coordinator may come too early. It may then find no transaction, wait for it, find it
// without a query, and wait again: 4(N-1) requests more in all, and 2(N-1) notifications. A read with a watch that finds a vote
// leaves its watch behind, which fires when the znode is deleted. Of two sites only one can find the other's vote so. So the write
// of the query may set off N(N-1)/2 such notifications, N-1 of watches that were left on the deleted transaction, and N-1 to the
// sites that wait for the query.
//
// A coordinator that dies while it opens a transaction goes on where it was when it is back: no site has seen the query by then. The
// znodes are persistent, as the coordinator creates them: a site that dies before it has voted blocks all others until it joins
// again.
//
// Source: as written, but with the deletion of old transactions, of which the page says nothing: ZooKeeper recipes page, Two-phased
// Commit, first form, with the transaction propagated through its znode.
func SeparateWrites(sess *session.Session, group Group) *AllWatch {
	s := NewAllWatch(sess, group)
	s.separate = true
	return s
}

// openInSteps creates a transaction and the znodes below it, and then writes the query. Each step may have been taken by an
// earlier attempt, or by an earlier process of the coordinator.
func (s *AllWatch) openInSteps(ctx context.Context, t *Transaction) error {
	tx := s.transaction(t.Round)
	tried := s.opened == t.Round
	s.opened = t.Round
	repeated, err := s.session.Create(ctx, tx, nil, 0)
	if errors.Is(err, zk.ErrNodeExists) && !tried && !repeated && !s.group.Again {
		s.opened-- // there is nothing of ours to clear
		return session.Attempted("open "+tx, ErrTaken)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return session.Attempted("open "+tx, err)
	}
	for _, child := range slots(0, s.group.Sites) {
		if err := s.session.Ensure(ctx, path.Join(tx, child), nil, 0); err != nil {
			return err
		}
	}
	return s.propagate(ctx, t, tx)
}

// propagate writes the query and deletes the transaction before the last. If the query is written, an attempt whose outcome was
// unknown has done both.
func (s *AllWatch) propagate(ctx context.Context, t *Transaction, tx string) error {
	deletions, oldest := s.deletions(s.complete, slots(0, s.group.Sites))
	query := &zk.SetDataRequest{Path: tx, Data: t.Query, Version: 0}
	_, _, err := s.session.Multi(ctx, append([]any{query}, deletions...)...)
	if errors.Is(err, zk.ErrBadVersion) {
		var r reading
		r, err = s.read(ctx, tx)
		t.Query = []byte(r.data)
	}
	if err == nil {
		s.oldest = oldest
	}
	return session.Attempted("open "+tx, err)
}

// readQuery reads the query of a transaction. With separate writes, it waits until that is written.
func (s *AllWatch) readQuery(ctx context.Context, t *Transaction, tx string) error {
	r, err := s.read(ctx, tx)
	var watch *session.Watch
	for s.separate && err == nil && !r.written {
		r, err = s.observe(ctx, tx, &watch)
	}
	t.Query = []byte(r.data)
	return err
}

func separateWritesVariant() variants.Variant {
	v := allWatchVariant()
	v.Name = "separate-writes"
	v.Summary = "every site watches every vote, its own included, and the coordinator creates each znode by itself"
	v.BadAt = "many sites: every vote is notified to, and read by, every site, " +
		"and a transaction takes N+2 writes to open; and a site that dies blocks them all until it joins again"
	v.Lockstep = variants.Cost{Requests: "(2N+1)(N+1)/N", Writes: "2(N+1)/N", FailedWrites: "0", Notifications: "N", HerdMax: "N"}
	v.Free = variants.Cost{
		Requests: "(2N²+7N-3)/N", Writes: "2(N+1)/N", FailedWrites: "0",
		Notifications: "(N²+2N-2)/N", HerdMax: "max(N,(N-1)(N+4)/2)",
	}
	v.Join = joinAs(SeparateWrites)
	return v
}
