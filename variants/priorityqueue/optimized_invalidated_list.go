package priorityqueue

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/items"
	"github.com/zkbench/zkbench/variants/line"
)

// InvalidatedList is the priority queue in which a list is thrown away as soon as anything in the queue has changed.
//
//  1. To put, create <dir>/queue-<priority>-, persistent and sequential, with a priority of two digits.
//  2. To take, if the list is empty or its watch has fired, list <dir> and set a watch on it, the lowest priority first
//     and then the lowest sequence number. If there is no item, there is nothing to take.
//  3. Read the first item of the list. If it is gone, drop it from the list and go to 2.
//  4. If the watch has fired, go to 2. Else delete the item. If it is gone, somebody else was faster: go to 2.
//  5. Throw the list away. (The watch has fired, because of the delete.)
//
// A client's notifications and replies come in one order. So a watch that has not fired when the reply to step 3 is there
// tells that the list was still right when the client's server sent that reply. Step 5 matters only after a reconnect,
// when a lost reply may be made up for before the client library has armed the watch again.
//
// Cost of a take that nobody gets in the way of, as in a lockstep run: 1 create, 1 listing, 1 get, 1 delete, and 1
// notification, of that very delete; nobody else has a watch armed, because each client's last take has fired it:
//
//	requests       4
//	notifications  1
//	herd           1
//
// So no list outlives the take that it was made for: what the watch saves is not the next listing, but a delete that is
// about to pass over an item that has just come. Looping freely, each put tells up to N-1 clients, each delete up to N,
// and whoever is told lists again. Over all clients an item costs one take, N-1 attempts that find it gone, and for its
// put and its delete 2(N-1) attempts of which step 4 lets go:
//
//	attempts       at most 1 + (N-1) + 2(N-1)  =  3N-2, each with at most a listing and a get
//	requests       at most 1 put + 2(3N-2) + N deletes  =  7N-3
//	writes         at most 1 + N, of which N-1 fail
//	notifications  at most 2N-1
//
// Source: ZooKeeper recipes page, Priority Queues.
type InvalidatedList struct {
	items.Deleting
	list  []line.Ticket
	watch <-chan zk.Event // of the list
}

var _ Queue = (*InvalidatedList)(nil)

// NewInvalidatedList returns one client's end of the queue below an existing znode dir. lost is closed when the session
// is.
func NewInvalidatedList(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (*InvalidatedList, error) {
	q := &InvalidatedList{}
	if err := q.Open(ctx, line.New(session, dir, marker, lost), q); err != nil {
		return nil, err
	}
	return q, nil
}

// Put implements [Queue].
func (q *InvalidatedList) Put(ctx context.Context, p Priority, data []byte) error {
	return put(ctx, &q.Client, p, data)
}

// TakeNext implements [items.Algorithm].
func (q *InvalidatedList) TakeNext(ctx context.Context) (*items.Taken, error) {
	for {
		if err := q.refresh(ctx); err != nil || len(q.list) == 0 {
			return nil, err
		}
		next := q.list[0]
		data, found, err := q.Read(ctx, next)
		switch {
		case err != nil:
			return nil, err
		case !found:
			q.list = q.list[1:]
			continue
		case q.outdated():
			continue
		}
		item, err := q.Delete(ctx, next, data)
		q.list = nil
		if err != nil || item != nil {
			return item, err
		}
	}
}

// refresh lists the items unless the list is up to date.
func (q *InvalidatedList) refresh(ctx context.Context) error {
	if len(q.list) > 0 && !q.outdated() {
		return nil
	}
	children, watch, err := q.ListW(ctx)
	if err != nil {
		return fmt.Errorf("list %s: %w", q.Dir, err)
	}
	q.list, q.watch = byUrgency(children), watch
	return nil
}

// outdated throws the list away if its watch has fired, and tells whether it has.
func (q *InvalidatedList) outdated() bool {
	select {
	case <-q.watch:
		q.list = nil
		return true
	default:
		return false
	}
}

func invalidatedListVariant() variants.Variant {
	return variants.Variant{
		Name:    "invalidated-list",
		Type:    "InvalidatedList",
		Kind:    variants.Optimized,
		Summary: "throws its list of items away when the watch on them has fired",
		Source:  "ZooKeeper recipes page, Priority Queues",
		BadAt:   "long queues, which are listed for every item, and crowds: each put and each take wakes all who are about to take",
		Lockstep: variants.Cost{
			Requests:      "4",
			Writes:        "2",
			FailedWrites:  "0",
			Notifications: "1",
			HerdMax:       "1",
		},
		Free: variants.Cost{
			Requests:      "7N-3",
			Writes:        "N+1",
			FailedWrites:  "N-1",
			Notifications: "2N-1",
			HerdMax:       "N",
		},
		Join: join(func(ctx context.Context, s variants.Session, env variants.Env) (Queue, error) {
			return NewInvalidatedList(ctx, s, env.Root, env.Lost)
		}),
	}
}
