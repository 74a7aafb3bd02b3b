package treecache

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// spread is the time over which the clients of the recipe spread their reloads. The texts contain this number.
const spread = 5 * time.Second

// JitteredReload is a cache that reads the whole tree again after each reconnect, but not at the same time as all others.
//
//  1. Read, and follow changes, as [FullReload] does.
//  2. When the connection is made again, wait for a random part of a window, of 5 seconds in this recipe. Then read the whole tree.
//     Serve the copy meanwhile, and go on to follow the notifications that come.
//  3. If the connection is lost again during the wait, a new wait begins when it is made again.
//  4. A client that has lost its session, and comes back with a new one, waits before it reads the tree for the first time.
//
// As long as the connection holds, each change costs what it does with [FullReload]. A reconnect costs the same reads, too: the
// servers answer as many of them, but in 5 seconds more. A window helps only if it is several times longer than what the servers
// need for a reload of all clients at once. It is also how much longer a copy can be out of date.
//
// Grows: with the N-1 caches, because each of them must learn of each change and read it, in at most 2 requests.
//
// Bound: in the phase refresh, one quorum write, one notification and one read must lie one after another, because a notification
// does not carry the data. As many lie on this path if a znode was set; a replaced one takes a listing besides, to learn its name.
// After a reconnect, a cache that does not rely on its watches must read the tree level by level, here after the wait.
//
// Source: as written, but with a window of 5 seconds: CURATOR-441, which was closed without it.
type JitteredReload struct {
	*cache
	window time.Duration
}

// NewJitteredReload returns one client's cache of a tree.
func NewJitteredReload(s *session.Session, tree Tree, window time.Duration, listen Listener) (JitteredReload, error) {
	c, err := open(s, tree, listen)
	j := JitteredReload{c, window}
	c.reconnected = func(context.Context) error {
		j.Delay()
		return nil
	}
	return j, err
}

// Delay makes the cache read the whole tree when a random part of the window has passed. It is called before Load where many
// clients start at the same time.
func (j JitteredReload) Delay() {
	j.reload = time.Now().Add(j.session.Jitter(j.window))
}

// Load implements [Cache]. It takes as long as the delay, if there is one.
func (j JitteredReload) Load(ctx context.Context) error {
	if err := j.session.Sleep(ctx, time.Until(j.reload)); err != nil {
		return err
	}
	return j.cache.Load(ctx)
}

func jitteredReloadVariant() variants.Variant {
	v := fullReloadVariant()
	v.Name, v.Kind = "jittered-reload", variants.Optimized
	v.Summary = "as full-reload, but each client first waits for a random part of 5s"
	v.BadAt = "trees that the servers cannot serve to all clients within the window; and copies are out of date for longer"
	v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		return join(func(s *session.Session, tree Tree, listen Listener) (JitteredReload, error) {
			j, err := NewJitteredReload(s, tree, spread, listen)
			if err == nil && env.Life > 0 {
				j.Delay()
			}
			return j, err
		})(ctx, env)
	}
	return v
}
