package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
)

// tree is a znode and everything below it.
type tree struct {
	paths      []string // each after its parent
	ephemerals int      // those that belong to a session, other than a root's owner
}

// outstanding bounds how many requests one session has on their way.
const outstanding = 32

// walk lists a znode and everything below it, level by level. A znode that is gone has an empty tree.
func (c Client) walk(ctx context.Context, root string) (tree, error) {
	var t tree
	for level := []string{root}; len(level) > 0; {
		var mu sync.Mutex
		var next []string
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(outstanding)
		for _, path := range level {
			group.Go(func() error {
				children, stat, err := c.children(ctx, path)
				if err != nil || stat == nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				t.paths = append(t.paths, path)
				if stat.EphemeralOwner != 0 && path != root+"/"+ownerName {
					t.ephemerals++
				}
				for _, child := range children {
					next = append(next, path+"/"+child)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return t, err
		}
		level = next
	}
	return t, nil
}

// children lists a znode; the stat is nil if it is gone.
func (c Client) children(ctx context.Context, path string) ([]string, *zk.Stat, error) {
	type listing struct {
		names []string
		stat  *zk.Stat
	}
	l, err := ask(ctx, c, func() (listing, error) {
		names, stat, err := c.Conn.Children(path)
		return listing{names, stat}, err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("list %s: %w", path, err)
	}
	return l.names, l.stat, nil
}

// rounds is how often a tree is listed anew because it grew while it was removed, such as by requests that a stalled
// server still had in its queue.
const rounds = 10

// Remove deletes a znode and everything below it, and returns how many znodes it deleted. Others may delete the same at
// the same time. A root goes in one transaction with its owner, so that it is never seen without one half-way.
func (c Client) Remove(ctx context.Context, root string) (removed int, err error) {
	for range rounds {
		t, err := c.walk(ctx, root)
		if err != nil || len(t.paths) == 0 {
			return removed, err
		}
		n, grew, err := c.removeTree(ctx, t)
		removed += n
		if err != nil || !grew {
			return removed, err
		}
	}
	return removed, fmt.Errorf("remove %s: a client keeps creating znodes below it", root)
}

// removeTree deletes what was listed, and reports whether there was more by then.
func (c Client) removeTree(ctx context.Context, t tree) (removed int, grew bool, err error) {
	owner := t.paths[0] + "/" + ownerName
	if i := slices.Index(t.paths, owner); i > 0 { // next to the root, so that one batch has both
		t.paths = slices.Insert(slices.Delete(t.paths, i, i+1), 1, owner)
	}
	all := batches(t.paths)
	for _, batch := range slices.Backward(all) {
		n, more, err := c.removeBatch(ctx, batch)
		removed += n
		grew = grew || more
		if err != nil {
			return removed, grew, err
		}
	}
	return removed, grew, nil
}

// The most that one transaction deletes: far less than the 1 MB that a server takes, and than it writes in a stall.
const (
	batchZnodes = 500
	batchBytes  = 200_000
)

// batches cuts a list into what fits into one transaction each.
func batches(paths []string) [][]string {
	var out [][]string
	bytes := 0
	for i, path := range paths {
		if bytes += len(path); i == 0 || len(out[len(out)-1]) == batchZnodes || bytes > batchBytes {
			out, bytes = append(out, nil), len(path)
		}
		out[len(out)-1] = append(out[len(out)-1], path)
	}
	return out
}

// removeBatch deletes znodes in one transaction, the last one first. Where that fails, because another client deletes or
// creates some of them, it deletes them one by one.
func (c Client) removeBatch(ctx context.Context, paths []string) (removed int, grew bool, err error) {
	var deletes []any
	for _, path := range slices.Backward(paths) {
		deletes = append(deletes, &zk.DeleteRequest{Path: path, Version: -1})
	}
	_, err = ask(ctx, c, func() ([]zk.MultiResponse, error) { return c.Conn.Multi(deletes...) })
	switch {
	case err == nil:
		return len(paths), false, nil
	case !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty):
		return 0, false, fmt.Errorf("delete %s: %w", paths[0], err)
	}
	for _, path := range slices.Backward(paths) {
		_, err := ask(ctx, c, func() (any, error) { return nil, c.Conn.Delete(path, -1) })
		switch {
		case err == nil:
			removed++
		case errors.Is(err, zk.ErrNotEmpty):
			grew = true
		case !errors.Is(err, zk.ErrNoNode):
			return removed, grew, fmt.Errorf("delete %s: %w", path, err)
		}
	}
	return removed, grew, nil
}
