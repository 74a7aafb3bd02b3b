package doublebarrier

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// Counted is the double barrier that counts the znodes of a directory by reading the directory itself.
//
//  1. To enter, create an ephemeral, sequential znode in the directory.
//  2. Read the directory with a watch. Its stat tells how many children it has, and how many it ever had: so a process
//     knows whether the own znode is the newest, and whether all have entered.
//  3. If both are so, open the barrier, with one multi: write the own znode's name into the directory, if its version is
//     still the same; create the ephemeral <dir>/anchor; delete the own znode. Who did this is the round's anchor.
//  4. Otherwise wait for the watch: what is written to the directory wakes everybody. A directory that holds a name
//     already, whose number is not below the own one, says the same.
//  5. To leave, the anchor lists the directory, and waits for the highest znode of the round to go until there is none.
//     Then it closes the barrier, with one multi: write nothing into the directory; write something to anchor; delete
//     anchor.
//  6. Each other process deletes its own znode, and reads anchor with a watch. The watch tells what happened: if anchor
//     was written to, all have finished.
//  7. If anchor was deleted instead, or is not there, read the directory: if it holds nothing, all have finished. If it
//     still holds the name, the anchor is dead. Then wait for the lowest znode of the round to go, and look again; who
//     finds none left closes the barrier.
//
// A notification that says what happened needs no read after it; a process that is woken to enter, or to leave, is done.
// And a read of the directory is one of some bytes, where a list is as long as the group is large.
//
// While the directory holds a name, whoever comes waits until it does not: so a process that takes the place of a dead
// one cannot stray into a round that is under way. One that comes after it withdrew, or to a directory that was in use,
// reads it again when it is woken, in case the barrier was opened just before its znode was there.
//
// Cost of one round in steps, where the last process to come is also the last to go:
//
//	requests       N creates, N reads of the directory, 1 multi; to leave, N-1 deletes, N-1 reads of anchor, 1 list, 1
//	               multi  =  4N+1
//	writes         N creates, N-1 deletes, 2 multis  =  2N+1
//	notifications  N of the directory, one of them to the anchor, and N-1 of anchor  =  2N-1
//
// At its own pace, a process may read anchor when it is gone, and so the directory; and the anchor may be woken by each
// of the others, if the highest is always the next to leave. Who finds the barrier open in step 2 leaves a watch behind,
// which fires when the barrier is closed instead of when it was opened.
//
// Source: the recipe of the ZooKeeper recipes page, Double Barriers, with the fewest requests that we could find.
type Counted struct {
	member
	careful bool  // it may have come too late for a round without noticing
	tried   bool  // it has tried to open the barrier
	anchors bool  // it is the round's anchor
	opened  int32 // by the anchor: the directory's version since
}

var _ Barrier = (*Counted)(nil)

// NewCounted returns one process's view of a barrier. lost is closed when its session is.
func NewCounted(ctx context.Context, session variants.Session, group Group, lost <-chan struct{}) (*Counted, error) {
	b := &Counted{}
	b.init(session, group, lost, b)
	s, err := b.look(ctx)
	b.careful = err == nil && s.stat.Cversion != 0
	return b, err
}

func (b *Counted) anchor() string { return path.Join(b.group.Dir, "anchor") }

// openPrefix begins what the directory holds while the barrier is open; the name of the newest znode follows.
const openPrefix = "open "

// state is the directory at one moment.
type state struct {
	open  bool
	last  line.Ticket // if it is open: the newest of the round
	stat  *zk.Stat
	watch <-chan zk.Event
}

// began tells whether a round began, and is not over, that a ticket belongs to.
func (s state) began(t line.Ticket) bool { return s.open && !s.last.Before(t) }

// complete tells that a ticket is the newest, and not alone. The server shows the sum of creations and deletions, so that
// with the children that are left it is twice the creations; numbers wrap alike.
func (s state) complete(t line.Ticket, size int) bool {
	return int(s.stat.NumChildren) >= size && s.stat.Cversion+s.stat.NumChildren == 2*(t.Seq+1)
}

func (b *Counted) look(ctx context.Context) (state, error) {
	return b.read(ctx, func() ([]byte, *zk.Stat, <-chan zk.Event, error) {
		data, stat, err := b.session.Get(b.group.Dir)
		return data, stat, nil, err
	})
}

func (b *Counted) lookW(ctx context.Context) (state, error) {
	return b.read(ctx, func() ([]byte, *zk.Stat, <-chan zk.Event, error) { return b.session.GetW(b.group.Dir) })
}

func (b *Counted) read(ctx context.Context, get func() ([]byte, *zk.Stat, <-chan zk.Event, error)) (state, error) {
	var s state
	err := variants.Retry(ctx, b.lost, func() error {
		data, stat, watch, err := get()
		if err == nil {
			s = state{stat: stat, watch: watch}
			if name, found := strings.CutPrefix(string(data), openPrefix); found {
				s.last, s.open = line.Parse(name, marker)
			}
		}
		return err
	})
	if err != nil {
		return s, fmt.Errorf("read %s: %w", b.group.Dir, err)
	}
	return s, nil
}

