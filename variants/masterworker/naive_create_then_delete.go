package masterworker

import (
	"context"

	"github.com/zkbench/zkbench/variants"
)

// CreateThenDelete is the master that assigns a task in two steps.
//
//  1. To take over, sync; list tasks, assign, and assign/<worker> for each worker. Delete from tasks what is assigned.
//  2. List tasks with a watch. If there are none, wait for the watch.
//  3. When it fires, list assign, which shows the workers, and tasks, without a watch.
//  4. For each task, read tasks/<task>, create assign/<worker>/<task> with the same data, for the workers in turn, and
//     then delete tasks/<task>.
//  5. Go to 2; this time whatever the listing shows is assigned.
//
// The book lists with a watch at step 3. That tells a master of its own deletion, once for each time that it has listed,
// and costs no fewer requests.
//
// A master that dies in step 4 leaves a task in both places. If the next one finds it so, it puts that in order. If the
// worker has executed the task by then and deleted the assignment, the task looks like a new one and is executed twice. So
// it is if the reply to the create is lost, or if the old master was not dead but slow. To read status/<task> of each
// pending task would help in the first case, and cost a read for each task, but not in the others.
//
// Cost of a batch of 10 N tasks, 10 for each of N workers, which the client submits at once:
//
//	client    1 multi, 10N reads of a status with a watch and 10N without, 1 multi that deletes the statuses  =  20N+2
//	master    3 listings, and for each task a read, a create and a delete  =  30N+3
//	workers   2 listings each, and for each task a read and a multi  =  22N
//	in all    72N+5 requests for 10N tasks, of which 30N+2 are writes
//
// Notifications: 1 to the master for the batch, 1 to each worker for the first of its tasks, and 1 to the client for each
// status, which is 11N+1. No transaction sets off more than one.
//
// That is exact where a worker lists when all its tasks are there, as it does in steps. At its own pace it may find one at
// a time: then each costs two listings and a notification, 90N+5 requests and 20N+1 notifications in all. If a worker lists
// with a watch and finds a task, its next report sets off two notifications. And where a status has been written before
// the client has set its watch, that stays behind until the statuses are deleted, which sets off up to 10N at once.
//
// Source: Junqueira and Reed, ZooKeeper, chapter 4.
type CreateThenDelete struct{ *master }

var _ Master = CreateThenDelete{}

// NewCreateThenDelete takes over as master below dir, which [Create] has prepared. lost is closed when the session is.
func NewCreateThenDelete(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (CreateThenDelete, error) {
	m := newMaster(session, dir, lost)
	m.move = m.createThenDelete
	return CreateThenDelete{m}, m.takeOverDoubtful(ctx)
}

func createThenDeleteVariant() variants.Variant {
	return variants.Variant{
		Name:     "create-then-delete",
		Type:     "CreateThenDelete",
		Kind:     variants.Naive,
		Summary:  "create the assignment, then delete the pending task",
		Source:   "Junqueira and Reed, ZooKeeper, chapter 4",
		BadAt:    "failures: a master that dies between the two leaves a task that may be executed twice; and many tasks, of which it assigns one at a time",
		Lockstep: steppedCost(2),
		Free:     freeCost(2),
		Prepare:  prepare,
		Join: join(atLeastOnce, func(ctx context.Context, s variants.Session, env variants.Env) (Master, error) {
			return NewCreateThenDelete(ctx, s, env.Root, env.Lost)
		}),
	}
}
