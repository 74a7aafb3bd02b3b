package doublebarrier

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// ReadyNode is the double barrier that is opened by a znode, and left by the lowest client and the highest.
//
//  1. To enter, look for <dir>/ready with a watch. If it exists, a round is under way: wait until that is over.
//  2. Create an ephemeral, sequential znode in the directory.
//  3. List the directory. If at least N-1 znodes have lower numbers than the client's own, create ready: all have entered.
//  4. Otherwise wait for the watch. If it has fired already, look for <dir>/ready first: it may belong to an earlier
//     round.
//  5. To leave, list the directory. The first time, take down the highest number: what comes later is of a later round.
//  6. If there is no znode of this round, all have finished.
//  7. If the client's own znode is the only one, delete it, and ready in the same multi: all have finished. The multi also
//     sets the directory's data, so that its version counts the rounds.
//  8. If the client's own znode is the lowest, read the highest with a watch, wait until it is gone, and go to 5.
//  9. Otherwise read the lowest with a watch, delete the client's own znode unless that has been done, wait until the
//     lowest is gone, and go to 5.
//
// As published, each client that sees N znodes creates ready, no client deletes it, and names say nothing about rounds.
// Here only the client with the N-th ticket creates it, which saves up to N-1 failed writes, and the last one to leave
// deletes it, so that no client can be back before it is gone. If that one dies instead, a client that finds ready without
// the znodes of its round deletes it. The lowest is watched before the client's own znode is deleted: afterwards it may be
// gone, and it would depend on chance whether the last to leave is notified. A client that finds ready in step 3, as it
// may after it has withdrawn, reads it. Its data is the N-th ticket: a client with a later one is too late for the round.
//
// Cost of one round in lockstep, where the clients come and go in the order of their numbers:
//
//	requests       N looks for ready, N creates, N lists, 1 create of ready; to leave, the lowest lists, reads the
//	               highest, lists again, and sends the multi, and each other one lists, reads the lowest, deletes, and
//	               lists again: 4N  =  7N+1. Alone, the client finds out at once: 6
//	writes         N creates, 1 create of ready, N-1 deletes, 1 multi  =  2N+1
//	notifications  N of ready, one of them to its creator, 1 of the highest, N-1 of the lowest  =  2N, or 1 alone
//
// In closed mode, a client may find ready in step 3 and so read it, look for it once more in step 4, or find that the znode to
// watch is gone. The lowest may be notified by each of the others, if the highest is always the next to leave.
//
// Bound: to enter and to leave, any algorithm needs one write of the last client and one notification of all others. If a client is
// to be notified only when all have entered, the last one must first learn that it is the last, and then say so: two writes and a
// read. This variant's path to enter has these and the look for ready. Its path to leave has two writes, each with a notification
// after it, and four reads: the last client notifies the lowest alone that it has finished, and the lowest notifies all others.
//
// Source: as written, but with sequence numbers, one creator of ready, its deletion by the last to leave, and the watch before the
// delete: ZooKeeper recipes page, Double Barriers.
type ReadyNode struct {
	client
	race bool           // each client that finds enough tickets opens the barrier, as in [ReadyRace]
	last tickets.Ticket // of the round, once the client has begun to leave; no name before
}

// NewReadyNode returns one client's view of a barrier.
func NewReadyNode(ctx context.Context, s *session.Session, group Group) (*ReadyNode, error) {
	b := &ReadyNode{}
	err := b.init(ctx, s, group, b)
	if err == nil {
		err = b.orient(ctx)
	}
	return b, err
}

// orient finds the number of the client's next round. The directory's version is the number of rounds that are over. While
// ready exists, a round is under way without this client.
func (b *ReadyNode) orient(ctx context.Context) error {
	children, stat, err := b.list(ctx)
	if err != nil {
		return err
	}
	round := int64(stat.Version)
	if slices.Contains(children, readyName) {
		round++
	}
	b.round.Store(round)
	return nil
}

// readyName is the znode that opens the barrier. It has no marker, so that it is not a ticket.
const readyName = "ready"

func (b *ReadyNode) ready() string { return path.Join(b.group.Dir, readyName) }

// errLate says that the client's own znode came too late for a round: all others had entered, and a client that has
// gone since.
var errLate = errors.New("too late for the round")

