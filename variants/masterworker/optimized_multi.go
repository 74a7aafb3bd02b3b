package masterworker

import (
	"context"

	"github.com/zkbench/zkbench/variants"
)

// Multi is the master that assigns a task in one step.
//
//  1. To take over, sync, and list tasks with a watch. All that is there is unassigned. If there is nothing, wait for the
//     watch.
//  2. When it fires, list assign, which shows the workers, and tasks, without a watch.
//  3. For each task, read tasks/<task>. In one multi, delete it and create assign/<worker>/<task> with the same data, for
//     the workers in turn. If the deletion fails, somebody has assigned the task, perhaps this master in an attempt whose
//     reply was lost: go on.
//  4. List tasks with a watch again, and assign whatever there is.
//
// A master may die anywhere, or be slow and go on beside the next one: a task is pending or assigned, and assigned once.
//
// Cost of a batch of 10 N tasks, 10 for each of N workers, which the client submits at once:
//
//	client    1 multi, 10N reads of a status with a watch and 10N without, 1 multi that deletes the statuses  =  20N+2
//	master    3 listings, and for each task a read and a multi  =  20N+3
//	workers   2 listings each, and for each task a read and a multi  =  22N
//	in all    62N+5 requests for 10N tasks, of which 20N+2 are writes
//
// Notifications: 1 to the master for the batch, 1 to each worker for the first of its tasks, and 1 to the client for each
// status, which is 11N+1. No transaction sets off more than one.
//
// That is exact where a worker lists when all its tasks are there, as it does in steps. At its own pace it may find one at
// a time: then each costs two listings and a notification, 80N+5 requests and 20N+1 notifications in all. If a worker lists
// with a watch and finds a task, its next report sets off two notifications. And where a status has been written before
// the client has set its watch, that stays behind until the statuses are deleted, which sets off up to 10N at once.
//
// Source: Junqueira and Reed, ZooKeeper, chapter 4, An Alternative Way: Multiop.
type Multi struct{ *master }

var _ Master = Multi{}

// NewMulti takes over as master below dir, which [Create] has prepared. lost is closed when the session is.
func NewMulti(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (Multi, error) {
	m := newMaster(session, dir, lost)
	m.move = m.multi
	return Multi{m}, m.takeOverAnything(ctx)
}

func multiVariant() variants.Variant {
	return variants.Variant{
		Name:     "multi",
		Type:     "Multi",
		Kind:     variants.Optimized,
		Summary:  "one multi creates the assignment and deletes the pending task",
		Source:   "Junqueira and Reed, ZooKeeper, chapter 4",
		BadAt:    "many tasks: it waits for the reply to each before it assigns the next",
		Lockstep: steppedCost(1),
		Free:     freeCost(1),
		Prepare:  prepare,
		Join: join(exactlyOnce, func(ctx context.Context, s variants.Session, env variants.Env) (Master, error) {
			return NewMulti(ctx, s, env.Root, env.Lost)
		}),
	}
}
