package masterworker

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// candidate is a client that may become master: one of them is, and the others are its backups.
//
//  1. Create an ephemeral master. If that succeeds, the client is master until its session ends.
//  2. Else watch master with exists. If it is gone meanwhile, go to 1.
//  3. When the watch fires, go to 1.
//
// All backups are notified when the master dies, and all but one of their creates fail: with N candidates N-1 notifications and
// 2N-3 requests. The recipe election has variants without this herd. This one is the book's, and the simplest.
//
// A client whose session is lost must not go on as master. What it has begun may still take effect; see [Master].
type candidate struct {
	session *session.Session
	znode   string
	watch   *session.Watch // on another client's znode; nil before the first attempt
	elected atomic.Bool
}

// run tries to become master, and reports whether the client is master.
func (c *candidate) run(ctx context.Context) (bool, error) {
	return session.RunWhileAlive(ctx, c.session, func(ctx context.Context) (bool, error) {
		for c.due() {
			if err := c.attempt(ctx); err != nil {
				return false, err
			}
		}
		return c.elected.Load(), nil
	}, nil)
}

// due depends on the notifications that have arrived.
func (c *candidate) due() bool { return !c.elected.Load() && (c.watch == nil || c.watch.Fired()) }

func (c *candidate) attempt(ctx context.Context) error {
	_, err := c.session.Create(ctx, c.znode, nil, zk.FlagEphemeral)
	if err == nil {
		c.elected.Store(true)
		return nil
	}
	if !errors.Is(err, zk.ErrNodeExists) {
		return session.Attempted("create "+c.znode, err)
	}
	exists, stat, watch, err := c.session.ExistsW(ctx, c.znode)
	switch {
	case err != nil:
		return session.Attempted("watch "+c.znode, err)
	case exists && stat.EphemeralOwner == c.session.ID(): // an attempt whose reply was lost
		c.elected.Store(true)
	case exists:
		c.watch = watch
	}
	return nil
}
