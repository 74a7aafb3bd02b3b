package blockingqueue

import (
	"context"

	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// scan is the common part of the variants whose consumers try the items of a listing one after another. They differ in how they wait.
type scan struct {
	*client
	candidates []tickets.Ticket // the rest of the last listing
	keeps      bool             // the next take goes on with that rest; otherwise it lists again
	refill     func(ctx context.Context) ([]tickets.Ticket, error)
}

func (q *scan) Peek(ctx context.Context) (Item, error) {
	return session.Run(ctx, q.session, q.peek, nil)
}

func (q *scan) peek(ctx context.Context) (Item, error) {
	for {
		for len(q.candidates) > 0 {
			item, there, err := q.read(ctx, q.candidates[0])
			if err != nil || there {
				return item, err
			}
			q.candidates = q.candidates[1:]
		}
		var err error
		if q.candidates, err = q.refill(ctx); err != nil {
			return Item{}, err
		}
	}
}

func (q *scan) Claim(ctx context.Context, item Item) (bool, error) {
	return q.claim(ctx, func(ctx context.Context) (bool, error) {
		taken, err := q.remove(ctx, item.place)
		switch {
		case err != nil || taken && !q.keeps:
			q.candidates = nil
		case len(q.candidates) > 0 && q.candidates[0] == item.place:
			q.candidates = q.candidates[1:]
		}
		return taken, err
	})
}

// A watch need not be given back.
func (q *scan) Leave(context.Context) error { return nil }

func (c *client) watched(ctx context.Context) ([]tickets.Ticket, error) {
	children, watch, err := c.items.ListW(ctx)
	if err != nil {
		return nil, session.Attempted("list "+c.items.Dir, err)
	}
	found := tickets.Sorted(children, itemMarker)
	if len(found) == 0 {
		err = c.session.Await(ctx, watch)
	}
	return found, err
}
