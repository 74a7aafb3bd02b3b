package masterworker

import (
	"context"

	"github.com/zkbench/zkbench/variants"
)

// CreateThenDeletePipelined is [CreateThenDelete] with several assignments under way at once.
//
//  1. Take over, wait and list as there.
//  2. Let ten goroutines share the tasks. Each does the read, the create and the delete of one task after the other, and
//     then takes the next task. The requests of all of them travel on one session, without waiting for each other.
//  3. When all tasks have been assigned, go on as there.
//
// The order of a task's create and delete is kept, that between tasks is not. With a client library that sends without
// waiting for replies, as the Java and C ones do, one thread could even send both at once: a session's requests are
// executed in the order in which they were sent.
//
// Cost of a batch of 10 N tasks: 72N+5 requests, of which 30N+2 are writes, and 11N+1 notifications, as there. What
// changes is the time: 10N assignments take about 3N round trips instead of 30N.
//
// A master that dies leaves up to ten tasks that are both pending and assigned, instead of one.
//
// Source: Junqueira and Reed, ZooKeeper, chapter 4, whose master is asynchronous.
type CreateThenDeletePipelined struct{ *master }

var _ Master = CreateThenDeletePipelined{}

// NewCreateThenDeletePipelined takes over as master below dir, which [Create] has prepared. lost is closed when the
// session is.
func NewCreateThenDeletePipelined(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (CreateThenDeletePipelined, error) {
	m := newMaster(session, dir, lost)
	m.move, m.outstanding = m.createThenDelete, window
	return CreateThenDeletePipelined{m}, m.takeOverDoubtful(ctx)
}

func createThenDeletePipelinedVariant() variants.Variant {
	return variants.Variant{
		Name:     "create-then-delete-pipelined",
		Type:     "CreateThenDeletePipelined",
		Kind:     variants.Naive,
		Summary:  "as create-then-delete, ten tasks at a time",
		Source:   "Junqueira and Reed, ZooKeeper, chapter 4",
		BadAt:    "failures: a master that dies leaves up to ten tasks that may be executed twice",
		Lockstep: steppedCost(2),
		Free:     freeCost(2),
		Prepare:  prepare,
		Join: join(atLeastOnce, func(ctx context.Context, s variants.Session, env variants.Env) (Master, error) {
			return NewCreateThenDeletePipelined(ctx, s, env.Root, env.Lost)
		}),
	}
}
