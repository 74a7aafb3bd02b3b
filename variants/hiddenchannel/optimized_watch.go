package hiddenchannel

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Watch is the value whose readers watch its znode: ZooKeeper itself is the channel.
//
// The writer sets the znode, with the version that it has. A reader:
//
//  1. Read the znode with a watch.
//  2. Wait for the watch, and go to 1.
//
// The notification comes from the reader's own server, when that has applied the update: what is read then is that
// update, or a later one. If the session has moved to another server meanwhile, that may lag behind, as clients do not
// report the zxids of notifications to a server: a reader that finds an older version makes the server catch up by a
// sync, and reads again. A reader that is slow misses versions, but not the newest, as reading sets the watch again.
//
// Cost of one update with N-1 readers, which have their watches set, if the writer makes S updates in a row, and readers read after
// the last of them:
//
//	requests       1 write, and a read of each reader for S updates  =  1 + (N-1)/S
//	notifications  N-1 from the first of S writes  =  (N-1)/S; the others find no watch
//	herd           N-1
//
// Freely, a reader that reads before the last update is notified again: N-1 notifications, and N requests, are bounds.
//
// Grows: with the readers, because each of them must learn of each update and read it: 1 request of each reader.
//
// Bound: in the phase propagation, one quorum write, one notification and one read must lie one after another, because a
// notification does not carry the data. As many lie on this path, and nothing in between.
//
// Source: as written: Junqueira and Reed, ZooKeeper, chapter 4 (Order of Reads). There, "c2 could set a watch on /z instead of
// receiving a direct message from c1".
type Watch struct{ *follower }

// NewWatch returns one client's view of the value at an existing znode.
func NewWatch(ctx context.Context, s *session.Session, znode string) (Watch, error) {
	f, err := follow(ctx, s, znode, nil, (*follower).getW)
	return Watch{f}, err
}

// awaitChange waits for the watch, which fires when there is a version after the one that was read. If it only counts as fired, or without
// a watch, there may be something to be read.
func (f *follower) awaitChange(ctx context.Context) (int64, error) {
	if f.watch != nil {
		event, err := f.session.AwaitEvent(ctx, f.watch)
		if err != nil {
			return 0, err
		}
		f.watch = nil
		if event.Type == zk.EventNodeDataChanged {
			f.known++
		}
	}
	return f.known, nil
}

func watchVariant() variants.Variant {
	return variants.Variant{
		Name:     "watch",
		Kind:     variants.Optimized,
		Summary:  "readers watch the znode, and read it when they are notified",
		BadAt:    "many readers: one write wakes all of them, and all read at once",
		Lockstep: updates("1 + (N-1)/S", "(N-1)/S", "N-1"),
		Free:     updates("N", "N-1", "N-1"),
		Join: join(func(ctx context.Context, env variants.Env, _ Mail) (Value, error) {
			env.Record(fresh, 0)
			return NewWatch(ctx, env.Session, znode(env))
		}),
	}
}
