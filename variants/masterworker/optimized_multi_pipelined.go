package masterworker

import (
	"context"

	"github.com/zkbench/zkbench/variants"
)

// MultiPipelined is [Multi] with several assignments under way at once.
//
//  1. Take over, wait and list as there.
//  2. Let ten goroutines share the tasks. Each does the read and the multi of one task after the other, and then takes the
//     next task. The requests of all of them travel on one session, without waiting for each other.
//  3. When all tasks have been assigned, go on as there.
//
// A master that dies has up to ten multis under way. Each takes effect or does not.
//
// Cost of a batch of 10 N tasks: 62N+5 requests, of which 20N+2 are writes, and 11N+1 notifications, as there. What
// changes is the time: 10N assignments take about 2N round trips instead of 20N.
//
// Source: Junqueira and Reed, ZooKeeper, chapter 4, whose master is asynchronous; An Alternative Way: Multiop.
type MultiPipelined struct{ *master }

var _ Master = MultiPipelined{}

// NewMultiPipelined takes over as master below dir, which [Create] has prepared. lost is closed when the session is.
func NewMultiPipelined(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (MultiPipelined, error) {
	m := newMaster(session, dir, lost)
	m.move, m.outstanding = m.multi, window
	return MultiPipelined{m}, m.takeOverAnything(ctx)
}

func multiPipelinedVariant() variants.Variant {
	return variants.Variant{
		Name:     "multi-pipelined",
		Type:     "MultiPipelined",
		Kind:     variants.Optimized,
		Summary:  "as multi, ten tasks at a time",
		Source:   "Junqueira and Reed, ZooKeeper, chapter 4",
		BadAt:    "order: tasks may be assigned in another order than they were submitted in",
		Lockstep: steppedCost(1),
		Free:     freeCost(1),
		Prepare:  prepare,
		Join: join(exactlyOnce, func(ctx context.Context, s variants.Session, env variants.Env) (Master, error) {
			return NewMultiPipelined(ctx, s, env.Root, env.Lost)
		}),
	}
}
