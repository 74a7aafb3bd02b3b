package doublebarrier

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// Close implements [Barrier]. It also deletes the rounds in which no process is left: other clients create theirs again.
func (b *ReadyRace) Close(ctx context.Context) error {
	if err := b.client.Close(ctx); err != nil {
		return err
	}
	return b.session.Do(ctx, b.tidy, nil)
}

func (b *ReadyRace) tidy(ctx context.Context) error {
	children, _, err := b.list(ctx)
	for _, round := range roundsAmong(children) {
		if err == nil {
			err = b.remove(ctx, b.znodeOf(round))
		}
	}
	return err
}

// remove deletes a round unless a process is left in it.
func (b *ReadyRace) remove(ctx context.Context, round string) error {
	children, _, err := b.session.Children(ctx, round)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return variants.Attempted("list "+round, err)
	}
	if len(processesAmong(children)) > 0 {
		return nil
	}
	ops := []any{&zk.DeleteRequest{Path: round, Version: -1}}
	if slices.Contains(children, readyName) {
		ops = slices.Insert(ops, 0, any(&zk.DeleteRequest{Path: path.Join(round, readyName), Version: -1}))
	}
	_, _, err = b.session.Multi(ctx, ops...)
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotEmpty) {
		return nil
	}
	return variants.Attempted("delete "+round, err)
}
