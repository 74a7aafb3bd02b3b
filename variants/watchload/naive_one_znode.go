package watchload

import (
	"context"
	"fmt"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// OneZnode is a feed in which all clients watch the same znode for a topic.
//
//  1. The publisher creates an ephemeral znode <dir>/t-<topic> for each topic.
//  2. Each client asks with exists whether the znode is there, and leaves a watch. The version in the reply is how often
//     the topic has been published.
//  3. The publisher sets the znode, to nothing: only the version counts. It asks for the version that its last
//     publication made, so that one whose reply was lost is not made twice.
//  4. All watches on the znode fire, at all clients, in that one transaction.
//
// Cost of one watch, when all N clients watch a topic and it is published once:
//
//	requests       its exists, and 1/N of the set
//	writes         1/N of the set
//	notifications  1
//	herd           N, as one set fires the watches of all
//
// What a watch holds in its server: an entry in the znode's set of connections, an entry in the connection's set of paths,
// and the path, which each request brings anew. The znode's set itself is shared by all clients that watch it. The first
// watch of a connection also makes the connection's set, so that many clients with one watch each take more than few with
// many.
//
// In closed mode, clients that are slower than the publisher find in step 2 that they have missed a publication, and
// go on to the next. Their watch stays and fires at the next publication, once: it is the same watch for the server.
//
// Source: as written: Junqueira and Reed, ZooKeeper, chapter 4 (The Herd Effect and the Scalability of Watches). There are
// "1,000 clients that have set a watch on a given znode with a call to exists". What a watch holds is from ZooKeeper's
// WatchManager.
type OneZnode struct{ *feed }

// NewOneZnode opens one client's feed.
func NewOneZnode(ctx context.Context, s *session.Session, group Group) (OneZnode, error) {
	f := OneZnode{newFeed(s, group)}
	f.znodeOf = func(topic int) string { return path.Join(f.group.Dir, fmt.Sprintf("t-%d", topic)) }
	if group.Client == 0 {
		for topic := range group.Topics {
			f.own = append(f.own, f.znodeOf(topic))
		}
	}
	return f, f.open(ctx)
}

// Publish implements [Feed].
func (f OneZnode) Publish(ctx context.Context, topic int) error {
	return f.publish(ctx, topic, func(ctx context.Context, p *publication) error {
		err := p.once(ctx, func() (bool, error) { return f.session.Set(ctx, f.znodeOf(topic), nil, p.count) })
		return session.Attempted("set "+f.znodeOf(topic), err)
	})
}

func oneZnodeVariant() variants.Variant {
	cost := variants.Cost{Requests: "1 + 1/N", Writes: "1/N", FailedWrites: "0", Notifications: "1", HerdMax: "N"}
	return variants.Variant{
		Name:     "one-znode",
		Kind:     variants.Naive,
		Summary:  "all clients watch the same znode",
		BadAt:    "crowds: one write notifies all clients that watch at once, however many",
		Lockstep: cost,
		Free:     cost,
		Join:     join(NewOneZnode),
	}
}
