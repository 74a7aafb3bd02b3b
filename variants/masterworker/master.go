package masterworker

import (
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"slices"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/variants/session"
)

// Master assigns the tasks that are pending, and the tasks of workers that are gone. Its methods may be called
// concurrently and then run one after another. A client that becomes master, as by the recipe election, makes a new one, which
// first completes what its predecessor has left half done. A master whose session is lost may be followed by another one
// while its last requests still take effect: this loses no task.
//
// The variants differ in how tasks are moved, and in how many are moved at once.
type Master struct {
	session *session.Session
	at      layout
	tasks   inbox
	workers []string       // in order
	changed *session.Watch // on the list of workers; nil if the list must be read again
	turn    int            // how many tasks have been assigned
	random  *rand.Rand     // chooses the workers; nil if they take turns
	former  []string       // directories of tasks of former masters, in which no client creates any more

	outstanding int  // how many assignments may be outstanding
	twoSteps    bool // a task is created in its new place before it is deleted from the former one; otherwise one multi does both
}

type assignment struct{ from, to string }

func newMaster(s *session.Session, dir string, outstanding int) *Master {
	at := layoutOf(dir)
	return &Master{session: s, at: at, tasks: inbox{session: s, dir: at.tasks}, outstanding: outstanding}
}

// takeOver reassigns the tasks of workers that are gone and of former masters, and lists the pending tasks with a
// watch.
func (m *Master) takeOver(ctx context.Context) error {
	for {
		_, err := m.muster(ctx)
		for err == nil && len(m.former) > 0 && len(m.workers) > 0 {
			_, err = m.inherit(ctx)
		}
		switch {
		case err == nil:
			return m.tasks.rearm(ctx)
		case !m.workerLeft(ctx, err):
			return err
		}
	}
}

// Wait returns when there may be a task to assign.
func (m *Master) Wait(ctx context.Context) error {
	return m.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		for !m.due() {
			if err := m.session.Await(ctx, m.watches()...); err != nil {
				return err
			}
		}
		return nil
	}, nil)
}

// watches returns the watches that the master waits for while nothing is due. Without workers, tasks are of no use.
func (m *Master) watches() []*session.Watch {
	if len(m.workers) == 0 {
		return []*session.Watch{m.changed}
	}
	return []*session.Watch{m.changed, m.tasks.watch}
}

func (m *Master) due() bool {
	return m.outdated() || len(m.workers) > 0 && (len(m.former) > 0 || m.tasks.due())
}

func (m *Master) outdated() bool { return m.changed == nil || m.changed.Fired() }

// Assign assigns all tasks that are pending, and the tasks of workers that are gone, and returns how many these
// were. An assignment that has begun is completed even if ctx ends. After an error Assign may be called again.
func (m *Master) Assign(ctx context.Context) (int, error) {
	return session.RunWhileAlive(ctx, m.session, m.assignAll, nil)
}

func (m *Master) assignAll(ctx context.Context) (total int, err error) {
	for done := false; !done; {
		var n int
		n, done, err = m.assignSome(ctx)
		total += n
		if err != nil && !m.workerLeft(ctx, err) {
			return total, err
		}
	}
	return total, nil
}

// workerLeft reports whether an assignment has failed because the directory of its worker is gone. The list of workers is then
// outdated even if the notification has not arrived yet.
func (m *Master) workerLeft(ctx context.Context, err error) bool {
	if !errors.Is(err, zk.ErrNoNode) || errors.Is(err, session.ErrSessionLost) || ctx.Err() != nil {
		return false
	}
	m.changed = nil
	return true
}

// assignSome brings the list of workers up to date and assigns the tasks of one listing. done reports that there were none.
func (m *Master) assignSome(ctx context.Context) (total int, done bool, err error) {
	if m.outdated() {
		if total, err = m.muster(ctx); err != nil {
			return total, false, err
		}
	}
	if len(m.workers) == 0 {
		return total, false, ErrNoWorkers
	}
	if len(m.former) > 0 {
		n, err := m.inherit(ctx)
		return total + n, false, err
	}
	tasks, err := m.tasks.next(ctx)
	if errors.Is(err, zk.ErrNoNode) {
		return total, false, ErrDeposed
	}
	if err != nil || len(tasks) == 0 {
		return total, err == nil, err
	}
	n, err := m.assign(ctx, m.tasks.dir, tasks)
	if err != nil {
		m.tasks.again()
	}
	return total + n, false, err
}

