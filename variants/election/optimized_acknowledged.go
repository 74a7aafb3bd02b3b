package election

import (
	"context"
	"errors"
	"path"
	"strconv"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// Acknowledged is the election whose leader says that it knows before it leads.
//
//  1. Create <dir>/<guid>-n_, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>, without a watch. If its own znode is the smallest, the client has won; go to 5.
//  3. Read, with a watch, the znode with the largest number below the client's own. If it is gone, go to 2.
//  4. Wait for the watch, then go to 2.
//  5. Create <dir>/acknowledged, ephemeral, with the epoch as its data. The client leads. If that znode exists with another epoch, wait
//     until it is gone and try again.
//  6. To resign, or to withdraw from step 5 on, delete <dir>/acknowledged and the client's own znode in one multi. To withdraw before
//     step 5, delete the client's own znode.
//
// With PredecessorWatch, the listing says whose znode is the smallest, and not whether that client knows: its notification may be on its
// way, or its process may have stopped. Here, other clients find out which leader knows of its term with one read of one path, and can
// watch that path for the next one; see Leader. Both znodes of a term go in one transaction, by the multi or with the session that owns
// both, and the next client wins after that. So while no session is lost, no two acknowledgements meet. A client whose session is lost can
// leave its acknowledgement behind: the client library opens a new session, and may send a create under it that was queued for the old one.
// Then the ticket is gone, and Leader returns an epoch that has ended, until the client closes the session as [session.ErrSessionLost]
// demands. The next client acknowledges, and leads, only after that.
//
// Cost of one term: one create more than with PredecessorWatch. The multi is one request and one write, as the delete
// was. So in lockstep, where N clients campaign and lead one after another, and all but the first wait:
//
//	notifications  N-1
//	requests       2N creates, N listings, N multis, and a getData and a listing for each wait  =  6N-2
//	writes         2N creates, N multis  =  3N
//	herd           1
//
// Running free, each term has one more create: 6 requests, 3 of them writes. A failover takes one quorum write more, until the successor
// leads. The epoch is the sequence number, which counts the acknowledgements, too: it grows for 2^30 terms.
//
// Bound: in a failover (phase failover-clean), the resignation must be written, one candidate must be notified, and its acknowledgement
// must be written: 2 quorum writes and 1 notification. This variant has 2 and 1, and 1 read in between: the candidate lists the znodes,
// as the one before it may have withdrawn.
//
// Source: as written, but acknowledging before it leads, and watching the largest number below its own: ZooKeeper recipes page, Leader
// Election, with its first note. The note would acknowledge that the leader has executed its procedure. Here that procedure is to learn of
// its term, so that no leader leads whose term is not acknowledged.
type Acknowledged struct {
	*session.Exclusive
	tickets.Line
	mine tickets.Ticket // while the client leads
}

// acknowledgement is the name of the znode by which a leader says that it knows.
const acknowledgement = "acknowledged"

// NewAcknowledged returns the part of one client in the elections below an existing znode dir.
func NewAcknowledged(s *session.Session, dir string) *Acknowledged {
	a := &Acknowledged{Line: tickets.New(s, dir, marker)}
	a.Exclusive = session.NewExclusive(s, a.campaign, func(ctx context.Context) error { return a.resign(ctx, a.mine) })
	return a
}

func (a *Acknowledged) campaign(ctx context.Context) (term session.Grant, err error) {
	mine, err := tickets.Take(ctx, a, a.AwaitTurn)
	if err != nil {
		return term, err
	}
	if err := a.acknowledge(ctx, mine); err != nil { // the acknowledgement must not be left to the successor
		return term, session.Withdraw(ctx, err, func(ctx context.Context) error { return a.resign(ctx, mine) })
	}
	a.mine = mine
	return session.Grant{Token: int64(mine.Seq)}, nil
}

// acknowledge creates the acknowledgement. If that fails, the znode may exist all the same.
func (a *Acknowledged) acknowledge(ctx context.Context, mine tickets.Ticket) error {
	epoch := strconv.FormatInt(int64(mine.Seq), 10)
	for {
		_, err := a.Session.Create(ctx, a.acknowledged(), []byte(epoch), zk.FlagEphemeral)
		if !errors.Is(err, zk.ErrNodeExists) {
			return session.Attempted("acknowledge epoch "+epoch, err)
		}
		own, err := a.awaitOther(ctx, epoch)
		switch {
		case err != nil:
			return session.Attempted("await the end of another acknowledgement than that of epoch "+epoch, err)
		case own: // an attempt whose reply was lost has created it
			return a.Session.Alive()
		}
	}
}

// awaitOther returns true if the acknowledgement has this epoch. If it has another one, awaitOther waits until it is
// gone.
func (a *Acknowledged) awaitOther(ctx context.Context, epoch string) (own bool, err error) {
	data, _, watch, err := a.Session.GetW(ctx, a.acknowledged())
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, nil
	case err != nil || string(data) == epoch:
		return err == nil, err
	}
	_, err = a.Session.AwaitEvent(ctx, watch)
	return false, err
}

