package scenarios

import (
	"context"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants"
)

// Crowd opens what a measurement opens: sessions with ledgers, monitors and logs, joined to a variant below root.
func Crowd(ctx context.Context, servers []ensemble.Server, v variants.Variant, root string, n int) (steps []func(context.Context) error, disperse func(), err error) {
	c, err := gather(ctx, site{servers: servers, clients: n, root: root}, v)
	if err != nil {
		return nil, nil, err
	}
	c.setHold(free(0))
	for _, m := range c.members {
		steps = append(steps, m.step)
	}
	return steps, func() { c.disperse(context.WithoutCancel(ctx)) }, nil
}