func (b *Counted) enter(ctx context.Context) error {
	if err := b.take(ctx); err != nil {
		return err
	}
	for {
		s, err := b.lookW(ctx)
		if err != nil {
			return err
		}
		switch {
		case s.began(b.ticket):
			b.careful = false
			return nil
		case s.open:
			err = b.sitOut(ctx, s)
		case s.complete(b.ticket, b.group.Size):
			if err = b.open(ctx, s.stat.Version); b.anchors {
				b.careful = false
				return err
			}
		default:
			if _, err = variants.AwaitEvent(ctx, b.lost, s.watch); err == nil && !b.careful {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// open makes this process the anchor, unless somebody else was faster.
func (b *Counted) open(ctx context.Context, version int32) error {
	b.tried = true
	var results []zk.MultiResponse
	err := variants.Retry(ctx, b.lost, func() error {
		var err error
		results, err = b.session.Multi(
			&zk.SetDataRequest{Path: b.group.Dir, Data: []byte(openPrefix + b.ticket.Name), Version: version},
			&zk.CreateRequest{Path: b.anchor(), Acl: variants.WorldACL(), Flags: zk.FlagEphemeral},
			&zk.DeleteRequest{Path: b.line.Path(b.ticket), Version: -1})
		return err
	})
	switch {
	case err == nil:
		b.anchors, b.held, b.opened = true, false, results[0].Stat.Version
		return nil
	case errors.Is(err, zk.ErrBadVersion):
		return b.recover(ctx)
	case errors.Is(err, zk.ErrNoNode):
		return variants.ErrSessionLost
	default:
		return fmt.Errorf("open %s: %w", b.group.Dir, err)
	}
}

// recover finds out whether an opening whose outcome is unknown took effect. The name in the directory tells, as it has a
// GUID. The sync is for a server that lags behind.
func (b *Counted) recover(ctx context.Context) error {
	if err := variants.Retry(ctx, b.lost, func() error { _, err := b.session.Sync(b.group.Dir); return err }); err != nil {
		return err
	}
	s, err := b.look(ctx)
	if err == nil && s.open && s.last == b.ticket {
		b.anchors, b.held, b.opened = true, false, s.stat.Version
	}
	return err
}

// sitOut waits for something to happen to a round that is under way without this process, and clears up after one of
// which nobody is left.
func (b *Counted) sitOut(ctx context.Context, s state) error {
	end, err := b.watch(ctx, b.anchor())
	if err == nil && end == nil {
		var left []line.Ticket
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
	return variants.AwaitAny(ctx, b.lost, end, s.watch)
}

// left lists the tickets that are left of the round with this last one.
func (b *Counted) left(ctx context.Context, last line.Ticket) ([]line.Ticket, error) {
	children, err := b.line.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", b.group.Dir, err)
	}
	return upTo(last, line.Sorted(children, marker)), nil
}

// clear closes the barrier after a dead anchor, unless somebody else has.
func (b *Counted) clear(ctx context.Context, s state) error {
	err := variants.Retry(ctx, b.lost, func() error {
		_, err := b.session.Set(b.group.Dir, nil, s.stat.Version)
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrBadVersion) {
		return fmt.Errorf("close %s: %w", b.group.Dir, err)
	}
	return nil
}

func (b *Counted) leave(ctx context.Context) error {
	if b.anchors {
		return b.end(ctx)
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
		if err := b.line.AwaitChange(ctx, left[0]); err != nil {
			return err
		}
	}
}

// awaitAnchor waits for what becomes of the anchor, and tells whether that is the end of the round.
func (b *Counted) awaitAnchor(ctx context.Context) (over bool, err error) {
	watch, err := b.watch(ctx, b.anchor())
	if err != nil || watch == nil {
		return false, err
	}
	event, err := variants.AwaitEvent(ctx, b.lost, watch)
	return event.Type == zk.EventNodeDataChanged, err
}

// end waits for all others, and closes the barrier.
func (b *Counted) end(ctx context.Context) error {
	for {
		left, err := b.left(ctx, b.ticket)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			break
		}
		if err := b.line.AwaitChange(ctx, left[len(left)-1]); err != nil {
			return err
		}
	}
	err := b.once(ctx, func() error {
		_, err := b.session.Multi(
			&zk.SetDataRequest{Path: b.group.Dir, Version: b.opened},
			&zk.SetDataRequest{Path: b.anchor(), Version: -1},
			&zk.DeleteRequest{Path: b.anchor(), Version: -1})
		return err
	})
	if err != nil {
		return fmt.Errorf("close %s: %w", b.group.Dir, err)
	}
	b.anchors, b.tried = false, false
	return nil
}

// abandon leaves the round to whoever is left. An opening that was tried may have taken effect after all.
func (b *Counted) abandon(ctx context.Context) error {
	b.careful = true
	if b.tried && !b.anchors {
		if err := b.recover(ctx); err != nil {
			return err
		}
	}
	if !b.anchors {
		b.tried = false
		return b.give(ctx)
	}
	if err := variants.Remove(ctx, b.session, b.lost, b.anchor()); err != nil {
		return err
	}
	b.anchors, b.tried = false, false
	return nil
}

func countedVariant() variants.Variant {
	return variants.Variant{
		Name:    "counted",
		Type:    "Counted",
		Kind:    variants.Optimized,
		Summary: "the directory's stat tells who is the last to come, its data that all have; an anchor tells of the end",
		Source:  "the recipe of the ZooKeeper recipes page, Double Barriers, with the directory's stat instead of lists",
		BadAt:   "directories that hold anything else: whatever is in it is counted",
		Lockstep: variants.Cost{
			Requests:      "(4N+1)/N",
			Writes:        "(2N+1)/N",
			FailedWrites:  "0",
			Notifications: "(2N-1)/N",
			HerdMax:       "N",
		},
		Free: variants.Cost{
			Requests:      "(7N-2)/N",
			Writes:        "(2N+1)/N",
			FailedWrites:  "0",
			Notifications: "(3N-2)/N",
			HerdMax:       "2(N-1) (1 for N=1)",
		},
		Join: join(func(ctx context.Context, s variants.Session, g Group, lost <-chan struct{}) (Barrier, error) {
			return NewCounted(ctx, s, g, lost)
		}),
	}
}
