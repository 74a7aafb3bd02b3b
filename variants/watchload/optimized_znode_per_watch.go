package watchload

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// batch is how many znodes are set in one transaction, and so the largest herd. The texts contain this number.
const batch = 10

// ZnodePerWatch is a feed in which each client watches a znode of its own for each topic.
//
//  1. Each client creates an ephemeral znode <dir>/t-<topic>-c-<client> for each topic.
//  2. It asks with exists whether the znode is there, and leaves a watch. The version in the reply is how often the
//     topic has been published.
//  3. The publisher sets the znodes of a topic, for 10 clients in each multi, one multi after the other. It asks for the
//     version that its last publication made, so that a multi whose reply was lost is not made twice.
//  4. Each multi fires 10 watches. One that fails because a client has gone changes nothing: the publisher leaves that
//     client out from now on, and sends it again.
//
// Cost of one watch, when all N clients watch a topic and it is published once:
//
//	requests       its exists, and its share of ⌈N/10⌉ multis for N watches  =  1 + ⌈N/10⌉/N
//	writes         ⌈N/10⌉/N
//	notifications  1
//	herd           10, or N if there are less
//
// What a watch holds in its server: an entry in the table of paths, the path, a set of connections with one entry, and an
// entry in the connection's set of paths. Every server keeps the znode besides, in a tree that is not counted with the
// watch.
//
// In closed mode, clients that are slower than the publisher find in step 2 that they have missed a publication, and
// go on to the next. Their watch stays and fires at the next publication, once: it is the same watch for the server.
//
// Bound: in the phase delivery, one quorum write and one notification must lie one after another, for each client; in the phase
// fan-out, as many if a herd of all may be set off. If a herd has 10 at most, ⌈N/10⌉ writes must be made. Here, these lie one after
// another, and so does the last notification. They could be sent without waiting for replies, which would save round trips.
//
// Source: ours: derived from Junqueira and Reed, ZooKeeper, chapter 4 (The Herd Effect and the Scalability of Watches). It
// recommends "to have only a few clients watching any given znode at a time, and ideally at most one", and has no such feed. What a
// watch holds is from ZooKeeper's WatchManager.
type ZnodePerWatch struct {
	*feed
	members []int // the clients that are still there; belongs to the operation that runs
}

// NewZnodePerWatch opens one client's feed.
func NewZnodePerWatch(ctx context.Context, s *session.Session, group Group) (*ZnodePerWatch, error) {
	f := &ZnodePerWatch{feed: newFeed(s, group)}
	f.znodeOf = func(topic int) string { return f.znode(topic, group.Client) }
	for topic := range group.Topics {
		f.own = append(f.own, f.znodeOf(topic))
	}
	for client := range group.Clients {
		f.members = append(f.members, client)
	}
	return f, f.open(ctx)
}

func (f *ZnodePerWatch) znode(topic, client int) string {
	return path.Join(f.group.Dir, fmt.Sprintf("t-%d-c-%d", topic, client))
}

// Publish implements [Feed].
func (f *ZnodePerWatch) Publish(ctx context.Context, topic int) error {
	return f.publish(ctx, topic, func(ctx context.Context, p *publication) error {
		for p.notified < len(f.members) {
			if err := f.publishTo(ctx, topic, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// publishTo notifies the next few members, or finds that one of them has gone.
func (f *ZnodePerWatch) publishTo(ctx context.Context, topic int, p *publication) error {
	some := f.members[p.notified:min(p.notified+batch, len(f.members))]
	var ops []any
	for _, client := range some {
		ops = append(ops, &zk.SetDataRequest{Path: f.znode(topic, client), Version: p.count})
	}
	var results []zk.MultiResponse
	err := p.once(ctx, func() (repeated bool, err error) {
		results, repeated, err = f.session.Multi(ctx, ops...)
		return repeated, err
	})
	gone := slices.IndexFunc(results, func(r zk.MultiResponse) bool { return errors.Is(r.Error, zk.ErrNoNode) })
	switch {
	case err == nil:
		p.notified += len(some)
		return nil
	case gone >= 0:
		f.members = slices.Delete(f.members, p.notified+gone, p.notified+gone+1)
		return ctx.Err()
	default:
		return fmt.Errorf("set %s and others: %w", f.znode(topic, some[0]), err)
	}
}

func znodePerWatchVariant() variants.Variant {
	cost := variants.Cost{Requests: "1 + ⌈N/10⌉/N", Writes: "⌈N/10⌉/N", FailedWrites: "0", Notifications: "1", HerdMax: "min(N, 10)"}
	return variants.Variant{
		Name:     "znode-per-watch",
		Kind:     variants.Optimized,
		Summary:  "each watch has a znode of its own; the publisher sets 10 of them at a time",
		BadAt:    "memory: each watch has a znode on every server, and nothing to share; and a publication takes N/10 writes",
		Lockstep: cost,
		Free:     cost,
		Join:     join(NewZnodePerWatch),
	}
}
