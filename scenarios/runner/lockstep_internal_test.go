package runner

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/variants"
)

// stepper is a participant that only has a step.
type stepper func(context.Context) error

func (s stepper) Step(ctx context.Context) error { return s(ctx) }
func (stepper) Leave(context.Context) error      { return nil }

// A client starts when its session has seen what the clients before it have done. Otherwise the number of its requests
// would depend on how far its server lags behind.
func TestLockstepStartsClientsUpToDate(t *testing.T) {
	e := ensembletest.Embedded(t, embedded.Config{})
	create := variants.Variant{Join: func(_ context.Context, env variants.Env) (variants.Participant, error) {
		return stepper(func(ctx context.Context) error { return env.Session.Ensure(ctx, env.Root, nil, 0) }), nil
	}}
	pool, err := connectAll(t.Context(), setting{servers: e.Servers(), clients: 2, root: "/made"}, create)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.closeAll(t.Context())
	second, seen := pool.clients[1], int64(0)
	second.participant = stepper(func(context.Context) error { seen = second.ledger.LastZxid(); return nil })

	recipe := variants.Recipe{CountFrom: variants.FromStart}
	l := &lockstep{measurement: &measurement{pool: pool, recipe: recipe, patience: time.Minute}, working: map[*client]bool{}}
	group, ctx := errgroup.WithContext(t.Context())
	if err := l.lineUp(ctx, group); err != nil {
		t.Fatal(err)
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if made := pool.clients[0].ledger.LastZxid(); seen < made {
		t.Errorf("the second client began at transaction %#x, but the first had made %#x", seen, made)
	}
}
