package items

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// Deleting is what the variants share that take an item by deleting it: whoever deletes it has it, and nobody else ever
// will. They differ in how they find the next one.
type Deleting struct{ Client }

// Remove reads and takes one item, or returns nil if somebody else was faster.
func (q *Deleting) Remove(ctx context.Context, t line.Ticket) (*Taken, error) {
	data, found, err := q.Read(ctx, t)
	if err != nil || !found {
		return nil, err
	}
	return q.Delete(ctx, t, data)
}

// Delete takes one item whose data is known, or returns nil if somebody else was faster.
func (q *Deleting) Delete(ctx context.Context, t line.Ticket, data []byte) (*Taken, error) {
	_, err := q.Journal.Do(ctx, &zk.DeleteRequest{Path: q.Path(t), Version: -1})
	switch {
	case err == nil:
		return &Taken{Ticket: t, Data: data}, nil
	case errors.Is(err, zk.ErrNoNode):
		return nil, nil
	default:
		return nil, fmt.Errorf("delete %s: %w", q.Path(t), err)
	}
}

// Finish has nothing left to do.
func (q *Deleting) Finish(context.Context, *Taken) error { return nil }

// GiveBack creates the item again under its old name, and so at its old place.
func (q *Deleting) GiveBack(ctx context.Context, t *Taken) error {
	_, err := q.Journal.Do(ctx, &zk.CreateRequest{Path: q.Path(t.Ticket), Data: t.Data, Acl: variants.WorldACL()})
	if err != nil {
		return fmt.Errorf("create %s again: %w", q.Path(t.Ticket), err)
	}
	return nil
}
