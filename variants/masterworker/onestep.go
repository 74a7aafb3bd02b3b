package masterworker

import (
	"context"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// newOneStep takes over as a master that moves a task in one step.
func newOneStep(ctx context.Context, session *variants.Session, dir string, outstanding int) (*master, error) {
	m := newMaster(session, dir, outstanding)
	m.move, m.bury = m.multi, m.buryAtOnce
	return m, m.takeOver(ctx)
}

// takeOver assigns the tasks of workers that are gone again, and those of masters before, and lists the pending tasks with a watch.
func (m *master) takeOver(ctx context.Context) error {
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

// multi moves a task in one step.
func (m *master) multi(ctx context.Context, a assignment) error {
	results, _, err := m.session.Multi(ctx, a.operations()...)
	if err != nil && len(results) > 0 && errors.Is(results[0].Error, zk.ErrNoNode) {
		return nil
	}
	return variants.Attempted("move "+a.from+" to "+a.to, err)
}

// mostMoved is how many tasks one multi moves at most, because a request has a limited size.
const mostMoved = 100

// buryAtOnce assigns the tasks of a dead worker again and removes its directory, in one multi.
func (m *master) buryAtOnce(ctx context.Context, dir string) (total int, err error) {
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
		n, err := m.moveAll(ctx, dir, tasks)
		total += n
		if err != nil && !errors.Is(err, zk.ErrNotEmpty) {
			return total, err
		}
	}
}

// moveAll moves tasks from a directory to the next workers, and removes the directory if those were all. If the multi fails because
// something has changed, the caller lists again.
func (m *master) moveAll(ctx context.Context, dir string, tasks []string) (int, error) {
	var ops []any
	moved := tasks[:min(len(tasks), mostMoved)]
	for _, task := range moved {
		a := assignment{from: path.Join(dir, task), to: path.Join(m.at.assign, m.next(), task)}
		switch there, err := m.read(ctx, &a); {
		case err != nil:
			return 0, err
		case there:
			ops = append(ops, a.operations()...)
		}
	}
	if len(moved) == len(tasks) {
		ops = append(ops, &zk.DeleteRequest{Path: dir, Version: -1})
	}
	_, _, err := m.session.Multi(ctx, ops...)
	if err != nil {
		return 0, variants.Attempted("assign the tasks of "+dir+" again", err)
	}
	return len(ops) / 2, nil
}
