package takequeue

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// Deleting is the common part of the variants that take an item by deleting it. The client that deletes an item is the
// only one that ever has it. The variants differ in how they find the next item.
type Deleting struct{ Client }

// Remove reads and takes one item. It returns nil if another client was faster.
func (q *Deleting) Remove(ctx context.Context, t tickets.Ticket) (*Taken, error) {
	data, found, err := q.Session.Find(ctx, q.Path(t))
	if err != nil || !found {
		return nil, err
	}
	return q.Delete(ctx, t, data)
}

// Delete takes one item whose data is known, and makes these writes to further znodes in the same transaction. It returns nil if another
// client was faster.
func (q *Deleting) Delete(ctx context.Context, t tickets.Ticket, data []byte, writes ...any) (*Taken, error) {
	_, err := q.Journal.Do(ctx, append([]any{&zk.DeleteRequest{Path: q.Path(t), Version: -1}}, writes...)...)
	switch {
	case err == nil:
		return &Taken{t, Item{Data: data}}, nil
	case errors.Is(err, zk.ErrNoNode):
		return nil, nil
	default:
		return nil, fmt.Errorf("delete %s: %w", q.Path(t), err)
	}
}

// RemoveFirst reads and takes the first item of a list that no other client takes before. It drops the items from the list that
// it has tried.
func (q *Deleting) RemoveFirst(ctx context.Context, list *[]tickets.Ticket) (*Taken, error) {
	if len(*list) == 0 {
		return nil, nil
	}
	item, err := TryEach(ctx, list, q.Remove)
	if err == nil && item == nil {
		err = ErrScanAgain
	}
	return item, err
}

// Finish implements [Strategy]. Nothing is left of the item.
func (q *Deleting) Finish(context.Context, *Taken) error { return nil }

// GiveBack implements [Strategy]: it creates the item again with its old name, and so at its old place.
func (q *Deleting) GiveBack(ctx context.Context, t *Taken) error {
	_, err := q.Journal.Do(ctx, &zk.CreateRequest{Path: q.Path(t.Ticket), Data: t.Data})
	return session.Attempted("create "+q.Path(t.Ticket)+" again", err)
}

// Cached is the common part of the variants that list the items again only when they have tried all of their last list.
type Cached struct {
	Deleting
	Arrange func(children []string) []tickets.Ticket // returns the items among the children in the order in which to try them
	list    []tickets.Ticket
}

// TakeNext implements [Strategy].
func (q *Cached) TakeNext(ctx context.Context) (*Taken, error) {
	if len(q.list) == 0 {
		children, err := q.List(ctx)
		if err != nil {
			return nil, err
		}
		q.list = q.Arrange(children)
	}
	return q.RemoveFirst(ctx, &q.list)
}