// muster lists the workers with a watch, and reassigns the tasks of workers that are gone. It returns their number.
//
// Note: assign is listed before workers. A worker creates its znodes in both at once, so that a directory without a
// worker belongs to a worker that is gone, not to one that is about to begin.
func (m *Master) muster(ctx context.Context) (total int, err error) {
	m.changed = nil
	if err := m.tasks.sync(ctx); err != nil {
		return 0, err
	}
	dirs, err := list(ctx, m.session, m.at.assign)
	if err != nil {
		return 0, err
	}
	workers, _, watch, err := m.session.ChildrenW(ctx, m.at.workers)
	if err != nil {
		return 0, session.Attempted("list "+m.at.workers, err)
	}
	slices.Sort(workers)
	m.workers = workers
	for _, name := range dirs {
		if slices.Contains(workers, name) {
			continue
		}
		n, err := m.empty(ctx, path.Join(m.at.assign, name))
		if total += n; err != nil {
			return total, err
		}
	}
	m.changed = watch
	return total, nil
}

// empty assigns the tasks in the directory of a dead worker or of a former master, and removes it. Another master that
// saw the worker alive for longer may have added a task meanwhile.
func (m *Master) empty(ctx context.Context, dir string) (total int, err error) {
	for {
		tasks, err := list(ctx, m.session, dir)
		switch {
		case errors.Is(err, zk.ErrNoNode): // another master has been faster
			return total, nil
		case err != nil:
			return total, err
		case len(tasks) > 0 && len(m.workers) == 0:
			return total, nil // until there is a worker
		}
		n, err := m.moveAll(ctx, dir, tasks)
		if total += n; !errors.Is(err, zk.ErrNotEmpty) {
			return total, err
		}
	}
}

func (m *Master) next() string {
	if m.random != nil {
		return m.workers[m.random.IntN(len(m.workers))]
	}
	m.turn++
	return m.workers[(m.turn-1)%len(m.workers)]
}

// assign moves each task from a directory to the next worker, as many at once as may be outstanding. It stops at an error, and
// returns how many tasks it has moved.
func (m *Master) assign(ctx context.Context, from string, tasks []string) (int, error) {
	var given atomic.Int64
	assignments := make([]assignment, len(tasks))
	for i, task := range tasks {
		assignments[i] = assignment{from: path.Join(from, task), to: path.Join(m.at.assign, m.next(), task)}
	}
	err := pipeline(ctx, m.outstanding, len(tasks), func(i int) error {
		ok, err := m.give(ctx, assignments[i])
		if ok {
			given.Add(1)
		}
		return err
	})
	return int(given.Load()), err
}

// give moves one task to a worker, and returns false if the task is gone. A move that has begun is completed even if ctx
// ends.
func (m *Master) give(ctx context.Context, a assignment) (bool, error) {
	data, there, err := m.session.Find(ctx, a.from)
	if err != nil || !there {
		return false, err
	}
	ctx, cancel := session.Cleanup(ctx)
	defer cancel()
	err = m.move(ctx, a, data)
	return err == nil, err
}

// operations returns the move of a task with this data as a part of a multi. The deletion comes first, because a multi reports its
// first failure: if the deletion fails, the task has been assigned, by another master or by an attempt whose reply was
// lost.
func (a assignment) operations(data []byte) []any {
	return []any{&zk.DeleteRequest{Path: a.from, Version: -1}, &zk.CreateRequest{Path: a.to, Data: data}}
}

// window is how many requests a role that pipelines has outstanding: assignments of a master, or submissions of a
// client.
const window = 10

// pipeline calls do n times, with at most so many calls outstanding. It begins no call after an error, and returns all
// errors: one of them may say that the session is lost.
func pipeline(ctx context.Context, outstanding, n int, do func(i int) error) error {
	errs := make([]error, n)
	group, stop := errgroup.WithContext(ctx)
	group.SetLimit(outstanding)
	for i := range n {
		group.Go(func() error {
			if stop.Err() == nil {
				errs[i] = do(i)
			}
			return errs[i]
		})
	}
	if group.Wait() == nil {
		return ctx.Err()
	}
	return errors.Join(errs...)
}
