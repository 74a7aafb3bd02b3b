package doublebarrier

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// ReadyNode is the double barrier that is opened by a znode, and left by the lowest process and the highest.
//
//  1. To enter, look for <dir>/ready with a watch. If it exists, a round is under way: wait until that is over.
//  2. Create an ephemeral, sequential znode in the directory.
//  3. List the directory. If at least N-1 znodes have lower numbers than the own one, create ready: all have entered.
//  4. Otherwise wait for the watch.
//  5. To leave, list the directory. The first time, take down the highest number: what comes later is of a later round.
//  6. If there is no znode of this round, all have finished.
//  7. If the own znode is the only one, delete it, and ready in the same multi: all have finished.
//  8. If the own znode is the lowest, read the highest with a watch, wait until it is gone, and go to 5.
//  9. Otherwise read the lowest with a watch, delete the own znode unless that has been done, wait until the lowest is
//     gone, and go to 5.
//
// As published, everybody creates ready who sees N znodes, nobody deletes it, and names say nothing about rounds. Here
// it is the one with the N-th ticket who creates it, which saves up to N-1 failed writes; and the last one to leave
// deletes it, so that nobody can be back before it is gone. The lowest is watched before the own znode is deleted, not
// after, when it may be gone already: otherwise the last to leave is notified or not as it happens. If the last one
// dies instead, whoever finds it without the znodes of its round deletes it. And a process that finds ready already in
// step 3 reads it, as its data is the N-th ticket: with a number above that, the own znode came too late for the round,
// as that of a process may that has just withdrawn.
//
// Cost of one round in steps, where the processes come and go in the order of their numbers:
//
//	requests       N looks for ready, N creates, N lists, 1 create of ready; to leave, the lowest lists, reads the
//	               highest, lists again, and sends the multi, and each other one lists, reads the lowest, deletes, and
//	               lists again: 4N  =  7N+1. Alone, the process finds out at once: 6
//	writes         N creates, 1 create of ready, N-1 deletes, 1 multi  =  2N+1
//	notifications  N of ready, one of them to its creator, 1 of the highest, N-1 of the lowest  =  2N, or 1 alone
//
// At its own pace, a process may find ready in step 3 and so read it, or find gone what it wants to watch. The lowest
// may be woken by each of the others, if the highest is always the next to leave.
//
// Source: ZooKeeper recipes page, Double Barriers.
type ReadyNode struct {
	member
	seen *outages
	last line.Ticket // of the round, once the process has begun to leave; no name before
}

var _ Barrier = (*ReadyNode)(nil)

// NewReadyNode returns one process's view of a barrier. lost is closed when its session is.
func NewReadyNode(session variants.Session, group Group, lost <-chan struct{}) *ReadyNode {
	b := &ReadyNode{seen: &outages{Session: session}}
	b.init(b.seen, group, lost, b)
	return b
}

// outages is a session that counts how often a create, a delete, or a list met a lost connection. A watch that was set before may
// then be one that never fires: when it reconnects, the client asks the server which of its watches have missed
// something since the last reply; but a request that is sent again at that moment may be answered first, and its reply
// hides what came before it.
type outages struct {
	variants.Session
	count int
}

// Create implements [variants.Session].
func (o *outages) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := o.Session.Create(path, data, flags, acl)
	o.note(err)
	return created, err
}

// Delete implements [variants.Session].
func (o *outages) Delete(path string, version int32) error {
	err := o.Session.Delete(path, version)
	o.note(err)
	return err
}

// Children implements [variants.Session].
func (o *outages) Children(path string) ([]string, *zk.Stat, error) {
	children, stat, err := o.Session.Children(path)
	o.note(err)
	return children, stat, err
}

func (o *outages) note(err error) {
	if variants.OutcomeUnknown(err) {
		o.count++
	}
}

// readyName is the znode that opens the barrier. It has no marker, and so is no ticket.
const readyName = "ready"

func (b *ReadyNode) ready() string { return path.Join(b.group.Dir, readyName) }

// errLate says that the own znode came too late for a round: all others had entered, and one that has gone since.
var errLate = errors.New("too late for the round")

func (b *ReadyNode) enter(ctx context.Context) error {
	for {
		before := b.seen.count
		exists, watch, err := b.lookForReady(ctx)
		if err != nil {
			return err
		}
		if exists {
			if err := b.sitOut(ctx); err != nil {
				return err
			}
			continue
		}
		err = b.enlist(ctx, func() (<-chan zk.Event, error) {
			if b.seen.count == before {
				return watch, nil
			}
			_, fresh, err := b.lookForReady(ctx)
			return fresh, err
		})
		if !errors.Is(err, errLate) {
			return err
		}
		if err := b.give(ctx); err != nil {
			return err
		}
	}
}

// enlist takes a ticket, and waits until all have, if it is not the last; watch then returns what to wait for.
func (b *ReadyNode) enlist(ctx context.Context, watch func() (<-chan zk.Event, error)) error {
	if err := b.take(ctx); err != nil {
		return err
	}
	children, err := b.line.List(ctx)
	if err != nil {
		return err
	}
	ahead := slices.Index(line.Sorted(children, marker), b.ticket)
	switch {
	case ahead < 0:
		return variants.ErrSessionLost
	case slices.Contains(children, readyName):
		return b.included(ctx)
	case ahead >= b.group.Size-1:
		return b.open(ctx)
	}
	ready, err := watch()
	if err != nil {
		return err
	}
	_, err = variants.AwaitEvent(ctx, b.lost, ready) // nothing but the creation of ready can have happened
	return err
}

