package blockingqueue

import (
	"context"
	"fmt"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// MatchedTicket is the queue in which the k-th ticket belongs to the k-th item, so that consumers neither compete nor wait for each other.
//
//  1. To put, create <dir>/items/-item-, sequential. If the reply is lost, the item is the one with the zxid of the client's journal.
//  2. To take, create <dir>/tickets/<guid>-ticket-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  3. Read the item with the ticket's number. If it is not there, ask for it by exists with a watch.
//  4. If it is still not there, wait for the watch, and repeat 3. If 5 s have passed without it, do 5.
//  5. List <dir>/tickets, then <dir>/items. Move each item whose ticket is gone behind the others: read it, and in one multi delete it and
//     create it anew. If that makes it such an item again, move it at once.
//  6. Delete the item and the ticket in one multi. To withdraw, delete the ticket, and move its item if it is there.
//
// The queue matched-ticket (see package queue) says why this is right, and what a consumer costs that dies, stops or withdraws. Here, only
// clients that wait look for orphans: while there is an item for each consumer, an item whose consumer has died stays where it is.
//
// Cost of one item in a lockstep run, in which N-1 consumers wait: 1 put, 1 ticket, 1 get, 1 exists, and when the watch has fired, 1 get
// and 1 multi:
//
//	requests       6
//	writes         3, none of which fails
//	notifications  1
//	herd           1
//
// When clients loop freely, an item may be there before its consumer looks, which saves 2 requests and the notification. If it comes just
// before the exists, its watch fires at the consumer's own claim. The producer's check whether its last round has been taken (see worker)
// adds up to one request and one notification per round, so that a claim notifies two clients at most. A consumer or producer that waits
// makes 2 listings every 5 s.
//
// Each item goes to the consumer whose turn it is, but consumers do not wait for those before them, so that an item may be taken before an
// earlier one. An item is lost if its taker dies or its session is lost before it knows the outcome of its claim.
//
// Bound: on the path of the sojourn phase lie, for any algorithm that takes an item once, a write (the put), a notification to a consumer
// that waits, a read of the item, and a write (the claim). Nothing else lies there.
//
// Source: ours: queue/matched-ticket.
type MatchedTicket struct {
	*client
	line tickets.Matching
}

// NewMatchedTicket returns one client's view of a queue below an existing znode dir.
func NewMatchedTicket(ctx context.Context, s *session.Session, dir string) (*MatchedTicket, error) {
	c, err := open(ctx, s, dir)
	line := tickets.New(s, path.Join(dir, ticketsDir), ticketMarker)
	if err == nil {
		err = s.Ensure(ctx, line.Dir, nil, 0)
	}
	q := &MatchedTicket{c, tickets.Matching{Line: line, Items: c.items, Journal: &c.journal}}
	c.awaitGone = q.line.AwaitGone
	return q, err
}

// Peek implements [Queue].
func (q *MatchedTicket) Peek(ctx context.Context) (Item, error) {
	return session.Run(ctx, q.session, func(ctx context.Context) (Item, error) {
		item, err := q.peek(ctx)
		if err != nil {
			err = q.line.StandBack(ctx, err)
		}
		return item, err
	}, func(ctx context.Context, _ Item) error { return q.line.GiveUp(ctx) })
}

func (q *MatchedTicket) peek(ctx context.Context) (Item, error) {
	for {
		place, data, found, err := q.line.Find(ctx)
		if err != nil || found {
			return Item{data, place}, err
		}
		if err := q.line.Await(ctx); err != nil {
			return Item{}, fmt.Errorf("wait for %s: %w", q.items.Path(place), err)
		}
	}
}

// Claim implements [Queue]. It returns false only if the item's producer or the consumer has withdrawn. The consumer then has no ticket.
func (q *MatchedTicket) Claim(ctx context.Context, item Item) (bool, error) {
	return q.claim(ctx, func(ctx context.Context) (bool, error) {
		if !q.line.Stands() {
			return false, nil
		}
		return q.line.Finish(ctx, item.place)
	})
}

// Leave implements [Queue].
func (q *MatchedTicket) Leave(ctx context.Context) error {
	return q.session.Do(ctx, q.line.GiveUp, nil)
}

func matchedTicketVariant() variants.Variant {
	return variants.Variant{
		Name:    "matched-ticket",
		Kind:    variants.Optimized,
		Summary: "the k-th ticket belongs to the k-th item, so that consumers neither compete nor wait for each other",
		BadAt: "a consumer that stops with a ticket in hand, which holds one item back; " +
			"long queues, in which the item of a dead consumer waits; and order, as consumers do not wait for those before them",
		Forgoes: []variants.Loss{variants.ItemsLost},
		Lockstep: variants.Cost{
			Requests: "6 (4 for N=1)", Writes: "3", FailedWrites: "0",
			Notifications: "1 (0 for N=1)", HerdMax: "1 (0 for N=1)",
		},
		Free: variants.Cost{
			Requests: "6 + 1/(N-1) (4 for N=1)", Writes: "3", FailedWrites: "0",
			Notifications: "1 + 1/(N-1) (0 for N=1)", HerdMax: "2 (0 for N=1)",
		},
		Join: variants.JoinIn(NewMatchedTicket, func(q *MatchedTicket, env variants.Env) variants.Participant {
			env.Record(unordered, 0)
			return newWorker(q, env, false)
		}),
	}
}
