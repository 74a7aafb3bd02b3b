package masterworker

import (
	"context"
	"errors"
	"path"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// window is how many assignments a pipelined master has under way at once.
const window = 10

// master is what the variants share: how tasks are found, and that each goes to the next worker. They differ in how a
// task is moved, and in how many of them are at once.
type master struct {
	session variants.Session
	lost    <-chan struct{}
	at      layout
	lane    variants.Lane
	tasks   inbox
	turn    int // how many tasks have been assigned

	outstanding int                                     // how many assignments may be under way at once
	move        func(context.Context, assignment) error // finds that the task is gone if somebody else has assigned it
}

// assignment is one task on its way to one worker.
type assignment struct {
	pending  string // its path before
	assigned string // and after
	data     []byte
}

func newMaster(session variants.Session, dir string, lost <-chan struct{}) *master {
	at := layoutOf(dir)
	return &master{
		session: session, lost: lost, at: at, lane: variants.NewLane(),
		tasks:       inbox{session: session, lost: lost, dir: at.tasks},
		outstanding: 1,
	}
}

// Wait implements [Master].
func (m *master) Wait(ctx context.Context) error { return do(ctx, m.lane, m.lost, m.tasks.wait) }

// Assign implements [Master].
func (m *master) Assign(ctx context.Context) (int, error) {
	return run(ctx, m.lane, m.lost, func(ctx context.Context) (int, error) {
		workers, err := list(ctx, m.session, m.at.assign, m.lost)
		switch {
		case err != nil:
			return 0, err
		case len(workers) == 0:
			return 0, ErrNoWorkers
		}
		total := 0
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
	})
}

// assign gives each task to the next worker, and returns how many tasks were still there to be given.
func (m *master) assign(ctx context.Context, tasks, workers []string) (int, error) {
	var assigned atomic.Int64
	first := m.turn
	m.turn += len(tasks)
	err := m.each(ctx, len(tasks), func(i int) error {
		worker := workers[(first+i)%len(workers)]
		given, err := m.give(ctx, tasks[i], worker)
		if given {
			assigned.Add(1)
		}
		return err
	})
	return int(assigned.Load()), err
}

// each calls do for 0 … n-1, in this order, with as many calls at once as may be outstanding. It stops at an error.
func (m *master) each(ctx context.Context, n int, do func(i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	numbers := make(chan int)
	errs := make([]error, m.outstanding)
	var group sync.WaitGroup
	for g := range m.outstanding {
		group.Go(func() {
			for i := range numbers {
				if err := do(i); err != nil {
					errs[g] = errors.Join(errs[g], err)
					cancel()
				}
			}
		})
	}
	var err error
	for i := 0; i < n && err == nil; i++ {
		select {
		case numbers <- i:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	close(numbers)
	group.Wait()
	if failed := errors.Join(errs...); failed != nil {
		return failed
	}
	return err
}

// give moves one task to a worker, and returns false if it is gone. What has been begun is brought to an end although ctx
// has ended.
func (m *master) give(ctx context.Context, task, worker string) (bool, error) {
	a := assignment{pending: path.Join(m.at.tasks, task), assigned: path.Join(m.at.assign, worker, task)}
	err := variants.Retry(ctx, m.lost, func() error {
		var err error
		a.data, _, err = m.session.Get(a.pending)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	if err != nil {
		return false, attempted("read", a.pending, err)
	}
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	if err := m.move(ctx, a); err != nil {
		return false, err
	}
	return true, nil
}

// createThenDelete moves a task in two steps. It may leave the task in both places, and so may be repeated.
func (m *master) createThenDelete(ctx context.Context, a assignment) error {
	err := variants.Retry(ctx, m.lost, func() error {
		_, err := m.session.Create(a.assigned, a.data, 0, variants.WorldACL())
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return attempted("create", a.assigned, err)
	}
	return discard(ctx, m.session, a.pending, m.lost)
}

// multi moves a task in one step. The deletion comes first, because a multi reports what fails first: if that is the
// deletion, somebody has assigned the task, perhaps this master in an attempt whose reply was lost.
func (m *master) multi(ctx context.Context, a assignment) error {
	err := variants.Retry(ctx, m.lost, func() error {
		results, err := m.session.Multi(
			&zk.DeleteRequest{Path: a.pending, Version: -1},
			&zk.CreateRequest{Path: a.assigned, Data: a.data, Acl: variants.WorldACL()})
		if err != nil && len(results) > 0 && errors.Is(results[0].Error, zk.ErrNoNode) {
			return nil
		}
		return err
	})
	return attempted("move "+a.pending+" to", a.assigned, err)
}

// takeOverAnything begins where all pending tasks are unassigned.
func (m *master) takeOverAnything(ctx context.Context) error {
	if err := catchUp(ctx, m.session, m.at.tasks, m.lost); err != nil {
		return err
	}
	return m.tasks.rearm(ctx)
}

// takeOverDoubtful begins where a task that is pending may have been assigned. If it still is, it is no longer pending;
// one that has been executed since then cannot be told from a new one.
func (m *master) takeOverDoubtful(ctx context.Context) error {
	if err := catchUp(ctx, m.session, m.at.tasks, m.lost); err != nil {
		return err
	}
	pending, err := list(ctx, m.session, m.at.tasks, m.lost)
	if err != nil {
		return err
	}
	assigned, err := m.assigned(ctx)
	if err != nil {
		return err
	}
	for _, task := range pending {
		if assigned[task] {
			if err := discard(ctx, m.session, path.Join(m.at.tasks, task), m.lost); err != nil {
				return err
			}
		}
	}
	return m.tasks.rearm(ctx)
}

// assigned returns the tasks of all workers.
func (m *master) assigned(ctx context.Context) (map[string]bool, error) {
	workers, err := list(ctx, m.session, m.at.assign, m.lost)
	if err != nil {
		return nil, err
	}
	assigned := map[string]bool{}
	for _, worker := range workers {
		tasks, err := list(ctx, m.session, path.Join(m.at.assign, worker), m.lost)
		if err != nil && !errors.Is(err, zk.ErrNoNode) { // a worker that has just left has none
			return nil, err
		}
		for _, task := range tasks {
			assigned[task] = true
		}
	}
	return assigned, nil
}
