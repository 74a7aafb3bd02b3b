package queue

import (
	"context"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// WideLock is the queue from which one client at a time takes an item, under a lock.
//
//  1. To put, create <dir>/item-, persistent and sequential. That needs no lock.
//  2. To take, create <dir>/tickets/<guid>-ticket-, ephemeral and sequential.
//  3. List <dir>/tickets. If the client's ticket is not the lowest, read the next lower one with a watch, wait for the watch, and
//     repeat 3.
//  4. List <dir>. If there is an item, read the lowest one and delete it.
//  5. Delete the ticket.
//
// No delete of an item comes too late, but the clients take one after another: from one take to the next there are a
// notification, the listing of 3, the two reads of 4, and two writes.
//
// Cost of an item that no other client waits to take, as in a lockstep run: 1 put, 1 ticket, 2 listings, 1 get and 2 deletes. The
// listing of the items has O(items) bytes.
//
// When clients loop freely, each take waits for at most one ticket, as no client withdraws: 1 get with a watch and 1 listing
// more, and 1 notification. A client that has the lock knows of all items that were taken before:
//
//	requests       at most 9
//	writes         4, none of which fails
//	notifications  at most 1
//
// The source rejects the lock, which "would severely impact performance", in favour of [ListAndDelete]. The lock costs two writes more
// for each item, and yet it is faster where many clients compete, as the scenario queue-lock shows (docs/results/overview.md): each of up
// to N-1 losers of a race for an item pays for a full write there, and a client that waits pays for a get and a listing here. What is
// naive is how a turn ends: by a request of its own, after which the next client lists the line.
//
// Items are taken in the order in which they were put. An item is lost if its taker dies after it has deleted it and before it has
// processed it. If a client dies with a ticket, all that stand behind it wait until its session has ended.
//
// Source: as written, but with the line of the ZooKeeper recipes page, Locks, for the lock that is left to the reader, and with the
// journal: Robinson, Building a distributed concurrent queue with Apache ZooKeeper (Cloudera), Adding and deleting items.
type WideLock struct {
	ListAndDelete
	tickets tickets.Line
}

const ticketMarker = "-ticket-"

// NewWideLock returns one client's end of the queue below an existing znode dir.
func NewWideLock(ctx context.Context, s *session.Session, dir string) (*WideLock, error) {
	q := &WideLock{tickets: tickets.New(s, path.Join(dir, "tickets"), ticketMarker)}
	return q, q.Open(ctx, tickets.New(s, dir, marker), q, q.tickets.Dir)
}

// TakeNext implements [takequeue.Strategy]. An item that has been deleted is returned even if the session is lost before the ticket
// is given back: no other client can take the item.
func (q *WideLock) TakeNext(ctx context.Context) (*takequeue.Taken, error) {
	mine, err := tickets.Take(ctx, q.tickets, q.tickets.AwaitTurn)
	if err != nil {
		return nil, err
	}
	item, err := q.ListAndDelete.TakeNext(ctx)
	err = q.tickets.Withdraw(ctx, mine, err)
	if item != nil {
		return item, nil
	}
	return nil, err
}

func queueWideLockVariant() variants.Variant {
	return variants.Variant{
		Name:    "queue-wide-lock",
		Type:    "WideLock",
		Kind:    variants.Naive,
		Summary: "a client takes the lock of the queue, then lists it and deletes the first item: two writes more, and no lost races",
		BadAt: "few clients, for which the lock's two writes for each item save nothing: they take one at a time; " +
			"and one that dies in the line stops all behind it until its session has ended",
		Forgoes:  []variants.Loss{variants.ItemsLost},
		Lockstep: variants.Cost{Requests: "7", Writes: "4", FailedWrites: "0", Notifications: "0", HerdMax: "0"},
		Free: variants.Cost{Requests: "9 (7 for N=1)", Writes: "4", FailedWrites: "0", Notifications: "1 (0 for N=1)",
			HerdMax: "1 (0 for N=1)"},
		Join: join(NewWideLock),
	}
}
