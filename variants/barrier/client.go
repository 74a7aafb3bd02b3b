package barrier

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// prefix begins the name of a barrier's znode; the barrier's number follows.
const prefix = "barrier-"

func znode(dir string, number int64) string {
	return path.Join(dir, prefix+strconv.FormatInt(number, 10))
}

// Create makes the first barrier of an existing znode dir, which may hold nothing but barriers. The barrier is closed.
func Create(ctx context.Context, s *session.Session, dir string) error {
	return s.Ensure(ctx, znode(dir, 0), nil, 0)
}

// latest returns the number of the closed barrier. If the session's server lags behind in spite of the sync, it returns
// the number of an earlier barrier, which the client will find open.
func latest(ctx context.Context, s *session.Session, dir string) (int64, error) {
	var names []string
	err := s.Synced(ctx, dir, func(c session.Conn) (err error) {
		names, _, err = c.Children(dir)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("look for a barrier in %s: %w", dir, err)
	}
	last := int64(-1)
	for _, name := range names {
		digits, ours := strings.CutPrefix(name, prefix)
		if number, err := strconv.ParseInt(digits, 10, 64); ours && err == nil {
			last = max(last, number)
		}
	}
	if last < 0 {
		return 0, fmt.Errorf("look into %s: %w", dir, ErrNone)
	}
	return last, nil
}

// client is shared by the variants: how far the client has come, and how a barrier is opened. They differ in how they
// wait.
type client struct {
	session *session.Session
	dir     string
	number  atomic.Int64   // of the next barrier
	told    *session.Watch // the watch that has notified of the last opening; nil if the client has read of it
	await   func(ctx context.Context, barrier string) error
}

// await waits until the znode of a barrier is gone.
func (c *client) init(ctx context.Context, s *session.Session, dir string, await func(context.Context, string) error) error {
	c.session, c.await = s, await
	c.dir = path.Clean(dir) // no server accepts a path with a trailing slash
	number, err := latest(ctx, s, c.dir)
	c.number.Store(number)
	return err
}

func (c *client) Number() int64 { return c.number.Load() }

func (c *client) Wait(ctx context.Context) error { return c.pass(ctx, c.await) }

func (c *client) Open(ctx context.Context) error { return c.pass(ctx, c.open) }

// pass moves the client on to the next barrier if it gets through its current one. If the caller has left meanwhile, the
// client stays at the current one, which is then open.
func (c *client) pass(ctx context.Context, through func(ctx context.Context, barrier string) error) error {
	return c.session.Do(ctx, func(ctx context.Context) error {
		err := errors.Join(ctx.Err(), c.session.Alive())
		if err == nil {
			err = through(ctx, znode(c.dir, c.number.Load()))
		}
		if err == nil {
			err = c.session.Alive()
		}
		if err == nil {
			c.number.Add(1)
		}
		return err
	}, func() { c.number.Add(-1) })
}

// open deletes the barrier and creates the next in one transaction. It returns nil if the znode is missing: another
// client has opened the barrier, or an earlier attempt of this one whose reply was lost.
func (c *client) open(ctx context.Context, barrier string) error {
	_, _, err := c.session.Multi(ctx,
		&zk.DeleteRequest{Path: barrier, Version: -1},
		&zk.CreateRequest{Path: znode(c.dir, c.number.Load()+1), Acl: session.WorldACL()})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("open %s: %w", barrier, err)
	}
	return nil
}

// look returns a watch on the barrier, or nil if the barrier is open. It reads the data, because an exists would leave
// a watch behind on a znode that is missing. A server to which the session has moved may lag behind the notification
// with which the client has passed the barrier before, and not have this one yet: it catches up first.
func (c *client) look(ctx context.Context, barrier string) (*session.Watch, error) {
	_, _, watch, err := c.session.GetW(ctx, barrier)
	if errors.Is(err, zk.ErrNoNode) && c.told.Moved() {
		if err := c.session.Sync(ctx, c.dir); err != nil {
			return nil, fmt.Errorf("sync %s: %w", c.dir, err)
		}
		_, _, watch, err = c.session.GetW(ctx, barrier)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, fmt.Errorf("look for %s: %w", barrier, err)
	}
	c.told = nil
	return watch, nil
}

func openings(requests variants.Formula) variants.Cost {
	return variants.Cost{Requests: requests, Writes: "1", FailedWrites: "0", Notifications: "N-1", HerdMax: "N-1"}
}

func prepare(ctx context.Context, env variants.Env) error {
	return Create(ctx, env.Session, env.Root)
}
