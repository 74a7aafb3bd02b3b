package masterworker

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Multi is the master that assigns a task in one step.
//
//  1. To take over, and whenever the watch on workers fires, list assign, and workers with a watch. For each worker that is gone,
//     read the tasks in its directory. In one multi, delete them there, create them in the directories of others, and delete the
//     directory. If the multi fails, list again.
//  2. List tasks with a watch. All tasks that are there are unassigned. If there are none, wait for both watches.
//  3. When that on tasks fires, list tasks without a watch. For each task, read tasks/<task>. In one multi, delete it and create
//     assign/<worker>/<task> with the same data, for the workers in turn. If the deletion fails, the task has been assigned, by
//     another master or by an attempt whose reply was lost: continue with the next.
//  4. Go to 2. If that listing already shows tasks, assign them.
//
// A master may die at any moment, or be slow and continue beside the next one: a task is pending or assigned, and assigned
// once. It is executed again only if a worker dies after it has executed the task and before its report, as with every variant.
//
// Cost of a batch of 10 N tasks, 10 for each of N workers, which the client submits at once:
//
//	client    1 multi, 10N reads of a status with a watch and 10N without, 1 multi that deletes the statuses  =  20N+2
//	master    2 listings, and for each task a read and a multi  =  20N+2
//	workers   2 listings each, and for each task a read and a multi  =  22N
//	in all    62N+4 requests for 10N tasks, of which 20N+2 are writes
//
// Notifications: 1 to the master for the batch, 1 to each worker for the first of its tasks, and 1 to the client for each
// status, which is 11N+1. Workers that find one task at a time, as they may in closed mode, need 80N+4 requests and 20N+1
// notifications in all; [CreateThenDelete] says why, and when a transaction sets off more than one notification.
//
// A dead worker with T tasks costs the master T reads, 1 multi and 3 listings with a sync, and 1 notification.
//
// Bound: in the assign phase, any master that a backup can follow must learn of the tasks (1 notification, 1 listing) and move them (1
// quorum write, which may move many). Here 10N reads and 10N writes lie one after another: a read and a write for each task, because
// its data moves with it, and each waits for the reply to the one before.
//
// Source: as written, but synchronous, with workers in turn, and with other clients and workers: Junqueira and Reed, ZooKeeper,
// chapter 4, An Alternative Way: Multiop.
func Multi(ctx context.Context, s *session.Session, dir string) (*Master, error) {
	m := newMaster(s, dir, 1)
	return m, m.takeOver(ctx)
}

func multiVariant() variants.Variant {
	return variants.Variant{
		Name:     "multi",
		Kind:     variants.Optimized,
		Summary:  "one multi creates the assignment and deletes the pending task",
		BadAt:    "many tasks: it waits for the reply to each before it assigns the next",
		Lockstep: perTask("6.2 + 0.4/N", "2 + 0.2/N", "1.1 + 0.1/N", "1"),
		Free:     perTask("8 + 0.4/N (6.6 for N=1)", "2 + 0.2/N", "2 + 0.1/N (1.2 for N=1)", "10N (1 for N=1)"),
		Forgoes:  []variants.Loss{variants.ItemsDoubled},
		Join:     join(system{open: Multi, newClient: NewClient}),
	}
}
