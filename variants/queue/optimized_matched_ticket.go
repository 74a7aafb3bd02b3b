package queue

import (
	"context"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// MatchedTicket is the queue in which ticket k belongs to item k, so that no client competes with another.
//
//  1. To put, create <dir>/items/item-, persistent and sequential.
//  2. To take, create <dir>/tickets/<guid>-ticket-, ephemeral and sequential. If the reply is lost, look for the GUID. If the
//     number ends in 9, do 5.
//  3. Read the item with the ticket's number. If it is there, it is the client's.
//  4. Otherwise ask for it by exists with a watch. If it is not there, there is nothing to take: wait for the watch, and repeat 3. If
//     5 s have passed without it, do 5. The client keeps its ticket until it has an item or leaves.
//  5. List <dir>/tickets, then <dir>/items. An item whose ticket is missing, although its number has been given to a ticket, is an
//     orphan. Move each behind the others: read it, and in one multi delete it and create it anew. If that makes it an orphan again,
//     move it at once.
//  6. When the item has been processed, delete the item and the ticket in one multi. To give it back, move it and delete the ticket.
//
// Why the numbers match: a server numbers sequential znodes by the creates in their directory, without a gap, as neither a create that
// fails nor a delete is counted. So the k-th item and the k-th ticket have the same number, and one client at most has ticket k. As long as
// its session lives, no other client touches item k. If another program creates a znode there, or deletes an item, a number has no item:
// after 5, the client with that ticket sees that its item has been created and is gone, and takes another ticket. A server that has
// acknowledged a client's ticket shows it each item that was put before.
//
// After 2³¹-1, which 1,500 items per second reach after 16 days, a server's counter stands still, or goes on with negative numbers. A client
// refuses such a ticket: the queue needs a fresh directory before that.
//
// Why an orphan is one: the reply with the tickets contains the cversion of their directory, which says how many have been created. A
// ticket that is gone does not come back, and a client that has processed its item deletes both at once. So an item that is read after this
// listing, and whose ticket is missing there, has lost its client, and every client comes to the same result. If two move one orphan, the
// delete of one of them fails, and its create with it.
//
// Cost of an item while all consumers live: 1 put, 1 ticket, 1 get, 1 multi and a tenth of two listings, for any number of clients:
//
//	requests  4.2
//	writes    3, none of which fails
//
// No client is notified unless it waits for an item that has not been put, and then of this item alone. The listings have O(items + N)
// bytes. A client that waits makes 2 of them every 5 s.
//
// A consumer that dies holds its item back until its session has ended. From then on the item is moved by the next client whose ticket
// ends in 9, or by one that waits, after 5 s at most, and is taken after the items before it. That costs 1 get, and 1 multi for
// the move and for each number that it passes over: each client that dies leaves one at most, and each that withdraws. If the consumer
// had processed the item, it is processed again. A client that withdraws moves its item, if that is there, with its ticket; an item that
// is put later waits likewise. A client that was told that there is nothing to take, and neither takes again nor calls Return, holds one
// item back for as long as its session lives. So does one that stands still while it takes.
//
// Items go to clients in the order of their puts, as tickets do in the order of their creates. A client may read its item later than the
// owner of the next ticket reads the next one. An item that was given back, or whose client failed or withdrew, goes behind all others.
//
// Bound: as for multi-claim, an item needs a write in the take, which others can see, a read, and a write that removes it. On this
// variant's path lie one of each. The recipe's bound is that of queues which delete an item in the take.
//
// Source: ours: a ticket lock, which matches a counter of tickets with one of grants, with items in place of the grants.
type MatchedTicket struct {
	takequeue.Client // of the items
	line             tickets.Matching
}

// looksEvery is how many tickets there are for each whose client looks for orphans. It divides a batch, so that the formula is exact.
const looksEvery = 10

// NewMatchedTicket returns one client's end of the queue below an existing znode dir.
func NewMatchedTicket(ctx context.Context, s *session.Session, dir string) (*MatchedTicket, error) {
	q := &MatchedTicket{}
	return q, q.open(ctx, s, dir, q)
}

func (q *MatchedTicket) open(ctx context.Context, s *session.Session, dir string, strategy takequeue.Strategy) error {
	items := tickets.New(s, path.Join(dir, "items"), marker)
	line := tickets.New(s, path.Join(dir, "tickets"), ticketMarker)
	q.line = tickets.Matching{Line: line, Items: items, Journal: &q.Journal, Every: looksEvery}
	return q.OpenBeside(ctx, items, path.Join(dir, "journals"), strategy, line.Dir, items.Dir)
}

// TakeNext implements [takequeue.Strategy]. If it returns nothing, the client keeps its ticket.
func (q *MatchedTicket) TakeNext(ctx context.Context) (*takequeue.Taken, error) {
	item, data, found, err := q.line.Find(ctx)
	if err != nil {
		return nil, q.line.StandBack(ctx, err)
	}
	if !found {
		return nil, nil
	}
	return &takequeue.Taken{Ticket: item, Item: takequeue.Item{Data: data, Lost: q.Session.Lost()}}, nil
}

// Finish implements [takequeue.Strategy].
func (q *MatchedTicket) Finish(ctx context.Context, t *takequeue.Taken) error {
	_, err := q.line.Finish(ctx, t.Ticket)
	return err
}

// GiveBack implements [takequeue.Strategy]: it puts the item behind all others.
func (q *MatchedTicket) GiveBack(ctx context.Context, t *takequeue.Taken) error {
	return q.line.GiveBack(ctx, t.Ticket, t.Data)
}

// Return implements [takequeue.Taker]. It also gives up the ticket of a client that was told that there is nothing to take.
func (q *MatchedTicket) Return(ctx context.Context) error {
	if err := q.Client.Return(ctx); err != nil { // the client may still have its item
		return err
	}
	return q.Session.Do(ctx, q.line.GiveUp, nil)
}

// AwaitChange implements [takequeue.Notified].
func (q *MatchedTicket) AwaitChange(ctx context.Context) error { return q.line.Await(ctx) }

// Stands implements [takequeue.InLine].
func (q *MatchedTicket) Stands() bool { return q.line.Stands() }

func matchedTicketVariant() variants.Variant {
	cost := variants.Cost{Requests: "4.2", Writes: "3", FailedWrites: "0", Notifications: "0", HerdMax: "0"}
	return variants.Variant{
		Name:    "matched-ticket",
		Kind:    variants.Optimized,
		Summary: "the k-th ticket belongs to the k-th item, so that no client competes with another",
		BadAt: "a consumer that stops with a ticket in hand, which holds one item back; " +
			"and order after a death, which puts an item behind all others",
		Forgoes:  []variants.Loss{variants.ItemsDoubled},
		Lockstep: cost,
		Free:     cost,
		Join:     joinMatched(NewMatchedTicket),
	}
}

func joinMatched[Q Queue](open func(context.Context, *session.Session, string) (Q, error)) variants.JoinFunc {
	return variants.JoinIn(open, func(q Q, env variants.Env) variants.Participant {
		env.Record(takequeue.Behind, looksEvery)
		return newWorker(q, env)
	})
}
