package queue

import (
	"context"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// LockAndClaim is the queue in which an item is locked while it is processed, and a client asks for each lock first.
//
//  1. To put, create <dir>/item-, persistent and sequential.
//  2. To take, list <dir> and set a watch on it.
//  3. For each item, the lowest first: does <dir>/claims/<item> exist? If so, continue with the next item.
//  4. Create <dir>/claims/<item>, ephemeral. If it exists by now, continue with the next item.
//  5. Read the item. If it is gone, the list was out of date: delete the claim, and continue with the next item.
//  6. When it has been processed, delete the item, then the claim.
//
// The source lacks step 5 and the deletion of the claim in step 6: it would process an item again whose claim ended with
// its owner's session. Nor does it list for each item: its consumer runs in the watch's callback and walks through the whole list,
// which is [WakeAndScan]. A take that never waits does not need the watch but pays for it: every put and every removal notifies
// each client that has listed since the last one.
//
// Cost of a lockstep run, in which N clients put k = 10 items each, then take in turn, each holding its item until its
// next turn. At take t = 0 … Nk-1, the first min(t, N-1) of the listed items are claimed by the other clients:
//
//	exists         Σ (min(t, N-1) + 1)  =  N(N+1)/2 + N²(k-1)
//	requests       those, and per item 1 put, 1 listing, 1 claim, 1 get and 2 deletes
//	               per take: 6 + ((N+1)/2 + N(k-1))/k  =  6.05 + 0.95N
//	notifications  the first removal notifies all N, since each has listed; each later one notifies only the client that
//	               has listed since, and the last N-1 notify none: N + (Nk-N), or 1 per take
//	herd           N from the first removal
//
// When clients loop freely, a put and a removal notify up to N clients each. A client scans in vain, and lists again, only
// if another client's claim was faster. So there are at most N scans per take, each with an exists for up to N-1 claimed
// items and the one it takes, and each item costs any other client up to 2 exists, and a claim, a get and a delete if it
// is gone:
//
//	requests       at most 1 + N + N² + 2(N-1) + 4 + 3(N-1)  =  N² + 6N
//	writes         at most 1 put, 3 by its taker, 2 by each other client  =  2N + 2, of which N-1 fail
//	notifications  at most 2N
//
// Items are taken in the order in which they were put. An item survives its taker's death: it can
// be claimed again when the taker's session has ended. If the taker had processed it, it is processed again.
//
// Source: as written, but with a listing for each take instead of each notification, a read of each item, the deletion of the
// claim, and the journal: kropponline, My 1st ZooKeeper Recipe: Distributed Queue with Locking.
type LockAndClaim struct{ claiming }

// NewLockAndClaim returns one client's end of the queue below an existing znode dir.
func NewLockAndClaim(ctx context.Context, s *session.Session, dir string) (*LockAndClaim, error) {
	claims := path.Join(dir, "claims")
	q := &LockAndClaim{claiming{claim: claimsIn(claims)}}
	return q, q.Open(ctx, tickets.New(s, dir, marker), q, claims)
}

// TakeNext implements [takequeue.Strategy].
func (q *LockAndClaim) TakeNext(ctx context.Context) (*takequeue.Taken, error) {
	children, _, err := q.ListW(ctx)
	if err != nil {
		return nil, err
	}
	list := tickets.Sorted(children, marker)
	return takequeue.TryEach(ctx, &list, q.lock)
}

// Finish implements [takequeue.Strategy].
func (q *LockAndClaim) Finish(ctx context.Context, t *takequeue.Taken) error {
	if err := q.claiming.Finish(ctx, t); err != nil {
		return err
	}
	ctx, cancel := session.Cleanup(ctx)
	defer cancel()
	return q.GiveBack(ctx, t)
}

func lockAndClaimVariant() variants.Variant {
	return variants.Variant{
		Name:     "lock-and-claim",
		Kind:     variants.Naive,
		Summary:  "every take watches and lists the queue, and asks for each item's claim",
		BadAt:    "many clients: each asks for the claims of all others, one after another, and each put and removal notifies all of them",
		Forgoes:  []variants.Loss{variants.ItemsDoubled},
		Lockstep: variants.Cost{Requests: "6.05 + 0.95N", Writes: "4", FailedWrites: "0", Notifications: "1", HerdMax: "N"},
		Free:     variants.Cost{Requests: "N²+6N", Writes: "2N+2", FailedWrites: "N-1", Notifications: "2N (1 for N=1)", HerdMax: "N"},
		Join:     join(NewLockAndClaim),
	}
}
