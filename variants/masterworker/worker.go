package masterworker

import (
	"context"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// Task is a task that a worker has to execute.
type Task struct {
	Name string
	Data []byte
}

// Worker executes the tasks that are assigned to it, one after another. Its methods may be called concurrently and then
// run one after another.
//
//  1. Create assign/<name>, sync, and list it with a watch.
//  2. When the watch fires, list it without one. Read each task and execute it.
//  3. In one multi, write the result to status/<task>, at version 0, and delete the assignment. If the status has been
//     written, or is gone, the task was a duplicate: delete the assignment alone.
//  4. After all tasks, list with a watch again, and continue with the tasks that are there.
//
// A worker that comes back under its name finds the tasks that it left, and executes the one that it had begun again.
type Worker struct {
	session *variants.Session
	at      layout
	dir     string
	inbox   inbox
	names   []string // found, and not executed yet
	current *Task
}

// NewWorker registers a worker below dir, which [Create] has prepared.
func NewWorker(ctx context.Context, session *variants.Session, dir, name string) (*Worker, error) {
	at := layoutOf(dir)
	own := path.Join(at.assign, name)
	w := &Worker{session: session, at: at, dir: own, inbox: inbox{session: session, dir: own}}
	if err := session.Ensure(ctx, own, nil, 0); err != nil {
		return nil, err
	}
	return w, w.inbox.open(ctx)
}

// Wait returns when there may be a task to execute.
func (w *Worker) Wait(ctx context.Context) error {
	return do(ctx, w.session, func(ctx context.Context) error {
		if w.current != nil || len(w.names) > 0 {
			return nil
		}
		return w.inbox.wait(ctx)
	})
}

// Next returns the next task, the same one until Done; false if there is none left, after which Wait waits for others.
func (w *Worker) Next(ctx context.Context) (Task, bool, error) {
	task, err := run(ctx, w.session, w.next)
	if err != nil || task == nil {
		return Task{}, false, err
	}
	return *task, true, nil
}

func (w *Worker) next(ctx context.Context) (*Task, error) {
	for w.current == nil {
		if len(w.names) == 0 {
			var err error
			if w.names, err = w.inbox.next(ctx); err != nil || len(w.names) == 0 {
				return nil, err
			}
		}
		assignment := path.Join(w.dir, w.names[0])
		data, _, err := w.session.Get(ctx, assignment)
		switch {
		case err == nil:
			w.current = &Task{Name: w.names[0], Data: data}
		case !errors.Is(err, zk.ErrNoNode):
			return nil, variants.Attempted("read "+assignment, err)
		}
		w.names = w.names[1:]
	}
	return w.current, nil
}

// Done reports the result of the task that Next returned. After an error it may be tried again.
func (w *Worker) Done(ctx context.Context, result []byte) error {
	return do(ctx, w.session, func(ctx context.Context) error {
		if w.current == nil {
			return ErrNoTask
		}
		err := w.report(ctx, w.current.Name, result)
		if err == nil {
			w.current = nil
		}
		return err
	})
}

func (w *Worker) report(ctx context.Context, task string, result []byte) error {
	status, assignment := path.Join(w.at.status, task), path.Join(w.dir, task)
	_, _, err := w.session.Multi(ctx,
		&zk.SetDataRequest{Path: status, Data: result, Version: 0},
		&zk.DeleteRequest{Path: assignment, Version: -1})
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) { // reported, perhaps by an attempt whose reply was lost
		return w.session.Discard(ctx, assignment)
	}
	return variants.Attempted("report "+status, err)
}

// Close removes the worker from the list of workers. A worker that still has tasks stays there, and gets zk.ErrNotEmpty.
func (w *Worker) Close(ctx context.Context) error {
	return do(ctx, w.session, func(ctx context.Context) error { return w.session.Discard(ctx, w.dir) })
}
