package items

import (
	"context"

	"github.com/zkbench/zkbench/variants/line"
)

// Cached is what the variants share that list the items again only when they have tried all of their last list.
type Cached struct {
	Deleting
	Arrange func(children []string) []line.Ticket // makes a list of what was found, in the order in which to try
	list    []line.Ticket
}

// TakeNext implements [Algorithm].
func (q *Cached) TakeNext(ctx context.Context) (*Taken, error) {
	for {
		if len(q.list) == 0 {
			children, err := q.List(ctx)
			if err != nil {
				return nil, err
			}
			if q.list = q.Arrange(children); len(q.list) == 0 {
				return nil, nil
			}
		}
		item, err := q.Remove(ctx, q.list[0])
		if err != nil {
			return nil, err
		}
		q.list = q.list[1:]
		if item != nil {
			return item, nil
		}
	}
}
