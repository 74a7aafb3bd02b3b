package queue

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// ListAndDelete is the queue in which every take lists all items and deletes the first.
//
//  1. To put, create <dir>/item-, persistent and sequential.
//  2. To take, list <dir>. If there is no item, there is nothing to take.
//  3. Read the lowest item. If it is gone, continue with the next one; after the last, go to 2.
//  4. Delete it. If it is gone, another client was faster: continue with the next one; after the last, go to 2.
//
// Cost of an item that no other client tries to take, as in a lockstep run: 1 create, 1 listing, 1 get and 1 delete. The
// listing has O(items) bytes, for one of them.
//
// When clients loop freely, those that list at the same time find the same items and try them in the same order. A client
// that has found an item gone never sees it again. So each item costs each of N clients at most one get and one delete,
// of which N-1 fail, and a client lists again only after it was too late for an item:
//
//	requests  at most 1 put + N listings + N gets + N deletes
//	writes    at most 1 + N, of which N-1 fail
//
// Items are taken in the order in which they were put. An item is lost if its taker dies after step 4 and before it has processed the item.
//
// Source: as written, but with the journal: Robinson, Building a distributed concurrent queue with Apache ZooKeeper (Cloudera);
// DistributedQueue among ZooKeeper's own recipes does the same.
type ListAndDelete struct{ takequeue.Deleting }

// NewListAndDelete returns one client's end of the queue below an existing znode dir.
func NewListAndDelete(ctx context.Context, s *session.Session, dir string) (*ListAndDelete, error) {
	q := &ListAndDelete{}
	return q, q.Open(ctx, tickets.New(s, dir, marker), q)
}

// TakeNext implements [takequeue.Strategy].
func (q *ListAndDelete) TakeNext(ctx context.Context) (*takequeue.Taken, error) {
	children, err := q.List(ctx)
	if err != nil {
		return nil, err
	}
	list := tickets.Sorted(children, marker)
	return q.RemoveFirst(ctx, &list)
}

func listAndDeleteVariant() variants.Variant {
	return variants.Variant{
		Name:    "list-and-delete",
		Kind:    variants.Naive,
		Summary: "every take lists the queue, then reads and deletes the first item",
		BadAt: "long queues, which are listed for every item, and many clients: " +
			"all race for the same item, and each loser pays for a quorum write",
		Forgoes:  []variants.Loss{variants.ItemsLost},
		Lockstep: variants.Cost{Requests: "4", Writes: "2", FailedWrites: "0", Notifications: "0", HerdMax: "0"},
		Free:     variants.Cost{Requests: "3N+1", Writes: "N+1", FailedWrites: "N-1", Notifications: "0", HerdMax: "0"},
		Join:     join(NewListAndDelete),
	}
}
