package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// MultiClaim is the queue in which an item is claimed while it is processed, and claims stand beside the items.
//
//  1. To put, create <dir>/item-, persistent and sequential.
//  2. To take, list <dir>, which shows the items and the claims. If all items are claimed, there is nothing to take.
//  3. In one multi, create <dir>/<item>-claim, ephemeral, for the lowest item without one, and check that the item
//     exists. If either fails, another client was faster: continue with the next one; after the last, go to 2.
//  4. Read the item.
//  5. When it has been processed, delete the item and the claim in one multi.
//
// No client asks for a claim, no claim is made on an item that is gone, and none outlives its item.
//
// Cost of an item that no other client tries to take, as in a lockstep run: 1 put, 1 listing, 2 multis and 1 get, for any
// number of claims. The listing has O(items) bytes.
//
// When clients loop freely, a client that has failed to claim an item sees it claimed, or not at all, from then on. It lists
// again only after such a failure, because a client that has put one item more than it has taken always finds one to
// claim:
//
//	requests  at most 1 put + N listings + N claims + 1 get + 1 removal
//	writes    at most N + 2, of which N-1 fail
//
// Items are taken in the order in which they were put. An item survives its taker's death: it can
// be claimed again when the taker's session has ended. If the taker had processed it, it is processed again.
//
// Bound: to survive its taker, an item needs two quorum writes: one in the take, which others see as long as the taker lives, and
// one in the phase done, which removes it. The take needs a read before its write, which shows the client an item that it may not
// have put. On this variant's path lie one write in each phase and two reads in the take: the listing shows the claims and no data,
// so that the get lies between.
//
// Source: ours: derived from kropponline, My 1st ZooKeeper Recipe, with the multi of ZooKeeper 3.4; kazoo's LockingQueue removes
// likewise.
type MultiClaim struct{ claiming }

// claimSuffix follows the name of an item in the name of its claim.
const claimSuffix = "-claim"

// NewMultiClaim returns one client's end of the queue below an existing znode dir.
func NewMultiClaim(ctx context.Context, s *session.Session, dir string) (*MultiClaim, error) {
	q := &MultiClaim{}
	q.claim = func(t tickets.Ticket) string { return q.Path(t) + claimSuffix }
	return q, q.Open(ctx, tickets.New(s, dir, marker), q)
}

// TakeNext implements [takequeue.Strategy].
func (q *MultiClaim) TakeNext(ctx context.Context) (*takequeue.Taken, error) {
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
	return nil, takequeue.ErrScanAgain
}

func withoutClaimed(children []string) []tickets.Ticket {
	claimed := map[string]bool{}
	for _, name := range children {
		if item, ok := strings.CutSuffix(name, claimSuffix); ok {
			claimed[item] = true
		}
	}
	return slices.DeleteFunc(tickets.Sorted(children, marker), func(t tickets.Ticket) bool { return claimed[t.Name] })
}

// Finish implements [takequeue.Strategy].
func (q *MultiClaim) Finish(ctx context.Context, t *takequeue.Taken) error {
	_, err := q.Journal.Do(ctx, &zk.DeleteRequest{Path: q.Path(t.Ticket), Version: -1}, q.unclaimRequest(t.Ticket))
	return session.Attempted("delete "+q.Path(t.Ticket)+" and its claim", err)
}

func multiClaimVariant() variants.Variant {
	return variants.Variant{
		Name:    "multi-claim",
		Kind:    variants.Naive,
		Summary: "one listing shows items and claims; multis claim and remove",
		BadAt: "long queues, which are listed for every item; short work: each item costs three quorum writes instead of two; " +
			"and many clients: all race for the same item, so that requests and failed writes of a take grow with their number",
		Forgoes:  []variants.Loss{variants.ItemsDoubled},
		Lockstep: variants.Cost{Requests: "5", Writes: "3", FailedWrites: "0", Notifications: "0", HerdMax: "0"},
		Free:     variants.Cost{Requests: "2N+3", Writes: "N+2", FailedWrites: "N-1", Notifications: "0", HerdMax: "0"},
		Join:     join(NewMultiClaim),
	}
}
