package doublebarrier

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// ChildrenWatch is the double barrier in which all clients watch the directory, to enter and to leave.
//
//  1. To enter, create an ephemeral, sequential znode in the directory.
//  2. List the directory with a watch. If there are N znodes, or if the directory's version has changed since the last
//     round, all have entered.
//  3. Otherwise wait for the watch, and go to 2.
//  4. To leave, delete the client's own znode, and write the number of the next round to the directory in the same multi,
//     which changes the directory's version.
//  5. List the directory with a watch. If it holds no znode whose number is within those that were there at the end of
//     step 2, all have finished.
//  6. Otherwise wait for the watch, and go to 5.
//
// The version in step 2 is for a client that is so slow that a fast one has left before it looks: it would find less
// than N znodes, and wait for ever. The numbers in step 5 are for one so slow that a fast one is back before it looks: it
// would take that one's znode for one of this round. Both come at no cost: the version is in the reply to the list.
//
// The list that finds that all have entered, or finished, leaves its watch behind, which later fires without use. To know
// the version, a client lists the directory once before its first round, so that its first round is like all others.
//
// Cost of one round in lockstep, where the clients come and then go one by one:
//
//	requests       N creates, N multis, 2N first lists, and a list for each notification that a client waits for, which
//	               are 0+1+…+(N-1) for the clients that come and as many for those that go  =  N(N+3)
//	writes         2N
//	notifications  N(N-1) that are waited for; and the N watches left by entering fire when the first client leaves, the
//	               N left by leaving when the first comes back  =  N(N+1)
//
// In closed mode a client is notified at most of each of the 2N changes. It lists once for each change by another
// client, and twice besides.
//
// A client that withdraws just as the last one comes, and enters again, cannot know whether the round has begun without
// it: withdrawing is safe only while a client is missing. The same holds for a client that dies and joins again: nothing
// in the directory shows whether the others are in a round or wait for its beginning. If they are in a round, the client
// finds N znodes with its own, and starts too early. From then on its rounds may differ from the others' rounds, which
// may start too early, too, or wait in vain for a client that has gone through a round more.
//
// Source: as written, but with the numbers of znodes and the directory's version to tell rounds apart: ZooKeeper tutorial, Barriers.
// The faults of the original: ZOOKEEPER-1011.
type ChildrenWatch struct {
	client
	version int32          // of the directory, when the last round was over
	adrift  bool           // the version is not known
	last    tickets.Ticket // of the round, once it has begun
}

// NewChildrenWatch returns one client's view of a barrier.
func NewChildrenWatch(ctx context.Context, s *session.Session, group Group) (*ChildrenWatch, error) {
	b := &ChildrenWatch{}
	err := b.init(ctx, s, group, b)
	if err == nil {
		err = b.orient(ctx)
	}
	if err == nil && b.version != 0 {
		err = b.join(ctx)
	}
	return b, err
}

// join finds the number of the client's next round, in a group that has been at work.
func (b *ChildrenWatch) join(ctx context.Context) error {
	data, _, err := b.session.Get(ctx, b.group.Dir)
	if err != nil {
		return fmt.Errorf("read %s: %w", b.group.Dir, err)
	}
	round, err := strconv.ParseInt(string(data), 10, 64)
	b.round.Store(round)
	return err
}

func (b *ChildrenWatch) orient(ctx context.Context) error {
	l, err := b.watchAll(ctx)
	b.version, b.adrift = l.version, err != nil
	return err
}

type listing struct {
	tickets []tickets.Ticket
	version int32
	watch   *session.Watch
}

func (b *ChildrenWatch) watchAll(ctx context.Context) (listing, error) {
	children, stat, watch, err := b.session.ChildrenW(ctx, b.group.Dir)
	if err != nil {
		return listing{}, fmt.Errorf("list %s: %w", b.group.Dir, err)
	}
	return listing{tickets.Sorted(children, marker), stat.Version, watch}, nil
}

// await lists the directory with a watch, waits for the watch, and begins anew, until done reports true or an error.
func (b *ChildrenWatch) await(ctx context.Context, done func(listing) (bool, error)) error {
	for {
		l, err := b.watchAll(ctx)
		if err != nil {
			return err
		}
		if over, err := done(l); err != nil || over {
			return err
		}
		if err := b.session.Await(ctx, l.watch); err != nil {
			return err
		}
	}
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
	return b.await(ctx, func(l listing) (entered bool, err error) {
		if !slices.Contains(l.tickets, b.ticket) {
			return false, session.ErrSessionLost
		}
		b.last = l.tickets[len(l.tickets)-1]
		return len(l.tickets) >= b.group.Size || l.version != b.version, nil
	})
}

func (b *ChildrenWatch) leave(ctx context.Context) error {
	over := strconv.FormatInt(b.round.Load()+1, 10)
	if err := b.give(ctx, &zk.SetDataRequest{Path: b.group.Dir, Data: []byte(over), Version: -1}); err != nil {
		return err
	}
	return b.await(ctx, func(l listing) (finished bool, err error) {
		b.version = l.version
		return len(upTo(b.last, l.tickets)) == 0, nil
	})
}

func (b *ChildrenWatch) abandon(ctx context.Context) error {
	b.adrift = true
	return b.give(ctx)
}

func childrenWatchVariant() variants.Variant {
	return variants.Variant{
		Name:    "children-watch",
		Kind:    variants.Naive,
		Summary: "all clients watch the directory, to enter and to leave",
		Forgoes: []variants.Loss{variants.OutOfStep, variants.Blocked},
		BadAt: "crowds: each client that comes or goes notifies all others, which list the whole directory; " +
			"and a client that withdraws just as the last one comes must not enter again before the round is over",
		Lockstep: variants.Cost{Requests: "N+3", Writes: "2", FailedWrites: "0", Notifications: "N+1", HerdMax: "N"},
		Free:     variants.Cost{Requests: "2N+2", Writes: "2", FailedWrites: "0", Notifications: "2N", HerdMax: "N"},
		Join:     join(NewChildrenWatch),
	}
}
