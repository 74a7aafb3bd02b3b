package masterworker

import (
	"context"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// Task is a task that a worker has to execute.
type Task struct {
	Name string
	Data []byte
}

// Worker executes the tasks that are assigned to it, one after another. Its methods may be called concurrently and then
// run one after another. One of [NewWorker] works as follows; [NewBookWorker] describes another.
//
//  1. In one multi, create assign/<name> and an ephemeral workers/<name>. Sync, and list assign/<name> with a watch.
//  2. When the watch fires, list it without one. Read each task and execute it.
//  3. In one multi, write the result to status/<task>, at version 0, and delete the assignment. If the status has been
//     written, or is gone, the task was a duplicate: delete the assignment alone.
//  4. After all tasks, list with a watch again, and continue with the tasks that are there.
//
// When its session ends, workers/<name> is gone, and the master assigns its tasks again. A client that comes back is a new worker
// with another name.
//
// The book creates assign/<name> before workers/<name>, so that a master does not assign to a worker without a directory.
// With the multi a directory without a worker always belongs to a worker that is gone.
type Worker struct {
	session *session.Session
	at      layout
	member  string // its ephemeral znode
	dir     string // of its assignments
	inbox   inbox
	names   []string // found, and not executed yet
	current *Task
	book    bool // works as [NewBookWorker] describes
}

// NewWorker registers a worker below dir, which [Create] has prepared. No earlier worker may have had its name, because
// the master may still have to reassign that worker's tasks.
func NewWorker(ctx context.Context, s *session.Session, dir, name string) (*Worker, error) {
	return newWorker(ctx, s, dir, name, false)
}

func newWorker(ctx context.Context, s *session.Session, dir, name string, book bool) (*Worker, error) {
	at := layoutOf(dir)
	w := &Worker{session: s, at: at, member: path.Join(at.workers, name), dir: path.Join(at.assign, name), book: book}
	w.inbox = inbox{session: s, dir: w.dir, always: book}
	err := w.register(ctx)
	if err == nil {
		err = w.inbox.sync(ctx)
	}
	if err == nil {
		err = w.inbox.rearm(ctx)
	}
	return w, err
}

func (w *Worker) register(ctx context.Context) error {
	_, repeated, err := w.session.Multi(ctx, &zk.CreateRequest{Path: w.dir}, &zk.CreateRequest{Path: w.member, Flags: zk.FlagEphemeral})
	if repeated && errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return session.Attempted("register "+w.member, err)
}

// Wait returns when there may be a task to execute.
func (w *Worker) Wait(ctx context.Context) error {
	return w.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		if w.due() {
			return nil
		}
		return w.session.Await(ctx, w.inbox.watch)
	}, nil)
}

func (w *Worker) due() bool { return w.current != nil || len(w.names) > 0 || w.inbox.due() }

// Next returns the next task, the same one until Done; nil if there is none left, after which Wait waits for others.
func (w *Worker) Next(ctx context.Context) (*Task, error) {
	return session.RunWhileAlive(ctx, w.session, w.next, nil)
}

func (w *Worker) next(ctx context.Context) (_ *Task, err error) {
	for w.current == nil {
		if len(w.names) == 0 {
			if w.names, err = w.inbox.next(ctx); err != nil || len(w.names) == 0 {
				return nil, err
			}
		}
		data, found, err := w.session.Find(ctx, path.Join(w.dir, w.names[0]))
		if err != nil {
			return nil, err
		}
		if found {
			w.current = &Task{Name: w.names[0], Data: data}
		}
		w.names = w.names[1:]
	}
	return w.current, nil
}

// Done reports the result of the task that Next returned. After an error it may be tried again, but not after
// session.ErrSessionLost: then it is not known whether the report took effect, and another worker may get the task.
func (w *Worker) Done(ctx context.Context, result []byte) error {
	return w.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		if w.current == nil {
			return ErrNoTask
		}
		report := w.reportAtOnce
		if w.book {
			report = w.reportThenDelete
		}
		if err := report(ctx, w.current.Name, result); err != nil {
			return err
		}
		w.current = nil
		return nil
	}, nil)
}

func (w *Worker) reportAtOnce(ctx context.Context, task string, result []byte) error {
	status, assignment := path.Join(w.at.status, task), path.Join(w.dir, task)
	_, _, err := w.session.Multi(ctx,
		&zk.SetDataRequest{Path: status, Data: result, Version: 0},
		&zk.DeleteRequest{Path: assignment, Version: -1})
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) { // reported, perhaps by an attempt whose reply was lost
		return w.session.Discard(ctx, assignment)
	}
	return session.Attempted("report "+status, err)
}

// Close removes the worker from the list of workers. If it still has tasks, the master assigns them again.
func (w *Worker) Close(ctx context.Context) error {
	return w.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		if err := w.session.Discard(ctx, w.member); err != nil {
			return err
		}
		err := w.session.Discard(ctx, w.dir)
		if errors.Is(err, zk.ErrNotEmpty) {
			return nil
		}
		return err
	}, nil)
}
