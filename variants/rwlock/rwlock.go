// Package rwlock compares ways to build a lock that many readers may share and that a writer has for itself.
//
// The promise of all variants: a writer holds the lock alone, and readers share it. The fencing tokens give the order of
// writers: a writer's token is larger than the token of any earlier grant, a reader's larger than the token of any
// earlier writer. A writer may not know yet that its session has expired, which no lock can prevent by itself. A store
// that remembers the largest token that wrote can refuse such a writer. No client overtakes another: a reader that comes
// after a waiting writer waits for it, so that readers cannot starve writers, and a reader waits for writers only.
//
//	variant               znodes                    cost of a writer's release with m waiters
//	children-watch        <dir>/<guid>-read-<seq>   m+1 notifications, m listings of m children
//	first-writer-watch    <dir>/<guid>-write-<seq>  a notification and a listing for every reader that waits behind
//	                                                any writer at all, and for the next writer
//	nearest-writer-watch                            a notification and a listing for each client that may go on now
//	released-mark                                   a notification for each client that may go on now
//
// All use the same two kinds of znodes, whose numbers come from one counter.
//
// A second recipe, revocablerw, has locks whose holders can be asked to give them up. It promises the same, and that a holder that is
// asked gives up within a grace that all have agreed upon. With urgent-asks only urgent clients ask, and only others are asked. A holder
// that does not listen breaks the promise, and blocks the others: no variant uses force.
//
//	variant        what it asks                         cost of one revocation, with one holder and one waiter
//	rearmed-watch  those before it, after it watches    1 write, 4 notifications, 5 reads
//	ask-once       those before it, before it watches   1 write, 2 notifications, 3 reads, and 1 if the waiter reads
//	urgent-asks    the holders, if it is urgent         1 write, 2 notifications, 3 reads, and none if the holder comes later
package rwlock

import (
	"context"
	"embed"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
)

//go:embed naive_*.go optimized_*.go library_*.go drivers
var code embed.FS

// Mode is the kind of access for which a client acquires a lock.
type Mode int

// The modes.
const (
	Read  Mode = iota // together with other readers
	Write             // alone
)

// String returns what a client in this mode is called in violations.
func (m Mode) String() string { return [...]string{Read: "reader", Write: "writer"}[m] }

// Lock is a [session.Lock] that several readers can hold at a time. It is not upgradable. The token grows from each writer's grant to the
// next and to the readers after it. Readers may hold tokens in any order among themselves.
type Lock interface {
	// Acquire waits for the lock, as [session.Lock] describes.
	Acquire(ctx context.Context, mode Mode) (session.Grant, error)
	// Release gives the lock up, in whichever mode it is held, as [session.Lock] describes.
	Release(ctx context.Context) error
}

// Recipe returns the read/write lock recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:        "rwlock",
		Summary:     "readers share, a writer is alone, no client overtakes",
		Source:      "ZooKeeper recipes page, Shared Locks; Apache Curator, InterProcessReadWriteLock",
		Variants:    []variants.Variant{childrenWatchVariant(), firstWriterWatchVariant(), nearestWriterWatchVariant(), releasedMarkVariant()},
		Libraries:   []variants.Variant{Curator()},
		JoinDriven:  joinDriven(),
		Broken:      []variants.Variant{Kazoo()},
		Phases:      phases(),
		Operation:   exclusion.PhaseRelease,
		Workload:    variants.Workload{SingleThreaded: true},
		Losses:      []variants.Loss{variants.Fenced},
		Events:      exclusion.Events("has waited for it"),
		Calls:       exclusion.Calls(),
		NewObserver: newObserver,
		Code:        code,
		Bound: variants.Bound{Phase: exclusion.PhaseHandoff, Writes: "1", Reads: "0", Notifications: "(N-⌈N/3⌉)/N",
			Why: "A release must be written, as those who wait learn of it by a notification alone; the first third of the " +
				"clients, readers, do not wait"},
	}
}
