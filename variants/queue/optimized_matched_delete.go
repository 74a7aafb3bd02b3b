package queue

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
)

// MatchedDelete is [MatchedTicket] for items that must not be processed twice: a client deletes its item before it processes it.
//
//  1. To put, and to find the item of the client's ticket, do as in [MatchedTicket].
//  2. Delete the item and the ticket in one multi.
//
// Cost of an item when all consumers live, as in [MatchedTicket]:
//
//	requests  4.2
//	writes    3, none of which fails
//
// An item is lost if its taker dies after step 2 and before it has processed the item. If the taker dies before, the item is an orphan,
// which other clients move and take. All else is as in [MatchedTicket].
//
// Bound: a take needs one read, which shows the client an item that it may not have put, and then one quorum write, which decides
// between the clients. Here one more write lies on the path, the create of the ticket. In return, the deciding write never fails.
//
// Source: ours: matched-ticket with the delete first.
type MatchedDelete struct{ MatchedTicket }

// NewMatchedDelete returns one client's end of the queue below an existing znode dir.
func NewMatchedDelete(ctx context.Context, s *session.Session, dir string) (*MatchedDelete, error) {
	q := &MatchedDelete{}
	return q, q.open(ctx, s, dir, q)
}

// TakeNext implements [takequeue.Strategy].
func (q *MatchedDelete) TakeNext(ctx context.Context) (*takequeue.Taken, error) {
	item, err := q.MatchedTicket.TakeNext(ctx)
	if err != nil || item == nil {
		return nil, err
	}
	found, err := q.line.Finish(ctx, item.Ticket)
	if err != nil {
		return nil, q.line.StandBack(ctx, err)
	}
	if !found { // another program has deleted it
		return nil, takequeue.ErrScanAgain
	}
	item.Lost = nil
	return item, nil
}

// Finish implements [takequeue.Strategy]. Nothing is left of the item.
func (q *MatchedDelete) Finish(context.Context, *takequeue.Taken) error { return nil }

// GiveBack implements [takequeue.Strategy]: it puts the item behind all others.
func (q *MatchedDelete) GiveBack(ctx context.Context, t *takequeue.Taken) error {
	_, err := q.Journal.Do(ctx, q.AppendRequest(t.Data))
	return session.Attempted("put "+q.Path(t.Ticket)+" again", err)
}

func matchedDeleteVariant() variants.Variant {
	v := matchedTicketVariant()
	v.Name = "matched-delete"
	v.Summary = "as matched-ticket, but an item is deleted before it is processed"
	v.BadAt = "a consumer that dies with an item, which is lost; and one that stops with a ticket in hand, which holds one item back"
	v.Forgoes = []variants.Loss{variants.ItemsLost}
	v.Join = joinMatched(NewMatchedDelete)
	return v
}
