package masterworker

import (
	"context"
	"errors"
	"path"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/variants"
)

// window is how many assignments a pipelined master has outstanding.
const window = 10

// master is what the variants share: how tasks are found, and that each goes to the next worker. They differ in how a
// task is moved, and in how many are moved at once.
type master struct {
	session *variants.Session
	at      layout
	tasks   inbox
	turn    int // how many tasks have been assigned

	outstanding int                                     // how many assignments may be outstanding
	move        func(context.Context, assignment) error // no error if another master has assigned the task
}

// assignment is one task on its way to one worker.
type assignment struct {
	pending  string // its path before
	assigned string // and after
	data     []byte
}

func newMaster(session *variants.Session, dir string, outstanding int) *master {
	at := layoutOf(dir)
	return &master{
		session: session, at: at, tasks: inbox{session: session, dir: at.tasks}, outstanding: outstanding,
	}
}

// Wait implements [Master].
func (m *master) Wait(ctx context.Context) error { return do(ctx, m.session, m.tasks.wait) }

// Assign implements [Master].
func (m *master) Assign(ctx context.Context) (int, error) { return run(ctx, m.session, m.assignAll) }

func (m *master) assignAll(ctx context.Context) (total int, err error) {
	workers, err := list(ctx, m.session, m.at.assign)
	switch {
	case err != nil:
		return 0, err
	case len(workers) == 0:
		return 0, ErrNoWorkers
	}
	for {
		tasks, err := m.tasks.next(ctx)
		if err != nil || len(tasks) == 0 {
			return total, err
		}
		n, err := m.assign(ctx, tasks, workers)
		if total += n; err != nil {
			m.tasks.again()
			return total, err
		}
	}
}

// assign gives each task to the next worker, as many at once as may be outstanding. It stops at an error, and returns how
// many tasks it has given.
func (m *master) assign(ctx context.Context, tasks, workers []string) (int, error) {
	var given atomic.Int64
	errs := make([]error, len(tasks))
	group, stop := errgroup.WithContext(ctx)
	group.SetLimit(m.outstanding)
	for i, task := range tasks {
		worker := workers[m.turn%len(workers)]
		m.turn++
		group.Go(func() error {
			if stop.Err() != nil {
				return nil //nolint:nilerr // it is reported by the task that failed, or as the end of ctx
			}
			ok, err := m.give(ctx, task, worker)
			if ok {
				given.Add(1)
			}
			errs[i] = err
			return err
		})
	}
	if group.Wait() == nil {
		return int(given.Load()), ctx.Err()
	}
	return int(given.Load()), errors.Join(errs...) // not only the first: one of them may say that the session is lost
}

// give moves one task to a worker, and returns false if the task is gone. A move that has begun is completed even if ctx
// ends.
func (m *master) give(ctx context.Context, task, worker string) (bool, error) {
	a := assignment{pending: path.Join(m.at.tasks, task), assigned: path.Join(m.at.assign, worker, task)}
	var err error
	a.data, _, err = m.session.Get(ctx, a.pending)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	if err != nil {
		return false, variants.Attempted("read "+a.pending, err)
	}
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	err = m.move(ctx, a)
	return err == nil, err
}

// createThenDelete moves a task in two steps. It may leave the task in both places, and so may be repeated.
func (m *master) createThenDelete(ctx context.Context, a assignment) error {
	if err := m.session.Ensure(ctx, a.assigned, a.data, 0); err != nil {
		return err
	}
	return m.session.Discard(ctx, a.pending)
}

// multi moves a task in one step. The deletion comes first, because a multi reports its first failure: if that is the
// deletion, the task has been assigned, by another master or by an attempt whose reply was lost.
func (m *master) multi(ctx context.Context, a assignment) error {
	results, _, err := m.session.Multi(ctx,
		&zk.DeleteRequest{Path: a.pending, Version: -1},
		&zk.CreateRequest{Path: a.assigned, Data: a.data, Acl: variants.WorldACL()})
	if err != nil && len(results) > 0 && errors.Is(results[0].Error, zk.ErrNoNode) {
		return nil
	}
	return variants.Attempted("move "+a.pending+" to "+a.assigned, err)
}

// takeOverDoubtful begins where a pending task may have been assigned. If a worker still has it, it is deleted from the
// pending ones. A task that has been executed since then looks like a new one.
func (m *master) takeOverDoubtful(ctx context.Context) error {
	if err := m.tasks.sync(ctx); err != nil {
		return err
	}
	pending, err := list(ctx, m.session, m.at.tasks)
	if err != nil {
		return err
	}
	assigned, err := m.assigned(ctx)
	if err != nil {
		return err
	}
	for _, task := range pending {
		if !assigned[task] {
			continue
		}
		if err := m.session.Discard(ctx, path.Join(m.at.tasks, task)); err != nil {
			return err
		}
	}
	return m.tasks.rearm(ctx)
}

// assigned returns the tasks of all workers.
func (m *master) assigned(ctx context.Context) (map[string]bool, error) {
	workers, err := list(ctx, m.session, m.at.assign)
	if err != nil {
		return nil, err
	}
	assigned := map[string]bool{}
	for _, worker := range workers {
		tasks, err := list(ctx, m.session, path.Join(m.at.assign, worker))
		if err != nil && !errors.Is(err, zk.ErrNoNode) { // a worker that has just left has none
			return nil, err
		}
		for _, task := range tasks {
			assigned[task] = true
		}
	}
	return assigned, nil
}
