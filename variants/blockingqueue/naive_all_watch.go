package blockingqueue

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// AllWatch is the queue in which every waiting consumer watches the directory of the items.
//
//  1. To put, create <dir>/items/<guid>-item-, sequential.
//  2. To take, list <dir>/items and set a watch on it. If there is no item, wait for the watch, then list again.
//  3. Read the first item of the listing. If it is gone, go on with the next.
//  4. Delete it. If it is gone, somebody else has taken it: go on with the next one in 3.
//  5. If none is left, go to 2: items may have come.
//
// A put or a delete travels in one multi with a write to the client's journal, so that one whose reply was lost is not
// done twice: a consumer that finds an item gone on its second attempt could not tell otherwise who took it. A multi is
// one request and one transaction.
//
// Cost of one item in a lockstep run, with m consumers waiting. The put wakes all of them; each lists, which arms its
// watch anew, and reads the item. They claim one after another: the first has it, and its delete fires the watches of
// all, its own included; the others each fail, with a quorum write, list again, find nothing and wait:
//
//	notifications  2m
//	requests       1 put + m listings + m reads + m deletes + m-1 listings  =  4m
//	writes         1 put + m deletes, of which m-1 fail
//	herd           m
//
// Over the N-1 items of a round m goes from N-1 down to 1, so that one take costs N notifications, 2N requests and
// 1 + N/2 writes on average. A client that is alone lists after it has put and is notified of its own delete only.
//
// Looping freely, a put and a delete notify up to N-1 each. A consumer reads and tries to delete each item at most once,
// and lists when it begins and at most once for each put and each delete: up to 4(N-1) + 2 requests. The producer's
// look at whether its last round has been taken (see worker) adds up to one request and one notification per round.
//
// Source: Robinson, Building a distributed concurrent queue with Apache ZooKeeper, Blocking reads.
type AllWatch struct {
	*client
	candidates []line.Ticket // what is left of the last listing
}

var _ Queue = (*AllWatch)(nil)

// NewAllWatch returns one client's view of a queue below an existing znode dir. lost is closed when the session is.
func NewAllWatch(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (*AllWatch, error) {
	c, err := open(ctx, session, dir, lost)
	if err != nil {
		return nil, err
	}
	return &AllWatch{client: c}, nil
}

// Peek implements [Consumer].
func (q *AllWatch) Peek(ctx context.Context) (Item, error) {
	return variants.Run(ctx, q.lane, q.peek, func(Item) {})
}

func (q *AllWatch) peek(ctx context.Context) (Item, error) {
	for {
		for len(q.candidates) > 0 {
			item, there, err := q.read(ctx, q.candidates[0])
			if err != nil || there {
				return item, err
			}
			q.candidates = q.candidates[1:]
		}
		watch, err := q.list(ctx)
		if err != nil {
			return Item{}, err
		}
		if len(q.candidates) > 0 {
			continue
		}
		if err := variants.Await(ctx, q.items.Lost, watch); err != nil {
			return Item{}, err
		}
	}
}

func (q *AllWatch) list(ctx context.Context) (<-chan zk.Event, error) {
	children, watch, err := q.items.ListW(ctx)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", q.items.Dir, err)
	}
	q.candidates = line.Sorted(children, itemMarker)
	return watch, nil
}

// Claim implements [Consumer].
func (q *AllWatch) Claim(ctx context.Context, item Item) (bool, error) {
	return q.settle(ctx, func(ctx context.Context) (bool, error) {
		taken, err := q.remove(ctx, q.items.Path(item.place))
		switch {
		case err != nil || taken:
			q.candidates = nil // the next take lists
		case len(q.candidates) > 0 && q.candidates[0] == item.place:
			q.candidates = q.candidates[1:]
		}
		return taken, err
	})
}

// Leave implements [Consumer]. Who only watches has nothing to give back.
func (q *AllWatch) Leave(context.Context) error { return nil }

func allWatchVariant() variants.Variant {
	const perRound = "1/(N-1)"
	return variants.Variant{
		Name:    "all-watch",
		Type:    "AllWatch",
		Kind:    variants.Naive,
		Summary: "every waiting consumer watches the items' directory",
		Source:  "Robinson, Building a distributed concurrent queue with Apache ZooKeeper, Blocking reads",
		BadAt:   "crowds of consumers: each item wakes all of them twice, and all but one make a quorum write in vain",
		Lockstep: variants.Cost{
			Requests:      "2N (4 for N=1)",
			Writes:        "1 + N/2 (2 for N=1)",
			FailedWrites:  "(N-2)/2 (0 for N=1)",
			Notifications: "N",
			HerdMax:       "N-1 (1 for N=1)",
		},
		Free: variants.Cost{
			Requests:      "4N-2 + " + perRound + " (4 for N=1)",
			Writes:        "N (2 for N=1)",
			FailedWrites:  "N-2 (0 for N=1)",
			Notifications: "2(N-1) + " + perRound + " (1 for N=1)",
			HerdMax:       "N",
		},
		Join: join(func(ctx context.Context, s variants.Session, env variants.Env) (Queue, error) {
			return NewAllWatch(ctx, s, env.Root, env.Lost)
		}),
	}
}
