package doublebarrier

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// Counted is a double barrier in which a client counts the znodes in a directory by reading the directory's stat.
//
//  1. To enter, create an ephemeral, sequential znode in the directory.
//  2. Read the directory with a watch. Its stat has the number of its children and the number of changes to them. These
//     show whether the client's own znode is the newest, and whether all clients have entered.
//  3. If both are true, open the barrier with one multi: write the name of the client's own znode to the directory, if
//     the directory's version has not changed; create the ephemeral <dir>/anchor; delete the client's own znode. This
//     client is the closer of the round.
//  4. Otherwise wait for the watch. A write to the directory means that all clients have entered. A name that step 2
//     finds in the directory means the same, if its number is not below the number of the client's own znode.
//  5. To leave, the closer lists the directory, and waits until the highest znode of the round is gone. It repeats this
//     until no znode of the round is left. Then it closes the barrier with one multi: clear the directory's data; set
//     anchor, only for the event; delete anchor.
//  6. Each other client deletes its own znode, and reads anchor with a watch. If the watch fires for a write, all
//     clients have finished.
//  7. If the watch fires for the deletion of anchor, or anchor does not exist, read the directory. If it has no data,
//     all clients have finished. If it still holds the name, the closer is dead. Then wait until the lowest znode of
//     the round is gone, and read anchor again as in step 6. A client that finds no znode of the round left closes the
//     barrier.
//
// The type of the notification shows what happened, so that no read follows it, neither to enter nor to leave. A read
// of the directory returns a few bytes, but a list grows with the group.
//
// While the directory holds a name, a client that arrives waits. So a client that replaces a dead one does not enter a
// round that has begun. A notified client reads the directory again if it has withdrawn before, or if the directory had
// been used when it joined. In these cases the notification may belong to a round that began just before its znode was
// created.
//
// Cost of one round in lockstep, where the last client to enter is also the last to leave:
//
//	requests       N creates, N reads of the directory, 1 multi; to leave, N-1 deletes, N-1 reads of anchor, 1 list, 1
//	               multi  =  4N+1
//	writes         N creates, N-1 deletes, 2 multis  =  2N+1
//	notifications  N of the directory, one of them to the closer, and N-1 of anchor  =  2N-1
//
// In a closed run, a client may find no anchor in step 6, and then reads the directory. The closer is notified once for
// each other client if the highest znode is always the next to go. A client that finds the barrier open in step 2
// leaves its watch behind, which fires when the barrier is closed instead of when it is opened.
//
// Bound: to enter and to leave, any algorithm needs one write of the last client and one notification of all others. If a client is
// to be notified only when all have entered, the last one must first learn that it is the last, and then say so: two writes and a
// read, which is this variant's path to enter. Its path to leave has a list, a write and a notification if the closer is the last to
// leave. Otherwise a write and a notification come before, as the others notify the closer alone that they have finished.
//
// Source: ours: the recipe of the ZooKeeper recipes page, Double Barriers, with the directory's stat instead of lists.
type Counted struct {
	client
	careful bool // a notification may belong to a round that began before the client's znode was created
	tried   bool
	anchors bool  // the client is the round's closer
	opened  int32 // the directory's version after the closer opened the barrier
}

// NewCounted returns one client's view of a barrier.
func NewCounted(ctx context.Context, sess *session.Session, group Group) (*Counted, error) {
	b := &Counted{}
	if err := b.init(ctx, sess, group, b); err != nil {
		return b, err
	}
	s, err := b.look(ctx)
	if err == nil {
		b.careful = s.stat.Cversion != 0
		b.round.Store((int64(s.stat.Version) + 1) / 2)
	}
	return b, err
}

func (b *Counted) anchor() string { return path.Join(b.group.Dir, "anchor") }

// openPrefix begins the directory's data while the barrier is open. The name of the newest znode follows it.
const openPrefix = "open "

type state struct {
	open bool
	last tickets.Ticket // the newest ticket of the round, if the barrier is open
	stat *zk.Stat
}

