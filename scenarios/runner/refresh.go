package runner

import (
	"context"

	"github.com/zkbench/zkbench/variants"
)

// refresh brings every participant up to date with all that happened while they joined. It ends when that has set off no
// further notification: from then on nothing happens until the first step.
func (c *crowd) refresh(ctx context.Context) error {
	if err := c.fence(ctx); err != nil {
		return err
	}
	for {
		before := c.notified()
		err := c.each(func(m *member) error {
			if r, ok := m.participant.(variants.Refresher); ok {
				return r.Refresh(ctx)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := c.fence(ctx); err != nil {
			return err
		}
		if c.notified() == before {
			return nil
		}
	}
}

// notified returns how many notifications the members have received.
func (c *crowd) notified() int {
	var total int
	for _, m := range c.members {
		total += m.ledger.Notified()
	}
	return total
}
