package masterworker

import (
	"context"
	"sync/atomic"

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
	watch   *session.Watch // on another client's znode; nil before the first attempt and for the master
	elected atomic.Bool
}

// run tries to become master, and reports whether the client is master.
func (c *candidate) run(ctx context.Context) (bool, error) {
	return session.RunWhileAlive(ctx, c.session, func(ctx context.Context) (bool, error) {
		for c.due() {
			elected, watch, err := c.session.Claim(ctx, c.znode)
			if err != nil {
				return false, err
			}
			c.watch = watch
			c.elected.Store(elected)
		}
		return c.elected.Load(), nil
	}, nil)
}

// due depends on the notifications that have arrived.
func (c *candidate) due() bool { return !c.elected.Load() && (c.watch == nil || c.watch.Fired()) }
