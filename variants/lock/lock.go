// Package lock compares ways to build an exclusive lock, a [session.Lock].
//
// The promise of all variants: at any moment at most one participant holds the lock, and every grant carries a fencing
// token that is larger than the token of any earlier grant. A holder may not know yet that its session has expired, which
// no lock can prevent by itself. A store that remembers the largest token it has seen can refuse such a holder. When a
// client dies or loses its session, the lock passes on as soon as its session has ended at the servers: a claim never
// outlives its session.
//
//	variant            znodes                    cost of one release with m waiters
//	znode              <dir>/lock  ephemeral     m notifications, m new attempts of which m-1 fail
//	children-watch     <dir>/<guid>-lock-<seq>   m+1 notifications, m listings of m children
//	predecessor-watch  <dir>/<guid>-lock-<seq>   1 notification, 1 listing
//	back-to-back       <dir>/<guid>-lock-<seq>   1 notification, 1 listing
//	released-mark      <dir>/<guid>-lock-<seq>   1 notification
//	relay              <dir>/<guid>-lock-<seq>   1 notification
//
// predecessor-watch-session-id is predecessor-watch with znodes <dir>/<session id>-lock-<seq>. It costs one more listing at
// each acquire. back-to-back is predecessor-watch with one round trip less at each acquire. relay is released-mark for clients that come
// back at once, with one write less.
//
// Others run only where a scenario or a flag names them: the locks of client libraries (zk-lock is that of go-zookeeper, with the
// algorithm of predecessor-watch; Curator and kazoo have theirs), and two that are known to be broken, of which writelock, which comes
// with ZooKeeper, may let a waiter wait for ever.
//
// In an application, open a session by [session.Open], create the lock's znode by [session.Session.Ensure], and use what a constructor
// such as [NewPredecessorWatch] returns as a [session.Lock].
package lock

import (
	"context"
	"embed"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
)

//go:embed naive_*.go optimized_*.go library_*.go drivers
var code embed.FS

// Recipe returns the lock recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:    "lock",
		Summary: "at most one holder at a time, each with a fencing token",
		Source: "ZooKeeper recipes page, Locks; Leberknight, Distributed Coordination With ZooKeeper, part 5; " +
			"Junqueira and Reed, ZooKeeper, chapter 4",
		Variants: []variants.Variant{
			znodeVariant(), childrenWatchVariant(), predecessorWatchSessionIDVariant(),
			predecessorWatchVariant(), backToBackVariant(), releasedMarkVariant(), relayVariant(),
		},
		Libraries:  []variants.Variant{zkLockVariant(), CuratorMutex(), CuratorSemaphore(), Kazoo()},
		JoinDriven: joinDriven(),
		Broken:     []variants.Variant{writeLockVariant(), Contrib()},
		Phases:     exclusion.Phases(),
		Operation:  exclusion.PhaseRelease,
		Workload: variants.Workload{
			SingleThreaded: true,
			Threaded:       true,
			Size:           "locks that each client uses at the same time on its session, as threads do",
		},
		Losses:      []variants.Loss{variants.Fenced},
		Events:      exclusion.Events(),
		Calls:       exclusion.Calls(),
		NewObserver: newObserver,
		Code:        code,
		Bound: variants.Bound{Phase: exclusion.PhaseHandoff, Writes: "1", Reads: "0", Notifications: "(N-1)/N",
			Why: "A release must be written, so that clients that come later see it, and a client that waits learns of it by a " +
				"notification alone"},
	}
}

// join makes the Join of a variant from the constructor of its lock.
func join[L session.Lock](open func(*session.Session, string) L) variants.JoinFunc {
	return variants.JoinThreads(exclusion.Join(open))
}

// joinIn is join for a constructor that may fail.
func joinIn[L session.Lock](open func(context.Context, *session.Session, string) (L, error)) variants.JoinFunc {
	return variants.JoinThreads(exclusion.JoinIn(open))
}

// marker is in the names of a lock's tickets.
const marker = "-lock-"

func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		out.Timed(exclusion.Phases()),
		exclusion.Handoffs(out),
		exclusion.Exclusive(out, exclusion.LockWords()),
	}
}