// resign deletes both znodes, or the ticket alone if there is no acknowledgement. While the ticket is the first in
// line, no other client leads: an acknowledgement is the client's own, or one that was left behind. A client whose
// ticket is gone deletes nothing: the acknowledgement may be its successor's.
func (a *Acknowledged) resign(ctx context.Context, mine tickets.Ticket) error {
	_, repeated, err := a.Session.Multi(ctx,
		&zk.DeleteRequest{Path: a.Path(mine), Version: -1},
		&zk.DeleteRequest{Path: a.acknowledged(), Version: -1})
	if !errors.Is(err, zk.ErrNoNode) {
		return session.Attempted("resign", err)
	}
	err = a.Leave(ctx, mine)
	if repeated && errors.Is(err, session.ErrSessionLost) { // an attempt whose reply was lost has deleted both
		return a.Session.Alive()
	}
	return err
}

func (a *Acknowledged) acknowledged() string { return path.Join(a.Dir, acknowledgement) }

// Leader returns the epoch of the leader that has acknowledged its term, below the same dir; known is false if there is
// none. It costs one read. Any session may ask.
func Leader(ctx context.Context, s *session.Session, dir string) (epoch int64, known bool, err error) {
	data, known, err := s.Find(ctx, path.Join(dir, acknowledgement))
	if err != nil || !known {
		return 0, false, err
	}
	epoch, err = strconv.ParseInt(string(data), 10, 64)
	return epoch, err == nil, err
}

// witnessed returns the environment of a client whose terms are looked at: while it leads, its epoch must be acknowledged.
func (a *Acknowledged) witnessed(env variants.Env) variants.Env {
	if env.Witness == nil {
		return env
	}
	lead := env.Hold
	env.Hold = func(ctx context.Context, asked <-chan struct{}) error {
		looking, stop := context.WithCancel(ctx)
		var look sync.WaitGroup
		look.Go(func() {
			witness, err := env.Witness(looking)
			if err != nil {
				return
			}
			epoch, known, err := Leader(looking, witness, a.Dir)
			if own := known && epoch == int64(a.mine.Seq); err == nil && !own {
				env.Record(exclusion.Unseen, int64(a.mine.Seq))
			}
		})
		defer look.Wait()
		defer stop()
		return lead(ctx, asked)
	}
	return env
}

func acknowledgedVariant() variants.Variant {
	return variants.Variant{
		Name:     "acknowledged",
		Kind:     variants.Optimized,
		Summary:  "as predecessor-watch, and the leader creates a znode that says that it knows",
		BadAt:    "failovers that must be fast: a quorum write more until the successor leads, and a write more for each term",
		Lockstep: tickets.LockstepCost("(6N-2)/N", "3"),
		Free:     tickets.FreeCost("6 (4 for N=1)", "3"),
		Join: variants.JoinNew(NewAcknowledged, func(a *Acknowledged, env variants.Env) variants.Participant {
			return exclusion.NewParticipant(a, a.witnessed(env))
		}),
	}
}
