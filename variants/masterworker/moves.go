package masterworker

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// move moves a task, in two steps or at once. Two steps create it in its new place, and then delete it from the former one. They may
// leave the task in both places, and so may be repeated.
func (m *Master) move(ctx context.Context, a assignment, data []byte) error {
	if m.twoSteps {
		if err := m.session.Ensure(ctx, a.to, data, 0); err != nil {
			return err
		}
		return m.session.Discard(ctx, a.from)
	}
	results, _, err := m.session.Multi(ctx, a.operations(data)...)
	if err != nil && len(results) > 0 && errors.Is(results[0].Error, zk.ErrNoNode) { // another master has assigned it
		return nil
	}
	return session.Attempted("move "+a.from+" to "+a.to, err)
}

// moveAll moves the tasks of a directory to the next workers and removes it, and returns how many tasks it has moved. The error is
// zk.ErrNotEmpty if there are further tasks.
func (m *Master) moveAll(ctx context.Context, dir string, tasks []string) (int, error) {
	if !m.twoSteps {
		return m.moveAllAtOnce(ctx, dir, tasks)
	}
	n, err := m.assign(ctx, dir, tasks)
	if err != nil {
		return n, err
	}
	return n, m.session.Discard(ctx, dir)
}

// mostMoved limits the tasks that one multi moves, because a request has a limited size.
const mostMoved = 100

// moveAllAtOnce moves all tasks of a directory in one multi. If that fails because something has changed, the caller lists again.
func (m *Master) moveAllAtOnce(ctx context.Context, dir string, tasks []string) (int, error) {
	var ops []any
	moved := tasks[:min(len(tasks), mostMoved)]
	for _, task := range moved {
		a := assignment{from: path.Join(dir, task), to: path.Join(m.at.assign, m.next(), task)}
		switch data, there, err := m.session.Find(ctx, a.from); {
		case err != nil:
			return 0, err
		case there:
			ops = append(ops, a.operations(data)...)
		}
	}
	count, all := len(ops)/2, len(moved) == len(tasks)
	if all {
		ops = append(ops, &zk.DeleteRequest{Path: dir, Version: -1})
	}
	_, _, err := m.session.Multi(ctx, ops...)
	switch {
	case err != nil:
		return 0, session.Attempted("assign the tasks of "+dir+" again", err)
	case !all:
		return count, zk.ErrNotEmpty
	}
	return count, nil
}

func newTwoSteps(ctx context.Context, s *session.Session, dir string, outstanding int) (*Master, error) {
	m := newMaster(s, dir, outstanding)
	m.twoSteps = true
	if err := m.disambiguate(ctx); err != nil {
		return m, err
	}
	return m, m.takeOver(ctx)
}

// disambiguate looks for tasks in two places: a master may have died between the two steps of a move. Such a task is
// deleted from where it was moved from: the pending tasks, or the directory of a worker that is gone. A task that has
// been executed and deleted from its new place looks like one that was never moved.
func (m *Master) disambiguate(ctx context.Context) error {
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

// assignedTo returns the directories of all workers, dead workers last.
func (m *Master) assignedTo(ctx context.Context) (dirs []string, err error) {
	names, err := list(ctx, m.session, m.at.assign)
	if err != nil {
		return nil, err
	}
	workers, err := list(ctx, m.session, m.at.workers)
	if err != nil {
		return nil, err
	}
	for _, alive := range []bool{true, false} {
		for _, name := range names {
			if slices.Contains(workers, name) == alive {
				dirs = append(dirs, path.Join(m.at.assign, name))
			}
		}
	}
	return dirs, nil
}
