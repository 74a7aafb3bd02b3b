// Package revocable compares ways to ask the holder of a lock to give it up.
//
// The promise, to which all are held: at any moment at most one participant holds the lock; every grant carries a fencing
// token that is larger than that of any grant before it; and a holder that is asked gives up within a grace that all have
// agreed upon. No lock can make a holder listen. One that does not breaks the promise of poll and data-watch, whose
// waiters go on waiting. With forced they wait for one grace more and take the lock away: so there, and only after the
// grace, two may hold it for as long as the old holder has not noticed, and nothing but the fencing token tells them
// apart.
//
//	variant     how a holder listens            cost of one revocation, besides acquire and release
//	poll        reads its znode every T         1 write, and 1/T requests for as long as somebody holds
//	data-watch  watches its znode               1 write, 1 notification, 1 read
//	forced      watches its znode to the end    1 write, 2 notifications, 1 read
//
// All stand in a line of znodes <dir>/<guid>-lock-<seq>, and whoever comes asks the one before it. So every holder behind
// whom somebody waits has been asked, mostly before it held: it is a lock for those who keep what nobody else wants.
//
// Each variant's own comment has the steps and the exact formulas; `zkbench run revocable-drain` holds them to it, but
// for poll, which never comes to rest.
package revocable

import (
	"context"
	"embed"
	"errors"
	"time"

	"github.com/zkbench/zkbench/variants"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// What the variants are compared with.
const (
	interval = 100 * time.Millisecond // of poll
	grace    = 5 * time.Second        // ample, as machines stall: a holder needs milliseconds, or the interval
)

// Lock is an exclusive lock, not reentrant, of one client. Its methods may be called concurrently and then run one
// after another.
type Lock interface {
	// Acquire asks whoever is next in line to give the lock up, and waits for it. When ctx ends first, the client
	// withdraws and the context's error comes back within about a second even from a session that does not answer; the
	// withdrawal then goes on behind the caller's back, and a later Acquire waits for it. variants.ErrSessionLost says
	// that the session died while waiting.
	Acquire(ctx context.Context) (Grant, error)
	// Release gives the lock up; it costs one delete. variants.ErrSessionLost or ErrForced says that the lock had already
	// been lost, so that what was done under it may have met another holder. After any other error the lock is still
	// held, and Release may be tried again.
	Release(ctx context.Context) error
}

// Grant is the right to act as the only holder.
type Grant struct {
	// Token grows with every grant of one lock; send it along with whatever the lock protects.
	Token int64
	// Revoked is closed when somebody has asked for the lock, or it is lost: the holder shall come to an end within the
	// grace, and release.
	Revoked <-chan struct{}
	// Lost is closed when the session is gone or must be taken to be, or the lock has been taken away by force; the
	// holder must stop.
	Lost <-chan struct{}
}

// ErrHeld is returned by Acquire on a lock that this client holds already.
var ErrHeld = errors.New("the lock is held already")

// ErrForced is returned by Release of a lock that was taken away by force, and by an Acquire that took so long to notice
// that it had succeeded.
var ErrForced = errors.New("the lock was taken away by force")

// Terms are what the clients of a lock have agreed upon.
type Terms struct {
	Grace  time.Duration // within which a holder that was asked gives up
	Forced bool          // after it, the lock may be taken away
}

// Recipe returns the recipe of revocable locks with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:        "revocable",
		Summary:     "a lock whose holder can be asked to give it up",
		Source:      "ZooKeeper recipes page, Recoverable Shared Locks",
		Variants:    []variants.Variant{pollVariant(), dataWatchVariant(), forcedVariant()},
		Phases:      phases(),
		Spans:       spans,
		Operation:   phaseRelease,
		CountFrom:   variants.FromStart,
		Check:       check,
		CheckPrefix: checkPrefix,
		Code:        code,
	}
}
