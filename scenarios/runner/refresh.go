package runner

import (
	"context"

	"github.com/zkbench/zkbench/variants"
)

// refresh lets every participant act on the notifications that it received while others joined, until that sets off no
// further notification. From then on nothing happens until the first step.
func (p *clientPool) refresh(ctx context.Context) error {
	if err := p.fence(ctx); err != nil {
		return err
	}
	for {
		before := p.notified()
		err := p.each(func(c *client) error {
			if r, ok := c.participant.(variants.Refresher); ok {
				return r.Refresh(ctx)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := p.fence(ctx); err != nil {
			return err
		}
		if p.notified() == before {
			return nil
		}
	}
}

// notified returns how many notifications the clients have received.
func (p *clientPool) notified() int {
	var total int
	for _, c := range p.clients {
		total += c.ledger.Notified()
	}
	return total
}
