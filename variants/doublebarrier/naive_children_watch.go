package doublebarrier

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// ChildrenWatch is the double barrier in which everybody watches the directory, to enter and to leave.
//
//  1. To enter, create an ephemeral, sequential znode in the directory.
//  2. List the directory with a watch. If there are N znodes, or if the directory's version has changed since the last
//     round, all have entered.
//  3. Otherwise wait for the watch, and go to 2.
//  4. To leave, delete the own znode, and set the directory's data in the same multi, which changes its version.
//  5. List the directory with a watch. If it has no znode any more whose number is within those that were there at the
//     end of step 2, all have finished.
//  6. Otherwise wait for the watch, and go to 5.
//
// The version in step 2 is for a process that is so slow that a fast one has left before it looks: it would find less
// than N znodes, and wait for ever. The numbers in step 5 are for one so slow that a fast one is back before it looks: it
// would take that one's znode for one of this round. Both come at no cost: the version is in the reply to the list.
//
// The list that finds that all have entered, or finished, leaves its watch behind, which fires for nothing. To know the
// version, a process lists the directory once before its first round, so that its first round is like all others.
//
// Cost of one round in steps, where the processes come and then go one by one:
//
//	requests       N creates, N multis, 2N first lists, and a list for each notification that somebody waits for, which
//	               are 0+1+…+(N-1) of those who come and as many of those who go  =  N(N+3)
//	writes         2N
//	notifications  N(N-1) that are waited for; and the N watches left by entering fire when the first process leaves, the
//	               N left by leaving when the first comes back  =  N(N+1)
//
// At its own pace a process is woken at most by each of the 2N changes, and lists once for each that somebody else made
// and twice besides.
//
// A process that withdraws at the very moment at which the last one comes, and enters again, cannot tell whether the
// round has begun without it: so withdrawing is safe only while somebody is missing.
//
// Source: ZooKeeper tutorial, Barriers; its faults: ZOOKEEPER-1011.
type ChildrenWatch struct {
	member
	version int32       // of the directory, when the last round was over; or
	adrift  bool        // it is not known
	last    line.Ticket // of the round, once it has begun
}

var _ Barrier = (*ChildrenWatch)(nil)

// NewChildrenWatch returns one process's view of a barrier. lost is closed when its session is.
func NewChildrenWatch(ctx context.Context, session variants.Session, group Group, lost <-chan struct{}) (*ChildrenWatch, error) {
	b := &ChildrenWatch{}
	b.init(session, group, lost, b)
	return b, b.orient(ctx)
}

// orient learns the directory's version.
func (b *ChildrenWatch) orient(ctx context.Context) error {
	l, err := b.list(ctx)
	b.version, b.adrift = l.version, err != nil
	return err
}

// listing is the directory at one moment.
type listing struct {
	tickets []line.Ticket
	version int32
	watch   <-chan zk.Event
}

func (b *ChildrenWatch) list(ctx context.Context) (listing, error) {
	var l listing
	err := variants.Retry(ctx, b.lost, func() error {
		children, stat, watch, err := b.session.ChildrenW(b.group.Dir)
		if err == nil {
			l = listing{line.Sorted(children, marker), stat.Version, watch}
		}
		return err
	})
	if err != nil {
		return l, fmt.Errorf("list %s: %w", b.group.Dir, err)
	}
	return l, nil
}

func (b *ChildrenWatch) enter(ctx context.Context) error {
	if b.adrift {
		if err := b.orient(ctx); err != nil {
			return err
		}
	}
	if err := b.take(ctx); err != nil {
		return err
	}
	for {
		l, err := b.list(ctx)
		switch {
		case err != nil:
			return err
		case !slices.Contains(l.tickets, b.ticket):
			return variants.ErrSessionLost
		case len(l.tickets) >= b.group.Size || l.version != b.version:
			b.last = l.tickets[len(l.tickets)-1]
			return nil
		}
		if err := variants.Await(ctx, b.lost, l.watch); err != nil {
			return err
		}
	}
}

func (b *ChildrenWatch) leave(ctx context.Context) error {
	if err := b.give(ctx, &zk.SetDataRequest{Path: b.group.Dir, Version: -1}); err != nil {
		return err
	}
	for {
		l, err := b.list(ctx)
		if err != nil {
			return err
		}
		if len(upTo(b.last, l.tickets)) == 0 {
			b.version = l.version
			return nil
		}
		if err := variants.Await(ctx, b.lost, l.watch); err != nil {
			return err
		}
	}
}

func (b *ChildrenWatch) abandon(ctx context.Context) error {
	b.adrift = true
	return b.give(ctx)
}

func childrenWatchVariant() variants.Variant {
	return variants.Variant{
		Name:    "children-watch",
		Type:    "ChildrenWatch",
		Kind:    variants.Naive,
		Summary: "everybody watches the directory, to enter and to leave",
		Source:  "ZooKeeper tutorial, Barriers",
		BadAt:   "crowds: whoever comes or goes wakes everybody else, who lists the whole directory; and whoever withdraws just as the last one comes must not enter again before the round is over",
		Lockstep: variants.Cost{
			Requests:      "N+3",
			Writes:        "2",
			FailedWrites:  "0",
			Notifications: "N+1",
			HerdMax:       "N",
		},
		Free: variants.Cost{
			Requests:      "2N+2",
			Writes:        "2",
			FailedWrites:  "0",
			Notifications: "2N",
			HerdMax:       "N",
		},
		Join: join(func(ctx context.Context, s variants.Session, g Group, lost <-chan struct{}) (Barrier, error) {
			return NewChildrenWatch(ctx, s, g, lost)
		}),
	}
}
