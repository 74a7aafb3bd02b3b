package masterworker

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// newTwoSteps takes over as a master that moves a task in two steps.
func newTwoSteps(ctx context.Context, session *variants.Session, dir string, outstanding int) (*master, error) {
	m := newMaster(session, dir, outstanding)
	m.move, m.bury = m.createThenDelete, m.buryOneByOne
	if err := m.disambiguate(ctx); err != nil {
		return m, err
	}
	return m, m.takeOver(ctx)
}

// createThenDelete moves a task in two steps. It may leave the task in both places, and so may be repeated.
func (m *master) createThenDelete(ctx context.Context, a assignment) error {
	if err := m.session.Ensure(ctx, a.to, a.data, 0); err != nil {
		return err
	}
	return m.session.Discard(ctx, a.from)
}

// buryOneByOne assigns the tasks of a dead worker again, as those that are pending are assigned, and removes its directory. A
// master that saw the worker alive for longer may have added a task meanwhile.
func (m *master) buryOneByOne(ctx context.Context, dir string) (total int, err error) {
	for {
		tasks, err := list(ctx, m.session, dir)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return total, nil
		case err != nil:
			return total, err
		case len(tasks) > 0 && len(m.workers) == 0:
			return total, nil // until there is a worker
		}
		n, err := m.assign(ctx, dir, tasks)
		if total += n; err != nil {
			return total, err
		}
		if err := m.session.Discard(ctx, dir); !errors.Is(err, zk.ErrNotEmpty) {
			return total, err
		}
	}
}

// disambiguate begins where a master may have died between the two steps of a move, so that a task is in two places. The task is
// deleted from where it was moved from: the pending tasks, or the directory of a worker that is gone. A task that has been executed
// and deleted from where it was moved to looks like one that was never moved.
func (m *master) disambiguate(ctx context.Context) error {
	if err := m.tasks.sync(ctx); err != nil {
		return err
	}
	dirs, err := m.assignedTo(ctx)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, dir := range append(dirs, m.at.tasks) {
		tasks, err := list(ctx, m.session, dir)
		if err != nil && !errors.Is(err, zk.ErrNoNode) { // a worker that has just left has none
			return err
		}
		for _, task := range tasks {
			if !seen[task] {
				seen[task] = true
				continue
			}
			if err := m.session.Discard(ctx, path.Join(dir, task)); err != nil {
				return err
			}
		}
	}
	return nil
}

// assignedTo returns the directories of all workers, those of dead workers last.
func (m *master) assignedTo(ctx context.Context) ([]string, error) {
	names, err := list(ctx, m.session, m.at.assign)
	if err != nil {
		return nil, err
	}
	workers, err := list(ctx, m.session, m.at.workers)
	if err != nil {
		return nil, err
	}
	var alive, dead []string
	for _, name := range names {
		if slices.Contains(workers, name) {
			alive = append(alive, path.Join(m.at.assign, name))
		} else {
			dead = append(dead, path.Join(m.at.assign, name))
		}
	}
	return append(alive, dead...), nil
}
