package masterworker

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Book is the master of the book, with the book's clients and workers.
//
//  1. To take over, list assign, and workers with a watch. Assign the tasks of each worker that is gone as in step 3, and delete its
//     directory. Do so again whenever the watch fires.
//  2. List tasks with a watch. Wait for both watches.
//  3. For each task, ten at once, read tasks/<task>, choose a worker at random, create assign/<worker>/<task> with the same data, and
//     then delete tasks/<task>. If the assignment exists, only delete.
//  4. Go to 2. The first deletion has made the watch fire.
//  5. A client creates a persistent sequential tasks/task- for each task, ten at once, and watches status/<task> with exists. When the
//     watch fires, it reads the status. It deletes the statuses when it has all results.
//  6. A worker lists assign/<worker> with a watch. It reads and executes each task, creates status/<task>, and then deletes the
//     assignment. Then it lists again.
//
// A master that dies in step 3 leaves up to ten tasks that are assigned and still in tasks. The next master does not look for them:
// it assigns them to random workers once more, and all but those that meet the same worker are executed twice. A client whose reply
// is lost creates a second task, which is executed, too, and whose status remains. So does the status of a task whose client has died.
//
// Cost of a batch of 10 N tasks, of which each of N workers gets at least one:
//
//	client    for each task a create, an exists, a read and a delete  =  40N
//	master    2 listings, and for each task a read, a create and a delete  =  30N+2
//	workers   2 listings each, and for each task a read, a create and a delete  =  32N
//	in all    102N+2 requests for 10N tasks, of which 60N are writes
//
// Notifications: 2 to the master, of the first task and of its own first deletion; likewise 2 to each worker; and 1 to the client for
// each status, which is 12N+2. No transaction sets off more than one.
//
// This is exact if the master lists when all tasks are there, and a worker when all its tasks are, as in a lockstep run. In
// closed mode both may find one task at a time, with two listings and two notifications each: 140N requests and 50N notifications in
// all. A worker that gets no task, which happens with a probability below e^-10, costs 2 requests and 2 notifications less.
//
// Source: as written, but with ten requests outstanding at most, the tasks listed again only when all listed ones are assigned, and a
// delete of a task whose assignment exists: Junqueira and Reed, ZooKeeper, chapter 4, The Master-Worker Example, with the deletions of
// its example code. Besides, workers that are gone are found by comparing assign with workers, and writes that depend on each other
// wait for their replies. There, a task whose assignment exists is logged and left.
func Book(ctx context.Context, s *session.Session, dir string) (*Master, error) {
	m := newBookMaster(s, dir)
	m.twoSteps = true
	return m, m.takeOver(ctx)
}

func bookVariant() variants.Variant {
	return variants.Variant{
		Name:    "book",
		Kind:    variants.Naive,
		Summary: "the book's system: sequential tasks, random workers, create then delete",
		BadAt: "failures: a dead master leaves tasks that are executed twice, " +
			"and a lost reply doubles a task and leaves a status; and even load: the choice is random",
		Lockstep: perTask("10.2 + 0.2/N", "6", "1.2 + 0.2/N", "1"),
		Free:     perTask("14 (10.4 for N=1)", "6", "5 (1.4 for N=1)", "1"),
		Forgoes:  []variants.Loss{variants.ItemsDoubled, variants.Orphans},
		Join:     join(system{open: Book, window: window, newClient: NewBookClient, book: true}),
	}
}
