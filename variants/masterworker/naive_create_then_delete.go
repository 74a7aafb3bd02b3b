package masterworker

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// CreateThenDelete is the master that assigns a task in two steps.
//
//  1. To take over, list assign, workers, and assign/<worker> for each worker. A task that is in several directories is deleted
//     from tasks and from those of workers that are gone, but for one.
//  2. List assign, and workers with a watch. Assign the tasks of each worker that is gone as in step 4, and delete its directory.
//  3. List tasks with a watch. If there are none, wait for both watches. When that on tasks fires, list tasks without a watch. When
//     that on workers fires, go to 2.
//  4. For each task, read tasks/<task>, create assign/<worker>/<task> with the same data, for the workers in turn, and
//     then delete tasks/<task>.
//  5. Go to 3. If that listing already shows tasks, assign them.
//
// The book lists with a watch when it is notified of tasks. That notifies a master of its own deletion, once for each listing, and
// saves no request.
//
// A master that dies in step 4 leaves a task in both places. The next master deletes it from where it was, unless the
// worker has executed it by then and deleted the assignment: the task then looks like a new one and is executed twice. The
// same happens if the reply to the create is lost, or if the old master was not dead but slow. To read status/<task> of each
// pending task would cost a read for each task, and help in the first case only. A task is also executed again if a worker dies
// after it has executed it and before its report, as with every variant.
//
// Cost of a batch of 10 N tasks, 10 for each of N workers, which the client submits at once:
//
//	client    1 multi, 10N reads of a status with a watch and 10N without, 1 multi that deletes the statuses  =  20N+2
//	master    2 listings, and for each task a read, a create and a delete  =  30N+2
//	workers   2 listings each, and for each task a read and a multi  =  22N
//	in all    72N+4 requests for 10N tasks, of which 30N+2 are writes
//
// Notifications: 1 to the master for the batch, 1 to each worker for the first of its tasks, and 1 to the client for each
// status, which is 11N+1. No transaction sets off more than one.
//
// This is exact if a worker lists when all its tasks are there, as in a lockstep run. In closed mode it may find one task at
// a time: each then costs two listings and a notification, 90N+4 requests and 20N+1 notifications in all. If a worker lists
// with a watch and finds a task, its next report sets off two notifications. And if a status was written before the client
// set its watch, the watch stays until the statuses are deleted, which sets off up to 10N notifications at once.
//
// A dead worker with T tasks costs the master 3T+1 requests, 3 listings with a sync, and 1 notification.
//
// Source: as written, but synchronous, with workers in turn, with a new master that looks for tasks in two places, and with
// other clients and workers: Junqueira and Reed, ZooKeeper, chapter 4, Master Waits for New Tasks to Assign.
func CreateThenDelete(ctx context.Context, s *session.Session, dir string) (*Master, error) {
	return newTwoSteps(ctx, s, dir, 1)
}

func createThenDeleteVariant() variants.Variant {
	return variants.Variant{
		Name:    "create-then-delete",
		Kind:    variants.Naive,
		Summary: "create the assignment, then delete the pending task",
		BadAt: "failures: a master that dies between the two leaves a task that may be executed twice; " +
			"and many tasks: it assigns one at a time",
		Lockstep: perTask("7.2 + 0.4/N", "3 + 0.2/N", "1.1 + 0.1/N", "1"),
		Free:     perTask("9 + 0.4/N (7.6 for N=1)", "3 + 0.2/N", "2 + 0.1/N (1.2 for N=1)", "10N (1 for N=1)"),
		Forgoes:  []variants.Loss{variants.ItemsDoubled},
		Join:     join(system{open: CreateThenDelete, window: 1, newClient: NewClient}),
	}
}
