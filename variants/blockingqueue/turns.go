package blockingqueue

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

const ticketsDir = "tickets"

// turns is the common part of the variants whose consumers stand in a line.
type turns struct {
	*client
	tickets tickets.Line
	place   place
	mine    *tickets.Ticket // nil while the client is not in the line
}

// place is how a consumer enters the line, waits for its turn and ends it.
type place interface {
	Enter(ctx context.Context) (tickets.Ticket, error)
	AwaitTurn(ctx context.Context, mine tickets.Ticket) error
	GiveUp(mine tickets.Ticket) any // the write that ends a turn, for the claim's transaction
	GivenUp(mine tickets.Ticket)    // is called when that write has taken effect
}

func openTurns(ctx context.Context, s *session.Session, dir string, line tickets.Line, p place) (turns, error) {
	c, err := open(ctx, s, dir)
	if err == nil {
		err = s.Ensure(ctx, line.Dir, nil, 0)
	}
	return turns{client: c, tickets: line, place: p}, err
}

func (q *turns) Peek(ctx context.Context) (Item, error) {
	return session.Run(ctx, q.session, q.peek, func(ctx context.Context, _ Item) error { return q.leave(ctx) })
}

func (q *turns) peek(ctx context.Context) (Item, error) {
	if q.mine == nil {
		mine, err := q.place.Enter(ctx)
		if err != nil {
			return Item{}, err
		}
		q.mine = &mine
	}
	item, err := q.wait(ctx, *q.mine)
	if err != nil {
		err = q.tickets.Withdraw(ctx, *q.mine, err)
		q.mine = nil
	}
	return item, err
}

// wait waits for the client's turn, then for an item. Until the turn ends, no other consumer takes an item.
func (q *turns) wait(ctx context.Context, mine tickets.Ticket) (Item, error) {
	if err := q.place.AwaitTurn(ctx, mine); err != nil {
		return Item{}, fmt.Errorf("wait in %s: %w", q.tickets.Dir, err)
	}
	for {
		place, err := q.awaitItem(ctx)
		if err != nil {
			return Item{}, fmt.Errorf("wait for %s: %w", q.items.Dir, err)
		}
		if item, there, err := q.read(ctx, place); err != nil || there {
			return item, err
		}
	}
}

func (q *turns) awaitItem(ctx context.Context) (tickets.Ticket, error) {
	for {
		children, err := q.items.List(ctx)
		found := tickets.Sorted(children, itemMarker)
		if err == nil && len(found) == 0 {
			found, err = q.watched(ctx)
		}
		switch {
		case err != nil:
			return tickets.Ticket{}, err
		case len(found) > 0:
			return found[0], nil
		}
	}
}

func (q *turns) Claim(ctx context.Context, item Item) (bool, error) {
	return q.claim(ctx, func(ctx context.Context) (bool, error) {
		if q.mine == nil {
			return false, nil // it has withdrawn
		}
		taken, err := q.remove(ctx, item.place, q.place.GiveUp(*q.mine))
		if taken {
			q.place.GivenUp(*q.mine)
			q.mine = nil
		}
		return taken, err
	})
}

func (q *turns) Leave(ctx context.Context) error {
	return q.session.Do(ctx, q.leave, nil)
}

func (q *turns) leave(ctx context.Context) error {
	if q.mine == nil {
		return nil
	}
	mine := *q.mine
	q.mine = nil
	return q.tickets.Withdraw(ctx, mine, nil)
}
