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
)

// State is the state of use of a root.
type State int

// The states.
const (
	// Left means that the session that owned the root has ended: no run uses the root any more.
	Left State = iota
	// InUse means that an ephemeral znode in the root belongs to a session.
	InUse
	// Unmarked means that the root was created without an owner, such as by an early zkbench. It may be in use.
	Unmarked
)

// Found describes a root.
type Found struct {
	Path    string
	State   State
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
	var paths []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		if IsRoot(name) {
			paths = append(paths, base+"/"+name)
		}
	}
	return paths, nil
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
		if f.Znodes > 0 || f.State == InUse {
			all = append(all, f)
		}
	}
	return all, nil
}

// Glance examines only the owner and the mark of a root, by at most two reads. It also reports whether the root exists.
func (c Client) Glance(ctx context.Context, root string) (f Found, there bool, err error) {
	f.Path = root
	timeout, err := c.get(ctx, root+"/"+ownerName)
	if err != nil {
		return f, false, err
	}
	if timeout != nil {
		parsed, _ := time.ParseDuration(string(timeout)) // zero unless zkbench has written it
		f.State, f.Timeout = InUse, cmp.Or(parsed, ensemble.SessionTimeout)
		return f, true, nil
	}
	data, err := c.get(ctx, root)
	if string(data) != mark {
		f.State = Unmarked
	}
	return f, data != nil, err
}

// Examine also looks for other ephemeral znodes in the root. A root that does not exist has no znodes.
func (c Client) Examine(ctx context.Context, root string) (Found, error) {
	f, there, err := c.Glance(ctx, root)
	if err != nil || !there || f.State == InUse {
		return f, err
	}
	t, err := c.walk(ctx, root)
	if f.Znodes = len(t.paths); t.ephemerals > 0 {
		f.State, f.Timeout = InUse, ensemble.SessionTimeout
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