func (b *ReadyNode) lookForReady(ctx context.Context) (exists bool, watch <-chan zk.Event, err error) {
	err = variants.Retry(ctx, b.lost, func() error {
		var err error
		exists, _, watch, err = b.session.ExistsW(b.ready())
		return err
	})
	if err != nil {
		return false, nil, fmt.Errorf("look for %s: %w", b.ready(), err)
	}
	return exists, watch, nil
}

// open creates ready. That it exists may be an attempt whose reply was lost, or somebody else's doing.
func (b *ReadyNode) open(ctx context.Context) error {
	err := variants.Retry(ctx, b.lost, func() error {
		_, err := b.session.Create(b.ready(), []byte(b.ticket.Name), 0, variants.WorldACL())
		return err
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNodeExists):
		return b.included(ctx)
	default:
		return fmt.Errorf("create %s: %w", b.ready(), err)
	}
}

// included tells whether the own znode was there when the round began: errLate if not, as when that round is over.
func (b *ReadyNode) included(ctx context.Context) error {
	var last line.Ticket
	err := variants.Retry(ctx, b.lost, func() error {
		data, _, err := b.session.Get(b.ready())
		last, _ = line.Parse(string(data), marker)
		return err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode), err == nil && last.Before(b.ticket):
		return errLate
	case err != nil:
		return fmt.Errorf("read %s: %w", b.ready(), err)
	default:
		return nil
	}
}

// sitOut waits for something to happen to a round that is under way without this process, and clears up after one of
// which nobody is left. If ready is gone by now, whoever stands in line waits for this process.
func (b *ReadyNode) sitOut(ctx context.Context) error {
	children, err := b.line.List(ctx)
	if err != nil || !slices.Contains(children, readyName) {
		return err
	}
	if tickets := line.Sorted(children, marker); len(tickets) > 0 {
		return b.line.AwaitChange(ctx, tickets[0])
	}
	return b.sweep(ctx)
}

func (b *ReadyNode) leave(ctx context.Context) error {
	for {
		children, err := b.line.List(ctx)
		if err != nil {
			return err
		}
		tickets := line.Sorted(children, marker)
		if b.last.Name == "" && len(tickets) > 0 {
			b.last = tickets[len(tickets)-1]
		}
		tickets = upTo(b.last, tickets)
		over, err := b.yield(ctx, tickets)
		if err != nil {
			return err
		}
		if over {
			b.last = line.Ticket{}
			if len(tickets) == 0 && slices.Contains(children, readyName) {
				return b.sweep(ctx)
			}
			return nil
		}
	}
}

// yield does what the tickets that are left of the round ask for, and tells whether it is over.
func (b *ReadyNode) yield(ctx context.Context, tickets []line.Ticket) (over bool, err error) {
	switch {
	case b.held && !slices.Contains(tickets, b.ticket):
		return false, variants.ErrSessionLost
	case len(tickets) == 0:
		return true, nil
	case tickets[0] != b.ticket:
		return false, b.giveBefore(ctx, tickets[0])
	case len(tickets) == 1:
		return true, b.give(ctx, &zk.DeleteRequest{Path: b.ready(), Version: -1})
	default:
		return false, b.line.AwaitChange(ctx, tickets[len(tickets)-1])
	}
}

// giveBefore deletes the own znode and waits until the lowest is gone.
func (b *ReadyNode) giveBefore(ctx context.Context, lowest line.Ticket) error {
	before := b.seen.count
	gone, err := b.watch(ctx, b.line.Path(lowest))
	if err != nil || gone == nil {
		return err
	}
	if err := b.give(ctx); err != nil {
		return err
	}
	if b.seen.count != before {
		return b.line.AwaitChange(ctx, lowest)
	}
	return variants.Await(ctx, b.lost, gone)
}

// sweep deletes what a last one that died has left behind. As this process takes part in no round meanwhile, it cannot be
// that of another one.
func (b *ReadyNode) sweep(ctx context.Context) error {
	err := variants.Retry(ctx, b.lost, func() error { return b.session.Delete(b.ready(), -1) })
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("delete %s: %w", b.ready(), err)
	}
	return nil
}

// abandon leaves ready to whoever is left, and deletes it if nobody is.
func (b *ReadyNode) abandon(ctx context.Context) error {
	b.last = line.Ticket{}
	if !b.held {
		return nil
	}
	children, err := b.line.List(ctx)
	if err != nil {
		return err
	}
	if len(line.Sorted(children, marker)) == 1 && slices.Contains(children, readyName) {
		return b.give(ctx, &zk.DeleteRequest{Path: b.ready(), Version: -1})
	}
	return b.give(ctx)
}

func readyNodeVariant() variants.Variant {
	return variants.Variant{
		Name:    "ready-node",
		Type:    "ReadyNode",
		Kind:    variants.Optimized,
		Summary: "a znode tells that all have entered; the lowest process waits for the highest, and all others for the lowest",
		Source:  "ZooKeeper recipes page, Double Barriers",
		BadAt:   "large groups: everybody lists the whole directory three times in each round",
		Lockstep: variants.Cost{
			Requests:      "(7N+1)/N (6 for N=1)",
			Writes:        "(2N+1)/N",
			FailedWrites:  "0",
			Notifications: "2 (1 for N=1)",
			HerdMax:       "N",
		},
		Free: variants.Cost{
			Requests:      "(10N-4)/N",
			Writes:        "(2N+1)/N",
			FailedWrites:  "0",
			Notifications: "(3N-2)/N",
			HerdMax:       "N",
		},
		Join: join(func(_ context.Context, s variants.Session, g Group, lost <-chan struct{}) (Barrier, error) {
			return NewReadyNode(s, g, lost), nil
		}),
	}
}