func (b *ReadyNode) enter(ctx context.Context) error {
	for {
		exists, _, watch, err := b.session.ExistsW(ctx, b.ready())
		if err != nil {
			return session.Attempted("look for "+b.ready(), err)
		}
		if exists {
			err = b.sitOut(ctx)
		} else if err = b.enlist(ctx, watch); errors.Is(err, errLate) {
			err = b.give(ctx)
		} else {
			return err
		}
		if err == nil {
			err = b.orient(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// enlist takes a ticket. If it is not the last, enlist waits for the watch on ready.
func (b *ReadyNode) enlist(ctx context.Context, created *session.Watch) error {
	if err := b.take(ctx); err != nil {
		return err
	}
	children, err := b.line.List(ctx)
	if err != nil {
		return err
	}
	all := tickets.Sorted(children, marker)
	last := b.ticket
	if b.race && len(all) > 0 {
		last = all[len(all)-1]
	}
	switch {
	case !slices.Contains(all, b.ticket):
		return session.ErrSessionLost
	case slices.Contains(children, readyName):
		return b.included(ctx)
	case slices.Index(all, last) >= b.group.Size-1:
		return b.open(ctx, last)
	default:
		return b.awaitCreation(ctx, b.ready(), created)
	}
}

// open creates ready for all clients up to the last ticket. If it exists, it has been created since the client's own znode was there: the
// round begins with this client.
func (b *ReadyNode) open(ctx context.Context, last tickets.Ticket) error {
	_, err := b.session.Create(ctx, b.ready(), []byte(last.Name), 0)
	return session.Unless(zk.ErrNodeExists, "create "+b.ready(), err)
}

// included returns errLate unless the client's own znode was there when the round began, and if that round is over.
func (b *ReadyNode) included(ctx context.Context) error {
	data, _, err := b.session.Get(ctx, b.ready())
	last, _ := tickets.Parse(string(data), marker)
	if errors.Is(err, zk.ErrNoNode) || err == nil && last.Before(b.ticket) {
		return errLate
	}
	return session.Attempted("read "+b.ready(), err)
}

// sitOut waits for a change to a round that is under way without this client. It deletes ready after a round that has no
// client left. If ready is gone by now, the clients that are there wait for this one.
func (b *ReadyNode) sitOut(ctx context.Context) error {
	children, err := b.line.List(ctx)
	if err != nil || !slices.Contains(children, readyName) {
		return err
	}
	if all := tickets.Sorted(children, marker); len(all) > 0 {
		return b.line.AwaitWatch(ctx, all[0])
	}
	return b.sweep(ctx)
}

func (b *ReadyNode) leave(ctx context.Context) error {
	for {
		children, err := b.line.List(ctx)
		if err != nil {
			return err
		}
		all := tickets.Sorted(children, marker)
		if b.last.Name == "" && len(all) > 0 {
			b.last = all[len(all)-1]
		}
		all = upTo(b.last, all)
		over, err := b.yield(ctx, all)
		if err != nil {
			return err
		}
		if over {
			b.last = tickets.Ticket{}
			if len(all) == 0 && slices.Contains(children, readyName) {
				return b.sweep(ctx)
			}
			return nil
		}
	}
}

// yield takes the next step to leave, which the remaining tickets of the round determine, and reports whether the round
// is over.
func (b *ReadyNode) yield(ctx context.Context, all []tickets.Ticket) (over bool, err error) {
	switch {
	case b.held && !slices.Contains(all, b.ticket):
		return false, session.ErrSessionLost
	case len(all) == 0:
		return true, nil
	case all[0] != b.ticket:
		return false, b.outlast(ctx, all[0])
	case len(all) == 1:
		return true, b.give(ctx, b.closing()...)
	default:
		return false, b.line.AwaitWatch(ctx, all[len(all)-1])
	}
}

// outlast waits until the znode of the lowest client is gone. It gives up its own one when it watches that, unless it is gone already.
func (b *ReadyNode) outlast(ctx context.Context, lowest tickets.Ticket) error {
	gone, err := b.watch(ctx, b.line.Path(lowest))
	if err == nil && gone != nil {
		err = b.give(ctx)
	}
	if err != nil || gone == nil {
		return err
	}
	return b.session.Await(ctx, gone)
}

// sweep deletes the ready znode of a round that has no client left. It cannot belong to another round, as none begins
// without this client.
func (b *ReadyNode) sweep(ctx context.Context) error {
	_, _, err := b.session.Multi(ctx, b.closing()...)
	return session.Unless(zk.ErrNoNode, "delete "+b.ready(), err) // without ready, another client has done so
}

// closing returns the operations that end a round: without ready, the next one may begin, and the directory's version counts
// the rounds that are over.
func (b *ReadyNode) closing() []any {
	return []any{&zk.DeleteRequest{Path: b.ready(), Version: -1}, &zk.SetDataRequest{Path: b.group.Dir, Version: -1}}
}

// abandon leaves ready to the other clients, and deletes it if there are none.
func (b *ReadyNode) abandon(ctx context.Context) error {
	b.last = tickets.Ticket{}
	if !b.held {
		return nil
	}
	children, err := b.line.List(ctx)
	if err != nil {
		return err
	}
	if len(tickets.Sorted(children, marker)) == 1 && slices.Contains(children, readyName) {
		return b.give(ctx, b.closing()...)
	}
	return b.give(ctx)
}

func readyNodeVariant() variants.Variant {
	return variants.Variant{
		Name:    "ready-node",
		Kind:    variants.Optimized,
		Summary: "a znode says that all have entered; the lowest client waits for the highest, and all others for the lowest",
		BadAt:   "large groups: each client lists the whole directory three times in each round",
		Lockstep: variants.Cost{
			Requests: "(7N+1)/N (6 for N=1)", Writes: "(2N+1)/N", FailedWrites: "0",
			Notifications: "2 (1 for N=1)", HerdMax: "N",
		},
		Free: variants.Cost{Requests: "(10N-4)/N", Writes: "(2N+1)/N", FailedWrites: "0", Notifications: "(3N-2)/N", HerdMax: "N"},
		Join: join(NewReadyNode),
	}
}