func newState(data []byte, stat *zk.Stat) state {
	s := state{stat: stat}
	if name, found := strings.CutPrefix(string(data), openPrefix); found {
		s.last, s.open = tickets.Parse(name, marker)
	}
	return s
}

func (s state) began(t tickets.Ticket) bool { return s.open && !s.last.Before(t) }

// complete reports whether the ticket is the newest and all clients have entered. Cversion counts creations and
// deletions of children, so Cversion plus the number of children is twice the number of creations. Both sides wrap
// around alike.
func (s state) complete(t tickets.Ticket, size int) bool {
	return int(s.stat.NumChildren) >= size && s.stat.Cversion+s.stat.NumChildren == 2*(t.Seq+1)
}

func (b *Counted) look(ctx context.Context) (state, error) {
	data, stat, err := b.session.Get(ctx, b.group.Dir)
	return newState(data, stat), session.Attempted("read "+b.group.Dir, err)
}

func (b *Counted) enter(ctx context.Context) error {
	if err := b.take(ctx); err != nil {
		return err
	}
	for {
		data, stat, watch, err := b.session.GetW(ctx, b.group.Dir)
		if err != nil {
			return session.Attempted("read "+b.group.Dir, err)
		}
		b.round.Store(int64(stat.Version) / 2) // it grows when a round begins, and when it ends
		began, err := b.advance(ctx, newState(data, stat), watch)
		if err != nil {
			return err
		}
		if began {
			b.careful = false
			return nil
		}
	}
}

// advance acts on the directory's state, or waits for a change, and reports whether the client's round has begun. After
// an outage, a watch counts as fired without an event, and advance returns false.
func (b *Counted) advance(ctx context.Context, s state, changed *session.Watch) (began bool, err error) {
	switch {
	case s.began(b.ticket):
		return true, nil
	case s.open:
		return false, b.sitOut(ctx, s, changed)
	case s.complete(b.ticket, b.group.Size):
		err := b.open(ctx, s.stat.Version)
		return b.anchors, err
	default:
		event, err := b.session.AwaitEvent(ctx, changed)
		return event.Type == zk.EventNodeDataChanged && !b.careful, err
	}
}

// open opens the barrier and makes this client the closer, unless another client was faster.
func (b *Counted) open(ctx context.Context, version int32) error {
	b.tried = true
	results, _, err := b.session.Multi(ctx,
		&zk.SetDataRequest{Path: b.group.Dir, Data: []byte(openPrefix + b.ticket.Name), Version: version},
		&zk.CreateRequest{Path: b.anchor(), Flags: zk.FlagEphemeral},
		&zk.DeleteRequest{Path: b.line.Path(b.ticket), Version: -1})
	switch {
	case err == nil:
		b.anchors, b.held, b.opened = true, false, results[0].Stat.Version
		return nil
	case errors.Is(err, zk.ErrBadVersion):
		return b.recover(ctx)
	case errors.Is(err, zk.ErrNoNode):
		return session.ErrSessionLost
	default:
		return session.Attempted("open "+b.group.Dir, err)
	}
}

// recover finds out whether an opening with an unknown outcome took effect. If so, the directory holds the name of the
// client's own znode, which is unique by its GUID. The sync is needed because the server may lag behind.
func (b *Counted) recover(ctx context.Context) error {
	var s state
	err := b.session.Synced(ctx, b.group.Dir, func(c session.Conn) error {
		data, stat, err := c.Get(b.group.Dir)
		s = newState(data, stat)
		return err
	})
	if err == nil && s.open && s.last == b.ticket {
		b.anchors, b.held, b.opened = true, false, s.stat.Version
	}
	return session.Attempted("read "+b.group.Dir, err)
}

