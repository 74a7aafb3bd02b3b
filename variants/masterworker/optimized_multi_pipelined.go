package masterworker

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// MultiPipelined is [Multi] with ten assignments outstanding.
//
//  1. Take over, wait and list as [Multi] does.
//  2. Assign ten tasks at once, each in a goroutine that reads it and sends the multi. When one is done, begin with the next
//     task. The requests travel on one session, without waiting for each other.
//  3. When all tasks have been assigned, list with a watch again.
//
// A master that dies has up to ten multis outstanding. Each takes effect or does not. As with every variant, a task is executed
// again if a worker dies after it has executed it and before its report.
//
// Cost of a batch of 10 N tasks: 62N+4 requests, of which 20N+2 are writes, and 11N+1 notifications, the same as with
// [Multi]. What changes is the time: 10N assignments take about 2N round trips instead of 20N.
//
// Bound: as with [Multi], 1 notification, 1 listing and 1 quorum write. Here about N reads and N writes lie one after another, because
// ten of 10N assignments are outstanding. More at once would bring that to 1 read and 1 write, until the server is saturated.
//
// Source: as written, but with at most ten assignments outstanding, with workers in turn, and with other clients and workers:
// Junqueira and Reed, ZooKeeper, chapter 4, An Alternative Way: Multiop.
func MultiPipelined(ctx context.Context, s *session.Session, dir string) (*Master, error) {
	m := newMaster(s, dir, window)
	return m, m.takeOver(ctx)
}

func multiPipelinedVariant() variants.Variant {
	v := multiVariant()
	v.Name = "multi-pipelined"
	v.Summary = "as multi, ten tasks at a time"
	v.BadAt = "order: tasks may be assigned in another order than they were submitted in"
	v.Join = join(system{open: MultiPipelined, newClient: NewClient})
	return v
}
