package masterworker

import (
	"context"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// Task is a task in the hands of the worker that has to execute it.
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
//  4. Having executed all, list with a watch again, and go on with whatever there is.
//
// A worker that comes back under its name finds the tasks that it left, and executes the one that it was at once more.
type Worker struct {
	session variants.Session
	lost    <-chan struct{}
	at      layout
	dir     string
	lane    variants.Lane
	inbox   inbox
	names   []string // found, and not executed yet
	current *Task
}

// NewWorker registers a worker below dir, which [Create] has prepared. lost is closed when the session is.
func NewWorker(ctx context.Context, session variants.Session, dir, name string, lost <-chan struct{}) (*Worker, error) {
	at := layoutOf(dir)
	own := path.Join(at.assign, name)
	w := &Worker{
		session: session, lost: lost, at: at, dir: own, lane: variants.NewLane(),
		inbox: inbox{session: session, lost: lost, dir: own},
	}
	if err := ensure(ctx, session, own, lost); err != nil {
		return nil, err
	}
	if err := catchUp(ctx, session, own, lost); err != nil {
		return nil, err
	}
	return w, w.inbox.rearm(ctx)
}

// Wait returns when there may be a task to execute.
func (w *Worker) Wait(ctx context.Context) error {
	return do(ctx, w.lane, w.lost, func(ctx context.Context) error {
		if w.current != nil || len(w.names) > 0 {
			return nil
		}
		return w.inbox.wait(ctx)
	})
}

// Next returns the next task, the same one until Done; false if there is none left, after which Wait waits for others.
func (w *Worker) Next(ctx context.Context) (Task, bool, error) {
	task, err := run(ctx, w.lane, w.lost, w.next)
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
		var data []byte
		assignment := path.Join(w.dir, w.names[0])
		err := variants.Retry(ctx, w.lost, func() error {
			var err error
			data, _, err = w.session.Get(assignment)
			return err
		})
		switch {
		case err == nil:
			w.current = &Task{Name: w.names[0], Data: data}
		case !errors.Is(err, zk.ErrNoNode):
			return nil, attempted("read", assignment, err)
		}
		w.names = w.names[1:]
	}
	return w.current, nil
}

// Done reports the result of the task that Next returned. After an error it may be tried again.
func (w *Worker) Done(ctx context.Context, result []byte) error {
	return do(ctx, w.lane, w.lost, func(ctx context.Context) error {
		if w.current == nil {
			return ErrNoTask
		}
		if err := w.report(ctx, w.current.Name, result); err != nil {
			return err
		}
		w.current = nil
		return nil
	})
}

func (w *Worker) report(ctx context.Context, task string, result []byte) error {
	status, assignment := path.Join(w.at.status, task), path.Join(w.dir, task)
	err := variants.Retry(ctx, w.lost, func() error {
		_, err := w.session.Multi(
			&zk.SetDataRequest{Path: status, Data: result, Version: 0},
			&zk.DeleteRequest{Path: assignment, Version: -1})
		return err
	})
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) { // reported, perhaps by an attempt whose reply was lost
		return discard(ctx, w.session, assignment, w.lost)
	}
	return attempted("report", status, err)
}

// Close takes the worker off the list. One that still has tasks stays there, and gets zk.ErrNotEmpty.
func (w *Worker) Close(ctx context.Context) error {
	return do(ctx, w.lane, w.lost, func(ctx context.Context) error { return discard(ctx, w.session, w.dir, w.lost) })
}
