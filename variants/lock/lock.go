// Package lock compares four ways to build an exclusive lock.
//
// The promise, to which all are held: at any moment at most one participant holds the lock, and every grant carries a
// fencing token that is larger than that of any grant before it. A store that remembers the largest token it has seen
// can so refuse a holder that does not know yet that its session has expired, which no lock can prevent by itself.
//
//	variant            znodes                    cost of one release with m waiters
//	znode              <dir>/lock  ephemeral     m notifications, m new attempts of which m-1 fail
//	children-watch     <dir>/<guid>-lock-<seq>   m+1 notifications, m listings of m children
//	predecessor-watch  <dir>/<guid>-lock-<seq>   1 notification, 1 listing
//
// predecessor-watch-session-id is the same as predecessor-watch with <dir>/<session id>-lock-<seq>, and pays for it at
// each acquire: one more listing.
//
// Each variant's own comment has the steps and the exact formulas; `zkbench run lock-drain` holds them to it.
package lock

import (
	"context"
	"embed"
	"errors"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Lock is an exclusive lock, not reentrant, of one client. Its methods may be called concurrently and then run one
// after another.
type Lock interface {
	// Acquire waits for the lock. When ctx ends first, the client withdraws and the context's error comes back within
	// about a second even from a session that does not answer; the withdrawal then goes on behind the caller's back,
	// and a later Acquire waits for it. variants.ErrSessionLost says that the session died while waiting.
	Acquire(ctx context.Context) (Grant, error)
	// Release gives the lock up; it costs one write. variants.ErrSessionLost says that the lock had already been
	// lost, so that what was done under it may have met another holder. After any other error the lock is still held,
	// and Release may be tried again.
	Release(ctx context.Context) error
}

// Grant is the right to act as the only holder.
type Grant struct {
	// Token grows with every grant of one lock; send it along with whatever the lock protects.
	Token int64
	// Lost is closed when the session is gone or must be taken to be; the holder must stop.
	Lost <-chan struct{}
}

// ErrHeld is returned by Acquire on a lock that this client holds already.
var ErrHeld = errors.New("the lock is held already")

// Recipe returns the lock recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:        "lock",
		Summary:     "at most one holder at a time, each with a fencing token",
		Source:      "ZooKeeper recipes page, Locks; Leberknight, Distributed Coordination With ZooKeeper, part 5; Junqueira and Reed, ZooKeeper, chapter 4",
		Variants:    []variants.Variant{znodeVariant(), childrenWatchVariant(), predecessorWatchSessionIDVariant(), predecessorWatchVariant()},
		Phases:      phases(),
		Spans:       spans,
		Operation:   phaseRelease,
		CountFrom:   variants.FromLineUp,
		Check:       check,
		CheckPrefix: check,
		Code:        code,
	}
}

// exclusive makes a Lock of a variant's two steps.
type exclusive = variants.Exclusive[Grant]
