// Package masterworker compares ways for a master to hand tasks to workers.
//
// It takes one position: only the master differs. How a pending task becomes a task of one worker, and how many tasks are
// moved at once, is compared with the same clients and workers, of two kinds: the ones of the book, and others that avoid
// some of its losses and requests.
//
// The promise of all variants: a task whose submission was acknowledged is executed, and its client learns the result unless the
// client's own session ends, even if the master dies during an assignment, or a worker with tasks.
//
// No variant promises that a task is executed once only. A worker that dies, or loses its session, after it has executed a task and
// before its report has taken effect leaves a task that looks as if it had not been begun. It is executed again. That is inherent in
// tasks with effects that ZooKeeper does not see. A task that is moved in two steps may also be executed twice if the master died
// during the move or lost a reply. A task that is moved in one multi may not. All these are counted. Duplicates without such a cause
// break the promise: there may be no more of them than assignments, submissions and reports that were interrupted.
//
//	variant                       clients  writes per assignment  assignments at once  a task after the master has died
//	book                          book's   2                      10                   may be in two places, or executed
//	create-then-delete            ours     2                      1                    may be in two places, or executed
//	create-then-delete-pipelined  ours     2                      10                   as above, up to 10 tasks
//	multi                         ours     1                      1                    is in one place
//	multi-pipelined               ours     1                      10                   is in one place
//	book-multi                    book's   1                      10                   is in one place
//	book-checked                  book's   1                      10                   is in one place, which no client adds to
//
// From create-then-delete to multi only the move of a task changes, and likewise with both pipelined, and from book to
// book-multi. From create-then-delete and from multi to its pipelined form only the number of assignments at once changes. The
// pipelined masters are the book's asynchronous one. From book-multi to book-checked only the way in which clients find out where to
// create a task changes.
//
// The znodes are the ones of the book's example, below a directory:
//
//	master                   the master's ephemeral znode, which the backup masters watch
//	master-path              where clients create tasks; only book-checked reads and writes it
//	workers/<worker>         a worker's ephemeral znode; the master watches the list
//	tasks/<task>             a pending task; tasks-<mid>/<task> with book-checked
//	assign/<worker>/<task>   a task that a worker has to execute, with what tasks/<task> held
//	status/<task>            the result; with our clients it exists before, and is empty until the task has been executed
//
// When a worker's znode is gone, the master moves the worker's tasks to others, in the way in which it moves pending tasks or all in
// one multi, and removes its directory. A new master begins with the same for all directories that have no worker.
//
// The clients and workers of [Book] create tasks one by one, and doubly after a lost reply. Those of the other variants make a batch,
// and a report with the end of its assignment, in one multi each: see [Client] and [Worker]. The status is there before the task is
// executed, under a name that its client has chosen. So a client whose reply was lost does not submit a task twice even if it has
// been executed meanwhile, a worker notices that another one was faster, and a late duplicate leaves nothing behind. The status is
// ephemeral, so that a client that dies leaves none. Master and workers list without a watch what they are about to empty.
//
// With either kind, a worker creates both of its znodes in one multi. The book's master finds out which workers have died by comparing
// two lists of workers, which a new master does not have. Here it compares the directories with the workers.
//
// Which of many candidates is elected, and at what cost, is the subject of the recipe election. The cost of a change of
// members is the subject of the recipe membership.
package masterworker

import (
	"context"
	"embed"
	"errors"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// The errors of calls that are not possible at the moment.
var (
	// ErrNoWorkers is returned by Assign if there are no workers. The tasks remain pending, and Wait waits for a worker.
	ErrNoWorkers = errors.New("there are no workers")
	// ErrDeposed is returned by Assign if another master has taken over and removed the directory of this one's tasks.
	// [BookChecked] returns it, too, if another master has directed the clients meanwhile, perhaps a former one: a
	// client that is still elected may call it again.
	ErrDeposed = errors.New("another master has taken over")
	// ErrNoTask is returned by Done if no task is being executed.
	ErrNoTask = errors.New("no task is being executed")
	// ErrNoBatch is returned by Result for a task that has not been submitted.
	ErrNoBatch = errors.New("the task is not in a batch that was submitted")
	// ErrOutstanding is returned by Submit before the last batch has been finished.
	ErrOutstanding = errors.New("the last batch of tasks has not been finished")
)

type layout struct{ master, masterPath, workers, tasks, assign, status string }

func layoutOf(dir string) layout {
	return layout{
		master: path.Join(dir, "master"), masterPath: path.Join(dir, "master-path"), workers: path.Join(dir, "workers"),
		tasks: path.Join(dir, "tasks"), assign: path.Join(dir, "assign"), status: path.Join(dir, "status"),
	}
}

// Create creates the directories below an existing znode dir, except for those that exist.
func Create(ctx context.Context, s *session.Session, dir string) error {
	at := layoutOf(dir)
	for _, p := range []string{at.workers, at.tasks, at.assign, at.status} {
		if err := s.Ensure(ctx, p, nil, 0); err != nil {
			return err
		}
	}
	return s.Ensure(ctx, at.masterPath, []byte(at.tasks), 0)
}

// orphans counts the statuses that are left when all clients have gone. The next master and its workers deal with the
// other znodes that failures leave behind, such as the tasks of a client that has died.
func orphans(ctx context.Context, env variants.Env) (int64, error) {
	left, err := list(ctx, env.Session, layoutOf(env.Root).status)
	return int64(len(left)), err
}

// Recipe returns the recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:    "masterworker",
		Summary: "a master hands tasks to workers; both die without losing any",
		Source:  "Junqueira and Reed, ZooKeeper, chapter 4",
		Variants: []variants.Variant{
			bookVariant(), createThenDeleteVariant(), createThenDeletePipelinedVariant(),
			multiVariant(), multiPipelinedVariant(), bookMultiVariant(), bookCheckedVariant(),
		},
		Phases:    phases(),
		Operation: phaseTask,
		Workload: variants.Workload{
			Together:   true, // they take batches in turns
			Batch:      share,
			Collective: true,
			Roles:      []string{roleMaster, roleWorker, roleSubmitter},
		},
		Losses:      []variants.Loss{variants.ItemsLost, variants.ItemsDoubled, variants.Orphans, variants.Blocked},
		Orphans:     orphans,
		NewObserver: newObserver,
		Code:        code,
		Prepare:     func(ctx context.Context, env variants.Env) error { return Create(ctx, env.Session, env.Root) },
		Calls:       []variants.EventKind{Submitting},
		Events: []string{
			"puts tasks in doubt", "submits a task", "has submitted a task", "learns a result", "gives up its tasks",
			"has nothing to assign", "assigns",
			"has assigned all", "has nothing to do", "is notified of tasks", "executes a task", "has reported it",
			"gives it up", "reports in two steps",
		},
		Bound: variants.Bound{Phase: phaseTask, Writes: "1 + 0.2/N", Reads: "0.1", Notifications: "0.1 + 0.2/N",
			Why: "A report is a write for each task, as a worker that dies may leave one to be executed again; in a batch of 10N " +
				"tasks, one write may submit and one assign all, and each worker is notified and reads once, and the master and the " +
				"client are notified once"},
	}
}
