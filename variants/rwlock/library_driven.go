package rwlock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// A client of joinDriven that gives up stays in the line, as with [exclusion.JoinDriven].
func joinDriven() variants.JoinFunc {
	return variants.JoinBy(variants.NewDriven, func(client variants.Driven, env variants.Env) variants.Participant {
		return newWorker(env, func(ctx context.Context, mode Mode) (session.Grant, error) {
			return client.Acquire(ctx, [...]string{Read: "acquire-read", Write: "acquire-write"}[mode])
		}, func(ctx context.Context) error { return client.Do(ctx, "release") })
	})
}

// Curator is InterProcessReadWriteLock of Apache Curator. It uses the algorithm of [FirstWriterWatch].
//
//  1. Create <dir>/_c_<guid>-__READ__ or <dir>/_c_<guid>-__WRIT__, ephemeral and sequential. If the reply is lost, list <dir>
//     and look for the GUID.
//  2. List <dir>, without a watch. A writer holds the lock if its znode is the lowest, a reader if no writer's znode is lower than its own.
//  3. Read a lower znode with a watch: a writer the next lower one, a reader the lowest writer's. If it is gone, go to 2.
//  4. Wait for the watch, then go to 2.
//  5. To release, delete the client's own znode. In the background, remove the watch if it is still set.
//
// So all readers that wait behind several writers are woken by the release of each: a herd within a lock that is said to have none.
//
// Curator hands out no fencing token. The driver takes the sequence number from the path of the lock's znode.
//
// Cost of one acquire and release: 3 requests alone (create, getChildren, delete), 2 of them writes. A delete notifies at
// most the N-1 others, which have one watch each, and each then lists and watches once more.
//
// Source: as written: InterProcessReadWriteLock in Apache Curator 5.4.
func Curator() variants.Variant {
	return variants.WithDriver(variants.Driver{Program: "drivers/CuratorReadWriteLock.java"}, joinDriven(), variants.Variant{
		Name:    "curator",
		Summary: "InterProcessReadWriteLock of Apache Curator: readers watch the lowest writer, writers the znode just below their own",
		BadAt:   "readers behind several writers: each writer's release wakes all of them, and only the last lets them go on",
		Free:    firstWriterWatchVariant().Free,
	})
}

// Kazoo is the read/write lock of kazoo, the ZooKeeper client for Python: ReadLock and WriteLock at the same path.
//
//  1. List <dir> and look for the GUID of this lock object, unless the object is new: its earlier znode may be there.
//  2. Create <dir>/<guid>__rlock__ or <dir>/<guid>__lock__, ephemeral and sequential.
//  3. List <dir>, without a watch. A writer whose znode is the lowest holds the lock, and so does a reader if there is no writer's znode.
//  4. Read a znode with a watch: a writer the next lower one, a reader the highest writer's. If it is gone, go to 3.
//  5. Wait for the watch, then go to 3.
//  6. To release, delete the client's own znode.
//
// The mistake is in steps 3 and 4: a reader looks for the writers below its own znode, but does not find its own among those
// of the writers, so that it waits for writers that have come later, too. Such a writer waits for the reader.
//
// Kazoo hands out no fencing token. The driver takes the sequence number from the name of the lock's znode.
//
// Cost of one acquire and release: 4 requests alone, 2 of them writes. A delete notifies at most the N-1 others, which have
// one watch each, and each then lists and watches once more.
//
// Source: as written: ReadLock and WriteLock in kazoo 2.8.
func Kazoo() variants.Variant {
	return variants.WithDriver(variants.Driver{Program: "drivers/kazoo_rwlock.py", Notified: true}, joinDriven(), variants.Variant{
		Name:    "kazoo",
		Summary: "ReadLock and WriteLock of kazoo: readers watch the highest writer, writers the znode just below their own",
		BadAt:   "any contention: a reader waits for a writer that has come later, and that waits for the reader",
		Broken:  "all clients wait for ever, because a reader that lists late waits for a later writer, which waits for the reader",
		Free:    cost("2N+2 (4 for N=1)", "N-1", "N-1"),
	})
}
