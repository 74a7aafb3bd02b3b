package queue

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/items"
	"github.com/zkbench/zkbench/variants/line"
)

// LockAndClaim is the queue in which an item is locked while it is processed, and each lock is looked for first.
//
//  1. To put, create <dir>/item-, persistent and sequential.
//  2. To take, list <dir> and set a watch on it.
//  3. For each item, the lowest first: does <dir>/claims/<item> exist? If so, go on with the next item.
//  4. Create <dir>/claims/<item>, ephemeral. If it exists by now, go on with the next item.
//  5. Read the item. If it is gone, the list was out of date: delete the claim, and go on with the next item.
//  6. When it has been processed, delete the item, then the claim.
//
// Step 5, and deleting the claim in step 6, are not in the source, which would process an item again whose claim went
// with its owner's session. The watch is: its consumer lives in the callback. A take that never waits has no use for it,
// but pays: every put and every removal tells each client that has listed since the last one.
//
// Cost of a lockstep run, in which N clients put k = 10 items each, then take in turn, each holding its item until its
// next turn. At take t = 0 … Nk-1, the first min(t, N-1) of the listed items are claimed by the others:
//
//	exists         Σ (min(t, N-1) + 1)  =  N(N+1)/2 + N²(k-1)
//	requests       those, and per item 1 put, 1 listing, 1 claim, 1 get and 2 deletes
//	               per take: 6 + ((N+1)/2 + N(k-1))/k  =  6.05 + 0.95N
//	notifications  the first removal tells all N, for each has listed; each later one only the client that has listed
//	               since, as long as there are takes; the last N-1 nobody: N + (Nk-N), or 1 per take
//	herd           N from the first removal
//
// Looping freely, a put and a removal tell up to N clients each. A scan in vain, which lets the client list again, was
// overtaken by somebody else's claim: so there are at most N scans per take, each with an exists for up to N-1 claimed
// items and the one it takes, and each item costs any other client up to 2 exists, and a claim, a get and a delete for
// one that is gone:
//
//	requests       at most 1 + N + N² + 2(N-1) + 4 + 3(N-1)  =  N² + 6N
//	writes         at most 1 put, 3 by its taker, 2 by each other client  =  2N + 2, of which N-1 fail
//	notifications  at most 2N
//
// Items are taken in the order in which they were put. An item survives its taker's death.
//
// Source: kropponline, My 1st ZooKeeper Recipe: Distributed Queue with Locking.
type LockAndClaim struct{ claiming }

var _ Queue = (*LockAndClaim)(nil)

// NewLockAndClaim returns one client's end of the queue below an existing znode dir. lost is closed when the session is.
func NewLockAndClaim(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (*LockAndClaim, error) {
	q := &LockAndClaim{}
	if err := q.Open(ctx, line.New(session, dir, marker, lost), q); err != nil {
		return nil, err
	}
	claims := path.Join(q.Dir, "claims")
	q.claim = func(t line.Ticket) string { return path.Join(claims, t.Name) }
	if err := variants.Ensure(ctx, session, lost, claims, 0); err != nil {
		return nil, err
	}
	return q, nil
}

// TakeNext implements [items.Algorithm].
func (q *LockAndClaim) TakeNext(ctx context.Context) (*items.Taken, error) {
	children, _, err := q.ListW(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range line.Sorted(children, marker) {
		if item, err := q.lock(ctx, t); err != nil || item != nil {
			return item, err
		}
	}
	return nil, nil
}

// lock takes one item, or returns nil if somebody else has it.
func (q *LockAndClaim) lock(ctx context.Context, t line.Ticket) (*items.Taken, error) {
	var claimed bool
	err := variants.Retry(ctx, q.Lost, func() error {
		var err error
		claimed, _, err = q.Session.Exists(q.claim(t))
		return err
	})
	if err != nil || claimed {
		return nil, err
	}
	_, err = q.Journal.Do(ctx, q.claimRequest(t))
	switch {
	case err == nil:
		return q.readClaimed(ctx, t)
	case errors.Is(err, zk.ErrNodeExists):
		return nil, nil
	default:
		return nil, fmt.Errorf("create %s: %w", q.claim(t), err)
	}
}

// Finish implements [items.Algorithm].
func (q *LockAndClaim) Finish(ctx context.Context, t *items.Taken) error {
	if _, err := q.Journal.Do(ctx, &zk.DeleteRequest{Path: q.Path(t.Ticket), Version: -1}); err != nil {
		return fmt.Errorf("delete %s: %w", q.Path(t.Ticket), err)
	}
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	return q.GiveBack(ctx, t)
}

func lockAndClaimVariant() variants.Variant {
	return variants.Variant{
		Name:    "lock-and-claim",
		Type:    "LockAndClaim",
		Kind:    variants.Naive,
		Summary: "every take watches and lists the queue, and asks for each item's claim",
		Source:  "kropponline, My 1st ZooKeeper Recipe: Distributed Queue with Locking",
		BadAt:   "crowds: each client asks for the claims of all others, one by one, and each put and removal tells them all",
		Lockstep: variants.Cost{
			Requests:      "6.05 + 0.95N",
			Writes:        "4",
			FailedWrites:  "0",
			Notifications: "1",
			HerdMax:       "N",
		},
		Free: variants.Cost{
			Requests:      "N²+6N",
			Writes:        "2N+2",
			FailedWrites:  "N-1",
			Notifications: "2N (1 for N=1)",
			HerdMax:       "N",
		},
		Join: join(func(ctx context.Context, s variants.Session, env variants.Env) (Queue, error) {
			return NewLockAndClaim(ctx, s, env.Root, env.Lost)
		}),
	}
}
