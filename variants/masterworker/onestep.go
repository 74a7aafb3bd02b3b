package masterworker

import (
	"context"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// moveAtOnce moves a task in one multi. If the task is gone, another master has assigned it.
func (m *Master) moveAtOnce(ctx context.Context, a assignment) error {
	results, _, err := m.session.Multi(ctx, a.operations()...)
	if err != nil && len(results) > 0 && errors.Is(results[0].Error, zk.ErrNoNode) {
		return nil
	}
	return session.Attempted("move "+a.from+" to "+a.to, err)
}

// mostMoved limits the tasks that one multi moves, because a request has a limited size.
const mostMoved = 100

// moveAllAtOnce moves all tasks of a directory in one multi. If that fails because something has changed, the caller lists again.
func (m *Master) moveAllAtOnce(ctx context.Context, dir string, tasks []string) (int, error) {
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
