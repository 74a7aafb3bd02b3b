// Package masterworker compares four ways for a master to hand tasks to workers.
//
// It takes one position: the master is what differs. Clients and workers are the same for all variants, so that what is
// compared is how a task gets from those that are pending to one worker's, and how many of them are on their way at once.
//
// The promise, to which all are held: a task whose submission was acknowledged is executed, and its client learns the
// result, even if the master dies in the middle of an assignment and another one takes over. A task that is moved in one
// multi is given to one worker only; one that is created here and deleted there may be given to two, which are counted.
//
//	variant                       writes per assignment  assignments at once  a task after the master has died
//	create-then-delete            2                      1                    may be pending and assigned, or executed
//	create-then-delete-pipelined  2                      10                   as above, up to 10 tasks
//	multi                         1                      1                    is pending or assigned
//	multi-pipelined               1                      10                   is pending or assigned
//
// The znodes are those of the book's example, below a directory:
//
//	tasks/<task>             a pending task
//	assign/<worker>/<task>   a task that a worker has to execute, with what tasks/<task> held
//	status/<task>            empty until the task has been executed, then its result
//
// Two things are not in the book. Its worker creates the status; here the client creates it, together with the task, and
// the worker writes to it. So a client whose reply was lost does not submit a task twice even if it has been executed
// meanwhile, a worker learns whether somebody else was faster, and a late duplicate leaves nothing behind. And the book
// deletes neither the assignment nor the status. Here the worker deletes the assignment in the multi that writes the
// status, and the client deletes the statuses of a batch in one multi: one write more for a batch.
//
// Who is master is another recipe, election. Which workers are alive is another one, too: a worker that dies keeps its
// tasks until one of the same name comes back.
package masterworker

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Master assigns the tasks that are pending. Its methods may be called concurrently and then run one after another.
//
// Whoever becomes master makes a new one, which first puts in order what its predecessor has left half done.
type Master interface {
	// Wait returns when there may be a task to assign.
	Wait(ctx context.Context) error
	// Assign assigns all tasks that are pending, to the workers in turn, and returns how many those were. An assignment
	// that has begun is brought to an end although ctx has ended. After an error it may be called again.
	Assign(ctx context.Context) (int, error)
}

// The errors that tell a caller what it has done wrong.
var (
	// ErrNoWorkers is returned by Assign if there is nobody to assign tasks to. They remain pending.
	ErrNoWorkers = errors.New("there are no workers")
	// ErrNoTask is returned by Done if no task is being executed.
	ErrNoTask = errors.New("no task is being executed")
	// ErrNoBatch is returned by Result for a task that has not been submitted.
	ErrNoBatch = errors.New("the task is not in a batch that was submitted")
	// ErrOutstanding is returned by Submit before the last batch has been finished.
	ErrOutstanding = errors.New("the last batch of tasks has not been finished")
)

// layout is where things are.
type layout struct{ tasks, assign, status string }

func layoutOf(dir string) layout {
	return layout{path.Join(dir, "tasks"), path.Join(dir, "assign"), path.Join(dir, "status")}
}

// Create makes the directories below an existing znode dir. Those that exist are left as they are.
func Create(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) error {
	at := layoutOf(dir)
	for _, p := range []string{at.tasks, at.assign, at.status} {
		if err := ensure(ctx, session, p, lost); err != nil {
			return err
		}
	}
	return nil
}

// ensure makes sure that a persistent znode exists.
func ensure(ctx context.Context, session variants.Session, path string, lost <-chan struct{}) error {
	err := variants.Retry(ctx, lost, func() error {
		_, err := session.Create(path, nil, 0, variants.WorldACL())
		return err
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return attempted("create", path, err)
}

// discard deletes a znode that may be gone already.
func discard(ctx context.Context, session variants.Session, path string, lost <-chan struct{}) error {
	err := variants.Retry(ctx, lost, func() error { return session.Delete(path, -1) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return attempted("delete", path, err)
}

// attempted says what was attempted when err came; a lost session needs no more words.
func attempted(what, path string, err error) error {
	if err == nil || errors.Is(err, variants.ErrSessionLost) {
		return err
	}
	return fmt.Errorf("%s %s: %w", what, path, err)
}

// run runs op on a client's lane unless the session is lost. There is nothing to undo when its caller has left: what was
// achieved is remembered, and the next call goes on from there.
func run[T any](ctx context.Context, lane variants.Lane, lost <-chan struct{}, op func(context.Context) (T, error)) (T, error) {
	if err := variants.Alive(lost); err != nil {
		var zero T
		return zero, err
	}
	return variants.Run(ctx, lane, func(ctx context.Context) (T, error) {
		if err := ctx.Err(); err != nil {
			var zero T
			return zero, err
		}
		return op(ctx)
	}, func(T) {})
}

// do is run for what returns nothing.
func do(ctx context.Context, lane variants.Lane, lost <-chan struct{}, op func(context.Context) error) error {
	_, err := run(ctx, lane, lost, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) })
	return err
}

// Recipe returns the recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:    "masterworker",
		Summary: "a master hands tasks to workers, and dies without losing any",
		Source:  "Junqueira and Reed, ZooKeeper, chapter 4",
		Variants: []variants.Variant{
			createThenDeleteVariant(), createThenDeletePipelinedVariant(), multiVariant(), multiPipelinedVariant(),
		},
		Phases:      phases(),
		Spans:       spans,
		Operation:   phaseTask,
		Batch:       share,
		CountFrom:   variants.FromStart,
		Collective:  true,
		Check:       check,
		CheckPrefix: checkPrefix,
		Code:        code,
	}
}
