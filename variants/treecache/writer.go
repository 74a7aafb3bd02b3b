package treecache

import (
	"context"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// writer is the participant that makes all changes, so that it knows the tree.
type writer struct {
	env    variants.Env
	step   int64
	leaves []string // the paths, by slot
	number int64    // of the last change
}

var _ variants.Roled = (*writer)(nil)

// newWriter returns when the session of the writer's former life has ended, so that no change of it comes late.
func newWriter(ctx context.Context, env variants.Env) (*writer, error) {
	w := &writer{env: env, step: int64(env.Completed)}
	if err := env.Session.Succeed(ctx, env.Root+"-writer"); err != nil {
		return w, err
	}
	for slot := range env.Size {
		w.leaves = append(w.leaves, leafPath(env.Root, slot, 0))
	}
	for slot := 0; env.Life > 0 && slot < len(w.leaves); slot += leavesPerParent {
		if err := w.findLeaves(ctx, path.Join(env.Root, parentName(slot))); err != nil {
			return w, err
		}
	}
	return w, nil
}

// findLeaves reads which leaves there are and which change was the last, as the successor of a writer must. The sync is needed although the
// session is new: it may have moved before its first reply, to a server that lags behind the session itself.
func (w *writer) findLeaves(ctx context.Context, parent string) error {
	var names []string
	err := w.env.Session.Synced(ctx, parent, func(c session.Conn) (err error) {
		names, _, err = c.Children(parent)
		return err
	})
	if err != nil {
		return session.Attempted("list "+parent, err)
	}
	for _, name := range names {
		p := path.Join(parent, name)
		slot, _ := slotIn(p)
		data, _, err := w.env.Session.Get(ctx, p)
		if err != nil {
			return session.Attempted("read "+p, err)
		}
		w.leaves[slot], w.number = p, max(w.number, numberIn(data))
	}
	return nil
}

// The k-th step ends when 2k changes have been made. A step that has failed may have made some of them.
func (w *writer) Step(ctx context.Context) error {
	for target := changesPerStep * (w.step + 1); w.number < target; {
		if err := w.env.Hold(ctx, nil); err != nil {
			return err
		}
		number := w.number + 1
		slot := int(slotOf(number, int64(len(w.leaves))))
		err := w.env.Timed(ctx, "change", changing, changed, stamp(number, slot), func(ctx context.Context) error {
			return w.write(ctx, slot, number)
		})
		if err != nil {
			return err
		}
		w.number = number
	}
	w.step++
	return nil
}

// write sets a leaf or, every other time, replaces it by another.
func (w *writer) write(ctx context.Context, slot int, number int64) error {
	old := w.leaves[slot]
	if number%2 == 1 {
		_, err := w.env.Session.Set(ctx, old, leafData(number), -1)
		return session.Attempted("set "+old, err)
	}
	next := leafPath(w.env.Root, slot, number)
	_, repeated, err := w.env.Session.Multi(ctx,
		&zk.DeleteRequest{Path: old, Version: -1},
		&zk.CreateRequest{Path: next, Data: leafData(number)})
	if repeated && errors.Is(err, zk.ErrNoNode) {
		err = nil // an attempt whose reply was lost has deleted it
	}
	if err != nil {
		return session.Attempted("replace "+old, err)
	}
	w.leaves[slot] = next
	return nil
}

func (w *writer) Leave(context.Context) error { return nil }

func (w *writer) Role() string { return roleWriter }
