package namespace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
)

// Found describes a root.
type Found struct {
	Path    string
	InUse   bool          // an ephemeral znode in the root belongs to a session; otherwise, no run uses the root any more
	Znodes  int           // including the root; not counted if the owner exists
	Timeout time.Duration // in use: how long the root stays in use after its process has ended
}

// List returns the paths of the roots below base, sorted by the time of their runs.
func (c Client) List(ctx context.Context, base string) ([]string, error) {
	if err := c.ask(ctx, func() error { return ensemble.Fence(c.Conn) }); err != nil { // the server may lag behind
		return nil, err
	}
	names, stat, err := c.children(ctx, cmp.Or(base, "/"))
	if err != nil {
		return nil, err
	}
	if stat == nil {
		return nil, fmt.Errorf("there is no znode %s", base)
	}
	roots := list.Where(slices.Sorted(slices.Values(names)), IsRoot)
	return list.Map(roots, func(name string) string { return base + "/" + name }), nil
}

// Find examines the roots below base, sorted by the time of their runs. It changes nothing.
func (c Client) Find(ctx context.Context, base string) ([]Found, error) {
	paths, err := c.List(ctx, base)
	if err != nil {
		return nil, err
	}
	var all []Found
	for _, path := range paths {
		f, err := c.Examine(ctx, path)
		if err != nil {
			return all, err
		}
		if f.Znodes > 0 || f.InUse {
			all = append(all, f)
		}
	}
	return all, nil
}

// Glance examines only the owner and the mark of a root, by at most two reads. It also reports whether the root is there: a znode
// without the mark is none, whatever its name.
func (c Client) Glance(ctx context.Context, root string) (f Found, there bool, err error) {
	f.Path = root
	timeout, err := c.get(ctx, root+"/"+ownerName)
	if err != nil {
		return f, false, err
	}
	if timeout != nil {
		parsed, _ := time.ParseDuration(string(timeout)) // zero unless zkbench has written it
		f.InUse, f.Timeout = true, cmp.Or(parsed, ensemble.SessionTimeout)
		return f, true, nil
	}
	data, err := c.get(ctx, root)
	return f, string(data) == mark, err
}

// Examine also looks for other ephemeral znodes in the root. A root that is not there has no znodes.
func (c Client) Examine(ctx context.Context, root string) (Found, error) {
	f, there, err := c.Glance(ctx, root)
	if err != nil || !there || f.InUse {
		return f, err
	}
	paths, ephemerals, err := c.walk(ctx, root)
	if f.Znodes = len(paths); ephemerals > 0 {
		f.InUse, f.Timeout = true, ensemble.SessionTimeout
	}
	return f, err
}

// get returns a znode's data. It is nil only if the znode does not exist.
func (c Client) get(ctx context.Context, path string) ([]byte, error) {
	var data []byte
	err := c.ask(ctx, func() (err error) { data, _, err = c.Conn.Get(path); return err })
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return append([]byte{}, data...), nil // not nil
}
