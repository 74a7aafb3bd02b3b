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

// outstanding bounds the unanswered requests of one session.
const outstanding = 32

// walk lists a tree level by level, each path after its parent, and counts its ephemeral znodes, without a root's owner. The tree of a
// znode that does not exist is empty.
func (c Client) walk(ctx context.Context, root string) (paths []string, ephemerals int, err error) {
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
				paths = append(paths, path)
				if stat.EphemeralOwner != 0 && path != root+"/"+ownerName {
					ephemerals++
				}
				for _, child := range children {
					next = append(next, path+"/"+child)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return paths, ephemerals, err
		}
		level = next
	}
	return paths, ephemerals, nil
}

// children lists a znode. The stat is nil if the znode does not exist.
func (c Client) children(ctx context.Context, path string) ([]string, *zk.Stat, error) {
	var names []string
	var stat *zk.Stat
	err := c.ask(ctx, func() (err error) { names, stat, err = c.Conn.Children(path); return err })
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("list %s: %w", path, err)
	}
	return names, stat, nil
}

// rounds bounds how many times a tree is removed again because it grew meanwhile, such as by requests queued in a stalled server.
const rounds = 10

// Remove deletes a tree and returns how many znodes it has deleted. Other clients may delete the same tree at the same time.
// A root is deleted in one transaction with its owner, so that it never exists without one.
func (c Client) Remove(ctx context.Context, root string) (removed int, err error) {
	for range rounds {
		paths, _, err := c.walk(ctx, root)
		if err != nil {
			return removed, err
		}
		n, grew, err := c.RemoveTree(ctx, paths)
		removed += n
		if err != nil || !grew {
			return removed, err
		}
	}
	return removed, fmt.Errorf("remove %s: a client keeps creating znodes below it", root)
}

// CreateTree creates persistent znodes of n bytes, many in one transaction. Each path follows the path of its parent.
func (c Client) CreateTree(ctx context.Context, paths []string, n int) error {
	data := make([]byte, n)
	for _, batch := range batches(paths, n) {
		var creates []any
		for _, path := range batch {
			creates = append(creates, &zk.CreateRequest{Path: path, Data: data, Acl: c.ACL})
		}
		if err := c.multi(ctx, creates...); err != nil {
			return fmt.Errorf("create %s and %d more: %w", batch[0], len(batch)-1, err)
		}
	}
	return nil
}

// RemoveTree deletes znodes whose paths are known, each after its parent's. grew reports whether others have been created meanwhile. It is
// faster than Remove, which lists the znodes first.
func (c Client) RemoveTree(ctx context.Context, paths []string) (removed int, grew bool, err error) {
	if len(paths) == 0 {
		return 0, false, nil
	}
	owner := paths[0] + "/" + ownerName
	if i := slices.Index(paths, owner); i > 0 { // moved behind the root, so that one batch has both
		paths = slices.Insert(slices.Delete(paths, i, i+1), 1, owner)
	}
	for _, batch := range slices.Backward(batches(paths, 0)) {
		n, more, err := c.removeBatch(ctx, batch)
		removed += n
		grew = grew || more
		if err != nil {
			return removed, grew, err
		}
	}
	return removed, grew, nil
}

// The limits of one transaction: far below the 1 MB that a server accepts, and too small to stall it.
const (
	batchZnodes = 500
	batchBytes  = 200_000
)

func batches(paths []string, data int) [][]string {
	var out [][]string
	bytes := 0
	for i, path := range paths {
		size := len(path) + data
		if bytes += size; i == 0 || len(out[len(out)-1]) == batchZnodes || bytes > batchBytes {
			out, bytes = append(out, nil), size
		}
		out[len(out)-1] = append(out[len(out)-1], path)
	}
	return out
}

// removeBatch deletes znodes in one transaction, the last one first. If other clients change them meanwhile, it falls back to single
// requests.
func (c Client) removeBatch(ctx context.Context, paths []string) (removed int, grew bool, err error) {
	var deletes []any
	for _, path := range slices.Backward(paths) {
		deletes = append(deletes, &zk.DeleteRequest{Path: path, Version: -1})
	}
	err = c.multi(ctx, deletes...)
	switch {
	case err == nil:
		return len(paths), false, nil
	case !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNotEmpty):
		return 0, false, fmt.Errorf("delete %s: %w", paths[0], err)
	}
	for _, path := range slices.Backward(paths) {
		err := c.ask(ctx, func() error { return c.Conn.Delete(path, -1) })
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
