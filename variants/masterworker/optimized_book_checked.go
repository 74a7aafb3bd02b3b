package masterworker

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// BookChecked is [BookMulti] with a path of the master's own below which the clients create their tasks.
//
//  1. To take over, create tasks-<mid>, where mid is the master's session id, and write its path to master-path. The write has the
//     version that a read after a sync has found, so that a master whose session ends meanwhile does not undo the write of the next.
//  2. List the directory, and with it the tasks- directories of masters before. Assign the tasks in each as those of a worker that is gone.
//  3. Otherwise take over, and list tasks-<mid> with a watch, as [BookMulti] does.
//  4. For each task, ten at once, read it and choose a worker at random. In one multi, delete the task and create the assignment.
//  5. A client reads master-path and its version for each task. In one multi, it checks the version and creates a persistent
//     sequential tasks-<mid>/task-<mid>-. If the version has changed, it reads again.
//
// After step 1 no client adds to the path of another master any more, however slow it is: the listing of step 2 is final. The name of a
// task begins with mid, because the numbers begin again in each directory. In the book, two tasks would have the same status.
//
// Cost of a batch of 10 N tasks: as with [BookMulti], and 10N reads of master-path, 102N+2 requests, of which 50N are writes. The multi
// with the check is one write, as the create is. A new master costs 5 requests more, and 2 for each
// directory of a master before it, besides a read for each task in it.
//
// Bound: in the assign phase as with [BookMulti]. The submission needs 1 quorum write for any algorithm, and here 1 read before it. A
// client that kept path and version would need that read only after a change of masters. The book's reads them for each task.
//
// Source: as written, but with the differences of book, and with the id of the master in the name of a task: Junqueira and Reed,
// ZooKeeper, chapter 4, An Alternative Way: Multiop.
func BookChecked(ctx context.Context, s *session.Session, dir string) (*Master, error) {
	m := newBookMaster(s, dir)
	m.tasks.dir = fmt.Sprintf("%s-%x", m.at.tasks, s.ID())
	if err := m.specify(ctx); err != nil {
		return m, err
	}
	return m, m.takeOver(ctx)
}

func bookCheckedVariant() variants.Variant {
	v := bookMultiVariant()
	v.Name = "book-checked"
	v.Summary = "as book-multi, and clients check the master's path in a multi"
	v.BadAt = "many tasks: clients read the path for each; lost replies: clients submit the task again, and statuses remain"
	v.Lockstep.Requests, v.Free.Requests = "10.2 + 0.2/N", "14 (10.4 for N=1)"
	v.Join = join(system{open: BookChecked, newClient: NewCheckedClient, book: true})
	return v
}
