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
// All use the same two kinds of znodes, whose numbers come from one counter. Each variant's own comment has the steps and
// the exact formulas. `zkbench run rwlock-drain` checks the formulas.
//
// A second recipe, revocablerw, has locks whose holders can be asked to give them up. It promises the same, and that a holder that is
// asked gives up within a grace that all have agreed upon. With urgent-asks only urgent clients ask, and only others are asked. A holder
// that does not listen breaks the promise, and blocks the others: no variant uses force.
//
//	variant        what it asks                         cost of one revocation, with one holder and one waiter
//	rearmed-watch  those before it, after it watches    1 write, 4 notifications, 5 reads
//	ask-once       those before it, before it watches   1 write, 2 notifications, 3 reads, and 1 if the waiter reads
//	urgent-asks    the holders, if it is urgent         1 write, 2 notifications, 3 reads, and none if the holder comes later
//
// `zkbench run revocablerw-drain` checks their formulas.
package rwlock

import (
	"context"
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
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
func (m Mode) String() string {
	if m == Write {
		return "writer"
	}
	return "reader"
}

// Lock is a read/write lock, neither reentrant nor upgradable, of one client. Its methods may be called concurrently and
// then run one after another.
type Lock interface {
	// Acquire waits for the lock. When ctx ends first, the client withdraws and the context's error comes back within
	// about a second even from a session that does not answer. The withdrawal then continues in the background, and a
	// later Acquire waits for it. session.ErrSessionLost means that the session was lost while the client waited.
	Acquire(ctx context.Context, mode Mode) (Grant, error)
	// Release gives the lock up, in whichever mode it is held; it costs one write. session.ErrSessionLost means that the
	// lock had already been lost, and that there may have been another holder since. After any other error it is not
	// known whether the lock is still held: act as if it were not, and call Release again.
	Release(ctx context.Context) error
}

// Grant is the right to act as a reader beside other readers, or as the only writer.
type Grant struct {
	Mode Mode
	// Token grows from each writer's grant to the next and to the readers after it. Send it along with every write under
	// the lock. Readers may hold tokens in any order among themselves.
	Token int64
	// Lost is closed when the session is lost or must be assumed to be. The holder must then stop.
	Lost <-chan struct{}
	// Revoked is closed when another client has asked for the lock, or when it is lost. The holder must then come to an end within
	// the grace, and release. It is nil if no client can ask.
	Revoked <-chan struct{}
}

// ErrHeld is returned by Acquire on a lock that this client holds already, in either mode.
var ErrHeld = errors.New("the lock is held already")

// Recipe returns the read/write lock recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:       "rwlock",
		Summary:    "readers share, a writer is alone, no client overtakes",
		Source:     "ZooKeeper recipes page, Shared Locks; Apache Curator, InterProcessReadWriteLock",
		Variants:   []variants.Variant{childrenWatchVariant(), firstWriterWatchVariant(), nearestWriterWatchVariant(), releasedMarkVariant()},
		Libraries:  []variants.Variant{Curator()},
		JoinDriven: joinDriven,
		Broken:     []variants.Variant{Kazoo()},
		Phases:     phases(),
		Operation:  exclusion.PhaseRelease,
		Workload: variants.Workload{
			CountFrom:      variants.FromLineUp,
			SingleThreaded: true,
		},
		Losses:      []variants.Loss{variants.Fenced},
		Events:      exclusion.Events("has waited for it"),
		Calls:       exclusion.Calls(),
		NewObserver: newObserver,
		Code:        code,
	}
}
