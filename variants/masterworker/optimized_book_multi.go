package masterworker

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// BookMulti is [Book] with an assignment in one multi.
//
//  1. Take over, and list tasks with a watch, as [Book] does, but assign the tasks of a worker that is gone in one multi, as [Multi]
//     does.
//  2. For each task, ten at once, read tasks/<task> and choose a worker at random. In one multi, delete the task and create
//     assign/<worker>/<task> with the same data. If the deletion fails, the task has been assigned.
//  3. List tasks with a watch again. The first deletion has made the watch fire.
//
// The next master finds each task pending or assigned, and none in both places. Clients and workers are the same as with
// [Book]: a client whose reply is lost still doubles a task, and statuses whose client has died remain.
//
// Cost of a batch of 10 N tasks: as with [Book], but 10N writes less, 92N+2 requests, of which 50N are writes. The first multi sets off
// two notifications, one to the worker and one to the master itself. In closed mode the bound is 130N requests.
//
// Bound: in the assign phase, as with [Multi], 1 notification, 1 listing and 1 quorum write. Here about N reads and N writes lie one
// after another, as with [MultiPipelined]. In the task phase, the result needs 3 quorum writes one after another: submission,
// assignment and status. A worker that gets many tasks adds 2 writes and a read for each, because it executes them in turn.
//
// Source: as written, but with the differences of book: Junqueira and Reed, ZooKeeper, chapter 4, An Alternative Way: Multiop.
func BookMulti(ctx context.Context, s *session.Session, dir string) (*Master, error) {
	m := newBookMaster(s, dir)
	return m, m.takeOver(ctx)
}

func bookMultiVariant() variants.Variant {
	v := bookVariant()
	v.Name, v.Kind = "book-multi", variants.Optimized
	v.Summary = "as book, with one multi that creates the assignment and deletes the task"
	v.BadAt = "lost replies: its clients submit the task again, and statuses remain; and even load: the choice is random"
	v.Lockstep = perTask("9.2 + 0.2/N", "5", "1.2 + 0.2/N", "2")
	v.Free = perTask("13 (9.4 for N=1)", "5", "5 (1.4 for N=1)", "2")
	v.Join = join(system{open: BookMulti, newClient: NewBookClient, book: true})
	return v
}
