package twophasecommit

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// CoordinatorEphemeral is the two-phase commit in which the coordinator also notices the death of a site.
//
//  1. Each site other than the coordinator creates <dir>/site-<site>, ephemeral, when it joins the group.
//  2. The coordinator creates <dir>/tx-<round> with the query in it.
//  3. Each other site reads tx-<round> with a watch, which will fire at the outcome; if it is not there yet, the site
//     waits for it with exists.
//  4. Each of them processes the query, and votes by writing "<round> <vote>" to its own znode.
//  5. The coordinator goes through the sites' znodes: it reads one with a watch and, unless the vote of this round is
//     there, waits and reads again. If the znode is gone, so is its site, and the transaction will be aborted.
//  6. The coordinator writes the outcome over the query, commit if all votes are for it, once.
//  7. The watch from step 3 fires at each site, which reads the outcome.
//
// The recipes page lets each site create its znode anew for each transaction. A site that dies before it has done so
// then looks like one that is slow; here its znode has existed, and is deleted. It also saves the creations and deletions,
// so that a transaction costs as many requests as with znodes that the coordinator makes, and smaller ones:
//
//	requests       1 multi, 1 outcome, and for each of the N-1 others: its read of the query, its vote, two reads by the
//	               coordinator, its read of the outcome  =  5N-3
//	writes         1 multi, N-1 votes, 1 outcome  =  N+1
//	notifications  N-1 of votes, each to the coordinator alone, and N-1 of the outcome, from one write  =  2(N-1)
//
// and once, for the whole group, N-1 creations. In closed mode, a site that comes too early reads the query twice, and
// asks once whether it exists: 2(N-1) requests and N-1 notifications more. A watch that the coordinator leaves behind on
// a vote that is there already fires at the next vote of that site, so that no write sets off more than N-1.
//
// A site must have joined before the first transaction is opened, or call Resume. From when the session of a site has ended
// until the site joins again, every transaction is aborted. The group goes on meanwhile: a site that voted just before its
// death may not learn the outcome any more. The coordinator's own death still blocks all others until it joins again.
//
// Bound: as for coordinator, two writes in the outcome phase if the sites are to get fewer than N² notifications, and one
// notification of each site. This variant has two writes on its path, each with a notification and a read after it. If a site dies,
// the first write is the end of its session, up to a session timeout later, which is when any algorithm can learn of it.
//
// Source: as written, but with a znode of each site that lasts for all transactions, and without one for the coordinator's vote:
// ZooKeeper recipes page, Two-phased Commit, both remedies.
type CoordinatorEphemeral struct {
	coordinated
	joined bool
}

// NewCoordinatorEphemeral lets one site join a group.
func NewCoordinatorEphemeral(ctx context.Context, sess *session.Session, group Group) (*CoordinatorEphemeral, error) {
	s := &CoordinatorEphemeral{}
	s.site = newSite(sess, group, s)
	s.ephemeral = true
	if s.coordinates() {
		return s, nil
	}
	return s, s.enlist(ctx)
}

// enlist creates this site's znode. A site that joins again first waits until its former znode is gone, with its session.
func (s *CoordinatorEphemeral) enlist(ctx context.Context) error {
	create := s.create
	if s.group.Again {
		create = s.session.Succeed
	}
	err := create(ctx, s.member(s.group.Site))
	s.joined = err == nil
	return err
}

// create creates this site's znode. If it exists and this session owns it, an attempt whose reply was lost has created it.
func (s *CoordinatorEphemeral) create(ctx context.Context, own string) error {
	_, err := s.session.Create(ctx, own, nil, zk.FlagEphemeral)
	if !errors.Is(err, zk.ErrNodeExists) {
		return session.Attempted("create "+own, err)
	}
	exists, stat, err := s.session.Exists(ctx, own)
	if err == nil && (!exists || stat.EphemeralOwner != s.session.ID()) {
		err = ErrTaken
	}
	return session.Attempted("create "+own, err)
}

// Close also deletes the site's own znode.
func (s *CoordinatorEphemeral) Close(ctx context.Context) error {
	return s.session.Do(ctx, func(ctx context.Context) error { return errors.Join(s.clear(ctx), s.withdraw(ctx)) }, nil)
}

func (s *CoordinatorEphemeral) withdraw(ctx context.Context) error {
	if !s.joined {
		return nil
	}
	err := s.session.Remove(ctx, s.member(s.group.Site))
	if err == nil || errors.Is(err, session.ErrSessionLost) {
		s.joined = false
	}
	return err
}

func coordinatorEphemeralVariant() variants.Variant {
	v := coordinatorVariant()
	v.Name = "coordinator-ephemeral"
	v.Summary = "as coordinator, with ephemeral znodes: a dead site aborts"
	v.BadAt = "a coordinator that dies blocks all others until it joins again; and a short outage of one site aborts for all"
	v.Free.HerdMax = "N-1"
	v.Join = join(NewCoordinatorEphemeral)
	return v
}
