package queue

import (
	"context"
	"fmt"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// WakeAndScan is the queue whose consumers are notified of every change, and then walk through all items.
//
//  1. To put, create <dir>/item-, persistent and sequential.
//  2. When the watch has fired, list <dir>, set the watch again, and sort the list.
//  3. For each item of the list: does <dir>/locks/<item> exist? If so, continue with the next item.
//  4. Create <dir>/locks/<item>, ephemeral. If it exists by now, continue with the next item.
//  5. Read the item, process it, and delete it. The claim stays until the session ends. Continue with the next item.
//  6. At the end of the list, go to 2.
//
// The source differs in three ways. Its consumer walks in the watch's callback; here a take continues the walk until it has an
// item, and looks at the watch at the end of the list. The source's consumer needs a notification for its first walk, and has
// none of items that were there before it; here the first take lists at once, as its client has just put items. The source reads
// no data; the workload needs the item's data, and an item that turns out to be gone then is left out. The source would process
// it again: the list was old, and the claim has ended with the session of the client that had processed the item.
//
// Cost of a lockstep run, in which N clients put k = 10 items each, then take in turn, each holding its item until its
// next turn. Each client lists once, and its list lasts for all of its takes. At its first turn client i asks for i+1 claims.
// At each of the others it asks for the N-1 claims of the other clients since its last turn, and for one more:
//
//	exists         Σ (i+1) + N·N(k-1)  =  N(N+1)/2 + N²(k-1)
//	requests       those, 1 listing per client, and per item 1 put, 1 claim, 1 get and 1 delete
//	               per take: 4 + 1/k + ((N+1)/2 + N(k-1))/k  =  4.15 + 0.95N
//	notifications  the first delete notifies all N, and no client lists again: 1/k per take
//	herd           N from the first delete
//
// When clients loop freely, each put and each delete notify up to N clients. A client walks in vain only if another client's
// claim was faster. So there are at most N walks per take, each through a list of at most kN items, and each item costs each
// client at most one claim:
//
//	requests       at most 1 put + N listings + kN² exists + N claims + 1 get + 1 delete  =  10N² + 2N + 3
//	writes         at most 1 put, N claims and 1 delete, of which N-1 fail
//	notifications  at most 2N
//
// Items are taken in the order in which they were put. An item survives its taker's death: its claim ends with the
// session of the taker. But that does not change <dir>, so that no client is notified: the item waits for the next change
// of the queue, and remains there if there is none. If the taker had processed it, it is processed again.
//
// Source: as written, but walked by takes instead of the watch's callback, with a first walk before any notification, a read of each
// item, and the journal: kropponline, My 1st ZooKeeper Recipe: Distributed Queue with Locking.
type WakeAndScan struct {
	claiming
	list  []tickets.Ticket // the rest of the walk
	watch *session.Watch   // of the list; nil before the first walk
}

var _ takequeue.Notified = (*WakeAndScan)(nil)

// NewWakeAndScan returns one client's end of the queue below an existing znode dir.
func NewWakeAndScan(ctx context.Context, s *session.Session, dir string) (*WakeAndScan, error) {
	locks := path.Join(dir, "locks")
	q := &WakeAndScan{claiming: claiming{claim: claimsIn(locks)}}
	return q, q.Open(ctx, tickets.New(s, dir, marker), q, locks)
}

// TakeNext implements [takequeue.Strategy].
func (q *WakeAndScan) TakeNext(ctx context.Context) (*takequeue.Taken, error) {
	if err := q.wake(ctx); err != nil {
		return nil, err
	}
	item, err := takequeue.TryEach(ctx, &q.list, q.lock)
	if err == nil && item == nil && q.watch.Fired() {
		err = takequeue.ErrScanAgain
	}
	return item, err
}

// wake begins a walk if the last one is over and the queue has changed since it began.
func (q *WakeAndScan) wake(ctx context.Context) error {
	if len(q.list) > 0 || q.watch != nil && !q.watch.Fired() {
		return nil
	}
	children, watch, err := q.ListW(ctx)
	if err != nil {
		return fmt.Errorf("list %s: %w", q.Dir, err)
	}
	q.list, q.watch = tickets.Sorted(children, marker), watch
	return nil
}

// AwaitChange implements [takequeue.Notified].
func (q *WakeAndScan) AwaitChange(ctx context.Context) error { return q.Session.Await(ctx, q.watch) }

// GiveBack implements [takequeue.Strategy]: it deletes the claim, which notifies no other client. This client walks again.
func (q *WakeAndScan) GiveBack(ctx context.Context, t *takequeue.Taken) error {
	q.list = nil
	q.watch.Invalidate()
	return q.claiming.GiveBack(ctx, t)
}

func wakeAndScanVariant() variants.Variant {
	return variants.Variant{
		Name:    "wake-and-scan",
		Kind:    variants.Naive,
		Summary: "every change of the queue wakes all clients, and each asks for every item's claim",
		BadAt: "many clients and long queues: each client asks for the claim of every item; claims pile up until their " +
			"sessions end; and no client is notified of the item of one that died, which stays until the queue changes",
		Forgoes:  []variants.Loss{variants.ItemsLost, variants.ItemsDoubled},
		Lockstep: variants.Cost{Requests: "4.15 + 0.95N", Writes: "3", FailedWrites: "0", Notifications: "0.1", HerdMax: "N"},
		Free: variants.Cost{Requests: "10N²+2N+3 (5.1 for N=1)", Writes: "N+2", FailedWrites: "N-1",
			Notifications: "2N (0.1 for N=1)", HerdMax: "N"},
		Join: join(NewWakeAndScan),
	}
}
