package lock

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/tickets"
)

func joinDriven() variants.JoinFunc { return exclusion.JoinDriven("acquire", "release") }

// CuratorMutex is InterProcessMutex of Apache Curator, the lock that most Java applications use. It uses the algorithm of
// [PredecessorWatch].
//
//  1. Create <dir>/_c_<guid>-lock-, ephemeral and sequential. If the reply is lost, list <dir> and look for the GUID.
//  2. List <dir>, without a watch. If its own znode is the lowest, the client holds the lock.
//  3. Read the next lower znode with a watch. If it is gone, go to 2.
//  4. Wait for the watch, then go to 2.
//  5. To release, delete the client's own znode. In the background, remove the watch if it is still set.
//
// Curator hands out no fencing token. The driver takes the sequence number from the path of the lock's znode.
//
// Cost of one acquire and release: 3 requests alone (create, getChildren, delete), 5 after a wait (and getData and getChildren), 2 of them
// writes. One release notifies one client.
//
// Source: as written: InterProcessMutex in Apache Curator 5.4.
func CuratorMutex() variants.Variant {
	return variants.WithDriver(variants.Driver{Program: "drivers/CuratorLock.java", Args: []string{"mutex"}}, joinDriven(), variants.Variant{
		Name:    "curator-mutex",
		Summary: "InterProcessMutex of Apache Curator: sequential znodes, each waiter watches the one just below its own",
		BadAt:   "lost connections: a release while the connection is lost leaves its znode behind (CURATOR-678)",
		Free:    predecessorWatchVariant().Free,
	})
}

// CuratorSemaphore is InterProcessSemaphoreMutex of Apache Curator, a lock that is not reentrant: a semaphore with one lease.
//
//  1. Acquire a [CuratorMutex] below <dir>/locks.
//  2. Create <dir>/leases/_c_<guid>-lease-, ephemeral and sequential.
//  3. List <dir>/leases with a watch. If there is more than one lease, wait for the watch and list again.
//  4. Forget the watch on <dir>/leases, if it is set: the server confirms that it is (checkWatches), and keeps it. Release the mutex of
//     step 1. The client holds the lock.
//  5. To release, delete the lease.
//
// Only the holder of the mutex waits for the lease, and the others wait in the line of the mutex.
//
// Curator hands out no fencing token. The driver takes the sequence number from the lease.
//
// Cost of one acquire and release: 7 requests alone, 9 after a wait for the mutex, 4 of them writes, and 2 notifications: one
// of the mutex, and one by the watch that the server keeps, when the next lease is created or the client's own one is
// deleted. If the lease of the holder before still exists in step 3, it costs one request and one notification more.
//
// Source: as written: InterProcessSemaphoreMutex in Apache Curator 5.4.
func CuratorSemaphore() variants.Variant {
	driver := variants.Driver{Program: "drivers/CuratorLock.java", Args: []string{"semaphore"}}
	return variants.WithDriver(driver, joinDriven(), variants.Variant{
		Name:    "curator-semaphore",
		Summary: "InterProcessSemaphoreMutex of Apache Curator: a mutex, behind which one client at a time waits for the lease",
		BadAt:   "rates: it costs two locks",
		Free:    variants.Cost{Requests: "10 (7 for N=1)", Writes: "4", FailedWrites: "0", Notifications: "3 (1 for N=1)", HerdMax: "1"},
	})
}

// Contrib is the lock that comes with ZooKeeper, in its recipes. [WriteLock] is the same algorithm in Go.
//
//  1. Ask whether <dir> exists.
//  2. List <dir>. If a znode of this session is there, an earlier attempt has left it: take it as the client's own, go to 4.
//  3. Create <dir>/x-<session id>-, ephemeral and sequential.
//  4. List <dir>, without a watch. If its own znode has the lowest number, the client holds the lock.
//  5. Ask with exists whether the next lower znode is there, with a watch, and wait for the watch, even if it is gone.
//  6. When the watch has fired, do 1, then go to 4.
//  7. To release, delete the client's own znode.
//
// The mistake is in step 5. If the predecessor has gone since the listing, the watch never fires. Another one is in step 2:
// the client keeps the name without the directory, compares it with a whole path, and never holds the lock.
//
// WriteLock hands out no fencing token. The driver takes the sequence number from the name of the lock's znode.
//
// Cost of one acquire and release: 5 requests alone, 8 after a wait, 2 of them writes. One release notifies one client.
//
// Source: as written: WriteLock in ZooKeeper's recipes.
func Contrib() variants.Variant {
	return variants.WithDriver(variants.Driver{Program: "drivers/ZooKeeperWriteLock.java", Notified: true}, joinDriven(), variants.Variant{
		Name:    "contrib",
		Summary: "WriteLock of ZooKeeper's recipes: session ids in the names, and exists on the znode just below its own",
		BadAt:   "any contention: a waiter whose predecessor goes just before it is watched waits for ever, and all behind it do",
		Broken:  "no client holds the lock and some wait for ever, because one watches a znode that went just before",
		Free:    writeLockVariant().Free,
	})
}

// Kazoo is the lock of kazoo, the ZooKeeper client for Python. It uses the algorithm of [PredecessorWatch].
//
//  1. List <dir> and look for the GUID of this lock object: the object has been used before, and its znode may be there.
//  2. Create <dir>/<guid>__lock__, ephemeral and sequential.
//  3. List <dir>, without a watch. If its own znode is the lowest, the client holds the lock.
//  4. Read the next lower znode with a watch. If it is gone, go to 3.
//  5. Wait for the watch, then go to 3.
//  6. To release, delete the client's own znode.
//
// Kazoo hands out no fencing token. The driver takes the sequence number from the name of the lock's znode.
//
// Cost of one acquire and release: 4 requests alone, 6 after a wait, 2 of them writes. One release notifies one client. Step
// 1 is one listing more than the other locks need.
//
// Source: as written: Lock in kazoo 2.8.
func Kazoo() variants.Variant {
	return variants.WithDriver(variants.Driver{Program: "drivers/kazoo_lock.py"}, joinDriven(), variants.Variant{
		Name:    "kazoo",
		Summary: "Lock of kazoo: sequential znodes, each waiter watches the one just below its own",
		BadAt:   "long lines: every client lists the whole line twice, and once more when its turn comes",
		Free:    tickets.FreeCost("6 (4 for N=1)", "2"),
	})
}
