package treecache

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// ResumedWatches is a cache that reads after a reconnect only what has changed meanwhile.
//
//  1. Read, and follow changes, as [FullReload] does.
//  2. When the connection is made again, the client library sends the server all watches, and the last zxid that the session has
//     seen. The server notifies the client of what has changed since then, and sets the other watches again. So treat these
//     notifications like all others.
//  3. The library does not say when the server has answered. It sends the watches in requests of 128 KB, one after another: so
//     send as many syncs, one after another, and one more. Then the copy counts as current.
//  4. While the connection is lost, read nothing. If a request has overtaken the watches nevertheless (see
//     [session.Session.Overtakes]), or if the connection is lost again before step 3 is over, read the whole tree.
//
// As long as the connection holds, each change costs what it does with [FullReload]. A reconnect of all N-1 caches costs a
// notification and a read for each znode that has changed, per client, and the syncs: two of them for a tree of 1,000 znodes. A
// client that was just reading when it was cut off reads the whole tree.
//
// Grows: with the N-1 caches, because each of them must learn of each change and read it, in at most 2 requests.
//
// Bound: in the phase refresh, one quorum write, one notification and one read must lie one after another, because a notification
// does not carry the data. As many lie on this path if a znode was set; a replaced one takes a listing besides, to learn its name.
// After a reconnect, one request with the watches, one notification and one read must follow each other for what has changed. Here,
// the library's requests and as many syncs and one more lie there, because the library does not say when it is answered.
//
// Source: as written, but with syncs that show when the watches are set: python-zk/kazoo issue 664, the first of its proposals;
// ZooKeeper's SetWatches request.
type ResumedWatches struct{ *cache }

// NewResumedWatches returns one client's cache of a tree.
func NewResumedWatches(s *session.Session, tree Tree, listen Listener) (ResumedWatches, error) {
	c, err := open(s, tree, listen)
	c.reconnected = c.resume
	return ResumedWatches{c}, err
}

// watchesPerRequest is how many bytes of watched paths the client library sends at once.
const watchesPerRequest = 128 << 10

// resume returns when the server has the watches again. If one of them may be lost, it makes the cache read everything.
func (c *cache) resume(ctx context.Context) error {
	if err := c.session.Sleep(ctx, session.RewatchPause); err != nil {
		return err
	}
	for range c.watchRequests() + 1 {
		if err := c.session.Sync(ctx, c.root); err != nil {
			return session.Attempted("sync", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.note(); c.doubt || c.session.Overtakes() != c.overtakes {
		c.reload = time.Now()
	}
	return nil
}

func (c *cache) watchRequests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	bytes := 0
	for p := range c.nodes {
		bytes += 2 * (4 + len(p)) // two watches at most
	}
	return 1 + bytes/watchesPerRequest
}

func resumedWatchesVariant() variants.Variant {
	v := fullReloadVariant()
	v.Name, v.Kind = "resumed-watches", variants.Optimized
	v.Summary = "after a reconnect, read only what the server says has changed meanwhile"
	v.BadAt = "connections that are lost again and again, or sessions that are lost: without its watches a client reads everything"
	v.Join = join(NewResumedWatches)
	return v
}
