package masterworker

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// CreateThenDeletePipelined is [CreateThenDelete] with ten assignments outstanding.
//
//  1. Take over, wait and list as [CreateThenDelete] does.
//  2. Assign ten tasks at once, each in a goroutine that reads it, creates the assignment and deletes the pending task.
//     When one is done, begin with the next task. The requests travel on one session, without waiting for each other.
//  3. When all tasks have been assigned, list with a watch again.
//
// A task's create comes before its delete, but the tasks come in any order. With a client library that sends without
// waiting for replies, such as those for Java and C, one thread could send both at once: a session's requests are executed
// in the order in which they were sent.
//
// Cost of a batch of 10 N tasks: 72N+4 requests, of which 30N+2 are writes, and 11N+1 notifications, the same as with
// [CreateThenDelete]. What changes is the time: 10N assignments take about 3N round trips instead of 30N.
//
// A master that dies leaves up to ten tasks that are both pending and assigned, instead of one. As with every variant, a task is
// executed again if a worker dies after it has executed it and before its report.
//
// Source: as written, but with at most ten assignments outstanding, with workers in turn, with a new master that looks for tasks in two
// places, and with other clients and workers: Junqueira and Reed, ZooKeeper, chapter 4, Master Waits for New Tasks to Assign.
// The master there is asynchronous.
func CreateThenDeletePipelined(ctx context.Context, s *session.Session, dir string) (*Master, error) {
	return newTwoSteps(ctx, s, dir, window)
}

func createThenDeletePipelinedVariant() variants.Variant {
	v := createThenDeleteVariant()
	v.Name = "create-then-delete-pipelined"
	v.Summary = "as create-then-delete, ten tasks at a time"
	v.BadAt = "failures: a master that dies leaves up to ten tasks that may be executed twice"
	v.Join = join(system{open: CreateThenDeletePipelined, window: window, newClient: NewClient})
	return v
}