// sitOut waits for a change to a round that has begun without this client. If the closer is dead and no client of the
// round is left, it closes the barrier.
func (b *Counted) sitOut(ctx context.Context, s state, changed *session.Watch) error {
	end, err := b.watch(ctx, b.anchor())
	if err == nil && end == nil {
		var left []tickets.Ticket
		if left, err = b.left(ctx, s.last); err == nil && len(left) == 0 {
			return b.clear(ctx, s)
		}
		if err == nil {
			end, err = b.watch(ctx, b.line.Path(left[0]))
		}
	}
	if err != nil || end == nil {
		return err
	}
	return b.session.Await(ctx, end, changed)
}

func (b *Counted) left(ctx context.Context, last tickets.Ticket) ([]tickets.Ticket, error) {
	children, err := b.line.List(ctx)
	return upTo(last, tickets.Sorted(children, marker)), session.Attempted("list "+b.group.Dir, err)
}

// clear closes the barrier in place of a dead closer, unless another client has done so.
func (b *Counted) clear(ctx context.Context, s state) error {
	_, err := b.session.Set(ctx, b.group.Dir, nil, s.stat.Version)
	return session.Unless(zk.ErrBadVersion, "close "+b.group.Dir, err)
}

func (b *Counted) leave(ctx context.Context) error {
	if b.anchors {
		return b.close(ctx)
	}
	if err := b.give(ctx); err != nil {
		return err
	}
	for {
		if over, err := b.awaitAnchor(ctx); err != nil || over {
			return err
		}
		s, err := b.look(ctx)
		if err != nil || !s.open {
			return err
		}
		left, err := b.left(ctx, s.last)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return b.clear(ctx, s)
		}
		if err := b.line.AwaitWatch(ctx, left[0]); err != nil {
			return err
		}
	}
}

// awaitAnchor waits for a change to the znode anchor, and reports whether it was the write that ends the round. It
// returns false at once if there is no anchor. After an outage, a watch counts as fired without an event: anchor may still be there, with
// the closer alive.
func (b *Counted) awaitAnchor(ctx context.Context) (over bool, err error) {
	for {
		watch, err := b.watch(ctx, b.anchor())
		if err != nil || watch == nil {
			return false, err
		}
		event, err := b.session.AwaitEvent(ctx, watch)
		if err != nil || event.Type != 0 {
			return event.Type == zk.EventNodeDataChanged, err
		}
	}
}

func (b *Counted) close(ctx context.Context) error {
	for {
		left, err := b.left(ctx, b.ticket)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			break
		}
		if err := b.line.AwaitWatch(ctx, left[len(left)-1]); err != nil {
			return err
		}
	}
	err := b.end(ctx,
		&zk.SetDataRequest{Path: b.group.Dir, Version: b.opened},
		&zk.SetDataRequest{Path: b.anchor(), Version: -1},
		&zk.DeleteRequest{Path: b.anchor(), Version: -1})
	if err == nil {
		b.anchors, b.tried = false, false
	}
	return err
}

// abandon withdraws the client from the round. If the client has tried to open the barrier, the attempt may have taken
// effect although it failed.
func (b *Counted) abandon(ctx context.Context) error {
	b.careful = true
	if b.tried && !b.anchors {
		if err := b.recover(ctx); err != nil {
			return err
		}
	}
	b.tried = false
	if !b.anchors {
		return b.give(ctx)
	}
	err := b.session.Remove(ctx, b.anchor())
	b.anchors = err != nil
	return err
}

func countedVariant() variants.Variant {
	return variants.Variant{
		Name:     "counted",
		Kind:     variants.Optimized,
		Summary:  "the directory's stat shows the last client to enter, its data opens the barrier, and the znode anchor ends the round",
		BadAt:    "directories that hold other znodes: all children are counted",
		Lockstep: variants.Cost{Requests: "(4N+1)/N", Writes: "(2N+1)/N", FailedWrites: "0", Notifications: "(2N-1)/N", HerdMax: "N"},
		Free: variants.Cost{
			Requests: "(7N-2)/N", Writes: "(2N+1)/N", FailedWrites: "0",
			Notifications: "(3N-2)/N", HerdMax: "2(N-1) (1 for N=1)",
		},
		Join: join(NewCounted),
	}
}
