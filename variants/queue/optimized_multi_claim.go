package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/items"
	"github.com/zkbench/zkbench/variants/line"
)

// MultiClaim is the queue in which an item is claimed while it is processed, and claims stand beside the items.
//
//  1. To put, create <dir>/item-, persistent and sequential.
//  2. To take, list <dir>: that shows the items and the claims. If all are claimed, there is nothing to take.
//  3. In one multi, create <dir>/<item>-claim, ephemeral, for the lowest item without one, and check that the item
//     exists. If either fails, somebody else was faster: go on with the next one; after the last, go to 2.
//  4. Read the item.
//  5. When it has been processed, delete the item and the claim in one multi.
//
// No claim is ever asked for, none is made on an item that is gone, and none outlives its item.
//
// Cost of an item that nobody else tries to take, as in a lockstep run: 1 put, 1 listing, 2 multis and 1 get, however many
// claims there are. The listing is O(items) bytes.
//
// Looping freely, a client that has failed to claim an item sees it claimed, or not at all, from then on; and it lists
// again only after such a failure, for there is always an item left that a client which has put one more than it has
// taken can claim:
//
//	requests  at most 1 put + N listings + N claims + 1 get + 1 removal
//	writes    at most N + 2, of which N-1 fail
//
// Items are taken in the order in which they were put. An item survives its taker's death.
//
// Source: kropponline, My 1st ZooKeeper Recipe, with the multi of ZooKeeper 3.4; kazoo's LockingQueue removes likewise.
type MultiClaim struct{ claiming }

var _ Queue = (*MultiClaim)(nil)

// claimSuffix is what the name of a claim has behind that of its item.
const claimSuffix = "-claim"

// NewMultiClaim returns one client's end of the queue below an existing znode dir. lost is closed when the session is.
func NewMultiClaim(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (*MultiClaim, error) {
	q := &MultiClaim{}
	q.claim = func(t line.Ticket) string { return q.Path(t) + claimSuffix }
	if err := q.Open(ctx, line.New(session, dir, marker, lost), q); err != nil {
		return nil, err
	}
	return q, nil
}

// TakeNext implements [items.Algorithm].
func (q *MultiClaim) TakeNext(ctx context.Context) (*items.Taken, error) {
	for {
		children, err := q.List(ctx)
		if err != nil {
			return nil, err
		}
		unclaimed := withoutClaimed(children)
		if len(unclaimed) == 0 {
			return nil, nil
		}
		for _, t := range unclaimed {
			_, err := q.Journal.Do(ctx, q.claimRequest(t), &zk.CheckVersionRequest{Path: q.Path(t), Version: -1})
			switch {
			case err == nil:
				return q.readClaimed(ctx, t)
			case !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode):
				return nil, fmt.Errorf("create %s: %w", q.claim(t), err)
			}
		}
	}
}

// withoutClaimed returns the items among the children that have no claim beside them, in their order.
func withoutClaimed(children []string) []line.Ticket {
	claimed := map[string]bool{}
	for _, name := range children {
		if item, ok := strings.CutSuffix(name, claimSuffix); ok {
			claimed[item] = true
		}
	}
	return slices.DeleteFunc(line.Sorted(children, marker), func(t line.Ticket) bool { return claimed[t.Name] })
}

// Finish implements [items.Algorithm].
func (q *MultiClaim) Finish(ctx context.Context, t *items.Taken) error {
	_, err := q.Journal.Do(ctx, &zk.DeleteRequest{Path: q.Path(t.Ticket), Version: -1}, q.unclaimRequest(t.Ticket))
	if err != nil {
		return fmt.Errorf("delete %s and its claim: %w", q.Path(t.Ticket), err)
	}
	return nil
}

func multiClaimVariant() variants.Variant {
	return variants.Variant{
		Name:    "multi-claim",
		Type:    "MultiClaim",
		Kind:    variants.Optimized,
		Summary: "one listing shows items and claims; multis claim and remove",
		Source:  "kropponline, My 1st ZooKeeper Recipe, with multi",
		BadAt:   "long queues, which are listed for every item, and short work: each item costs three quorum writes, not two",
		Lockstep: variants.Cost{
			Requests:      "5",
			Writes:        "3",
			FailedWrites:  "0",
			Notifications: "0",
			HerdMax:       "0",
		},
		Free: variants.Cost{
			Requests:      "2N+3",
			Writes:        "N+2",
			FailedWrites:  "N-1",
			Notifications: "0",
			HerdMax:       "0",
		},
		Join: join(func(ctx context.Context, s variants.Session, env variants.Env) (Queue, error) {
			return NewMultiClaim(ctx, s, env.Root, env.Lost)
		}),
	}
}
