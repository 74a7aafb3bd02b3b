package priorityqueue

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// InvalidatedList is the priority queue in which a list is valid only until anything in the queue changes.
//
//  1. To put, create <dir>/queue-<priority>-, persistent and sequential, with a priority of two digits.
//  2. To take, if the list is empty or its watch has fired, list <dir> and set a watch on it, the lowest priority first
//     and then the lowest sequence number. If there is no item, there is nothing to take.
//  3. Read the first item of the list. If it is gone, drop it from the list and go to 2.
//  4. If the watch has fired, go to 2. Else delete the item. If it is gone, another client was faster: go to 2.
//
// A client receives notifications and replies in one order. So a watch that has not fired when the reply to step 3 arrives
// proves that the list was still right when the client's server sent that reply. After an outage the watch counts as fired,
// see [session.Watch].
//
// Cost of a take without interference, as in a lockstep run: 1 create, 1 listing, 1 get, 1 delete, and 1 notification of
// the client's own delete. No other client has a watch armed, because each client's last take has fired its watch:
//
//	requests       4
//	notifications  1
//	herd           1
//
// So no list outlives the take that it was made for. The watch does not save the next listing; it saves a delete that
// would pass over an item that has just been put. When clients loop freely, each put notifies up to N-1 clients, each
// delete up to N, and each of these lists again. Over all clients an item costs one take, N-1 attempts that find it gone,
// and for its put and its delete 2(N-1) attempts that end in step 4:
//
//	attempts       at most 1 + (N-1) + 2(N-1)  =  3N-2, each with at most a listing and a get
//	requests       at most 1 put + 2(3N-2) + N deletes  =  7N-3
//	writes         at most 1 + N, of which N-1 fail
//	notifications  at most 2N-1
//
// An item is lost if its taker dies after step 4 and before it has processed the item.
//
// Bound: a take needs one read that shows which item is the most urgent, as any client may have put a more urgent one, and then one
// quorum write, which decides between the clients. On this variant's path lie one listing, one get and one delete: a listing shows no
// data, so that the get lies between. No notification lies on it, but one that comes before the delete adds a listing and a get.
//
// Source: as written, but with items that outlive their producer, no wait in an empty queue, and the journal: ZooKeeper recipes page,
// Priority Queues.
type InvalidatedList struct {
	takequeue.Deleting
	list  []tickets.Ticket
	watch *session.Watch // of the list
}

// NewInvalidatedList returns one client's end of the queue below an existing znode dir.
func NewInvalidatedList(ctx context.Context, s *session.Session, dir string) (*InvalidatedList, error) {
	q := &InvalidatedList{}
	return q, q.Open(ctx, tickets.New(s, dir, marker), q)
}

// Put implements [Queue].
func (q *InvalidatedList) Put(ctx context.Context, p Priority, data []byte) error {
	return put(ctx, &q.Client, p, data)
}

// TakeNext implements [takequeue.Strategy].
func (q *InvalidatedList) TakeNext(ctx context.Context) (*takequeue.Taken, error) {
	for {
		if err := q.refresh(ctx); err != nil || len(q.list) == 0 {
			return nil, err
		}
		next := q.list[0]
		data, found, err := q.Session.Find(ctx, q.Path(next))
		switch {
		case err != nil:
			return nil, err
		case !found:
			q.list = q.list[1:]
			continue
		case q.watch.Fired():
			continue
		}
		if item, err := q.Delete(ctx, next, data); err != nil || item != nil {
			return item, err
		}
	}
}

func (q *InvalidatedList) refresh(ctx context.Context) error {
	if len(q.list) > 0 && !q.watch.Fired() {
		return nil
	}
	children, watch, err := q.ListW(ctx)
	if err != nil {
		return fmt.Errorf("list %s: %w", q.Dir, err)
	}
	q.list, q.watch = byUrgency(children), watch
	return nil
}

func invalidatedListVariant() variants.Variant {
	return variants.Variant{
		Name:    "invalidated-list",
		Kind:    variants.Naive,
		Summary: "discards its list of items when the watch on them has fired",
		BadAt: "long queues, which are listed for every item, and many clients: requests and failed writes of a take grow with their " +
			"number, as each put and each take wakes all that are about to take",
		Forgoes:  []variants.Loss{variants.ItemsLost},
		Lockstep: variants.Cost{Requests: "4", Writes: "2", FailedWrites: "0", Notifications: "1", HerdMax: "1"},
		Free:     variants.Cost{Requests: "7N-3", Writes: "N+1", FailedWrites: "N-1", Notifications: "2N-1", HerdMax: "N"},
		Join: variants.JoinIn(NewInvalidatedList, func(q *InvalidatedList, env variants.Env) variants.Participant {
			return newWorker(q, env)
		}),
	}
}
