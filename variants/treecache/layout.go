package treecache

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// The layout of the tree: parents below the root, leaves below the parents. A leaf has a slot. The name of a leaf has its slot and
// the number of the change that created it, and its data has the number of the change that wrote it last.
const (
	leavesPerParent = 50
	leafDepth       = 2
	leafBytes       = 100 // of data
)

func parentName(slot int) string { return fmt.Sprintf("p%05d", slot/leavesPerParent) }

func leafPath(root string, slot int, number int64) string {
	return path.Join(root, parentName(slot), fmt.Sprintf("l%05d-%d", slot, number))
}

// isLeaf is false for paths of other znodes.
func slotIn(p string) (slot int, isLeaf bool) {
	digits, _, isLeaf := strings.Cut(strings.TrimPrefix(path.Base(p), "l"), "-")
	if !isLeaf {
		return 0, false
	}
	slot, err := strconv.Atoi(digits)
	return slot, err == nil
}

func leafData(number int64) []byte { return fmt.Appendf(nil, "%-*d", leafBytes, number) }

func numberIn(data []byte) (int64, error) {
	return strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
}

// slotOf returns the slot of the leaf that a change sets or replaces. Changes have numbers from 1 on. They go through
// the tree in big steps, so that consecutive ones have different parents.
func slotOf(number, leaves int64) int64 { return number * 7919 % leaves }

// Every other change replaces a leaf by another; the others set a leaf.
func replaces(number int64) bool { return number%2 == 0 }

// opsPerMulti keeps the requests that create the tree well below the 1 MB that a server accepts.
const opsPerMulti = 500

func prepare(ctx context.Context, env variants.Env) error {
	var ops []any
	create := func(p string, data []byte) {
		ops = append(ops, &zk.CreateRequest{Path: p, Data: data, Acl: session.WorldACL()})
	}
	for slot := range max(env.Size, 1) {
		if slot%leavesPerParent == 0 {
			create(path.Join(env.Root, parentName(slot)), nil)
		}
		create(leafPath(env.Root, slot, 0), leafData(0))
	}
	for some := range slices.Chunk(ops, opsPerMulti) {
		// After a lost reply, the znodes of a multi may be there already: all of them or none.
		if _, _, err := env.Session.Multi(ctx, some...); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("create the tree: %w", err)
		}
	}
	return nil
}

// writtenTree is the tree as its only writer knows it.
type writtenTree struct {
	session *session.Session
	root    string
	leaves  []string // the paths, by slot
	number  int64    // of the last change
}

func newTree(s *session.Session, root string, leaves int) *writtenTree {
	t := &writtenTree{session: s, root: path.Clean(root)}
	for slot := range leaves {
		t.leaves = append(t.leaves, leafPath(t.root, slot, 0))
	}
	return t
}

// find reads which leaves there are and which change was the last, as the successor of a writer must.
func (t *writtenTree) find(ctx context.Context) error {
	for slot := 0; slot < len(t.leaves); slot += leavesPerParent {
		parent := path.Join(t.root, parentName(slot))
		for all := false; !all; {
			var err error
			if all, err = t.findLeaves(ctx, parent); err != nil {
				return err
			}
		}
	}
	return nil
}

// findLeaves reads the leaves below a parent. It returns false if a change of the writer's former life has taken effect after
// the listing. The sync is needed although the session is new: it may have moved before its first reply, to a server that
// lags behind the session itself.
func (t *writtenTree) findLeaves(ctx context.Context, parent string) (all bool, err error) {
	var names []string
	err = t.session.Synced(ctx, parent, func(c session.Conn) (err error) {
		names, _, err = c.Children(parent)
		return err
	})
	if err != nil {
		return false, session.Attempted("list "+parent, err)
	}
	for _, name := range names {
		switch err := t.findLeaf(ctx, path.Join(parent, name)); {
		case errors.Is(err, zk.ErrNoNode):
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

func (t *writtenTree) findLeaf(ctx context.Context, p string) error {
	slot, _ := slotIn(p)
	data, _, err := t.session.Get(ctx, p)
	if err != nil {
		return session.Attempted("read "+p, err)
	}
	number, err := numberIn(data)
	if err != nil {
		return fmt.Errorf("parse the data of %s: %w", p, err)
	}
	t.leaves[slot], t.number = p, max(t.number, number)
	return nil
}

func (t *writtenTree) change(ctx context.Context) error {
	number := t.number + 1
	slot := int(slotOf(number, int64(len(t.leaves))))
	if err := t.write(ctx, slot, number); err != nil {
		return err
	}
	t.number = number
	return nil
}

func (t *writtenTree) write(ctx context.Context, slot int, number int64) error {
	old := t.leaves[slot]
	if !replaces(number) {
		_, err := t.session.Set(ctx, old, leafData(number), -1)
		return session.Attempted("set "+old, err)
	}
	next := leafPath(t.root, slot, number)
	_, repeated, err := t.session.Multi(ctx,
		&zk.DeleteRequest{Path: old, Version: -1},
		&zk.CreateRequest{Path: next, Data: leafData(number), Acl: session.WorldACL()})
	if repeated && errors.Is(err, zk.ErrNoNode) {
		err = nil // an attempt whose reply was lost has deleted it
	}
	if err != nil {
		return session.Attempted("replace "+old, err)
	}
	t.leaves[slot] = next
	return nil
}
