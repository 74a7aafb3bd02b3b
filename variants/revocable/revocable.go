// Package revocable compares ways to ask the holder of a lock to give it up.
//
// The promise of all variants: at any moment at most one participant holds the lock; every grant carries a fencing token
// that is larger than the token of any earlier grant; and a holder that is asked gives up within a grace that all have
// agreed upon. No lock can make a holder listen. A holder that does not breaks the promise of poll and data-watch, whose
// waiters continue to wait. With forced they wait for one grace more and take the lock away. So there, and only after the
// grace, two clients may hold it until the old holder has noticed, and only the fencing token distinguishes them.
//
//	variant     how a holder listens            cost of one revocation, besides acquire and release
//	poll        reads its znode every T         1 write, and 1/T requests for as long as a client holds
//	data-watch  watches its znode               1 write, 1 notification, 1 read
//	forced      watches its znode to the end    1 write, 2 notifications, 1 read
//
// All clients stand in a line of znodes <dir>/<guid>-lock-<seq>, and each asks the one before it when it comes. So every
// holder with a waiter behind it has been asked, mostly before it held: the lock is for clients that keep it as long as no
// other client wants it.
//
// Each variant's own comment has the steps and the exact formulas. `zkbench run revocable-drain` checks the formulas,
// except for the ones of poll, which never comes to rest.
package revocable

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// The parameters of the variants.
const (
	interval = 100 * time.Millisecond // of poll
	grace    = 5 * time.Second        // ample: a holder needs milliseconds, or the interval, but machines stall
)

// Lock is an exclusive lock, not reentrant, of one client. Its methods may be called concurrently and then run one
// after another.
type Lock interface {
	// Acquire asks the client just before in the line to give the lock up, and waits for it. When ctx ends first, the client
	// withdraws and the context's error comes back within about a second even from a session that does not answer. The
	// withdrawal then continues in the background, and a later Acquire waits for it. session.ErrSessionLost means that the
	// session was lost while the client waited.
	Acquire(ctx context.Context) (Grant, error)
	// Release gives the lock up; it costs one delete. session.ErrSessionLost or ErrForced means that the lock had already
	// been lost, and that there may have been another holder since. After any other error it is not known whether
	// the lock is still held: act as if it were not, and call Release again.
	Release(ctx context.Context) error
}

// Grant is the right to act as the only holder.
type Grant struct {
	// Token grows with every grant of one lock. Send it along with every write that the lock protects.
	Token int64
	// Revoked is closed when another client has asked for the lock, or when it is lost. The holder must then come to an end
	// within the grace, and release.
	Revoked <-chan struct{}
	// Lost is closed when the session is lost or must be assumed to be, or when the lock has been taken away by force. The
	// holder must then stop.
	Lost <-chan struct{}
}

// ErrHeld is returned by Acquire on a lock that this client holds already.
var ErrHeld = errors.New("the lock is held already")

// ErrForced is returned by Release of a lock that was taken away by force, and by an Acquire that took so long to notice
// that it had succeeded.
var ErrForced = fmt.Errorf("the lock was %w by force", variants.ErrTakenAway)

// Terms are the agreement among the clients of a lock.
type Terms struct {
	Grace  time.Duration // within which a holder that was asked gives up
	Forced bool          // after it, the lock may be taken away
}

// Recipe returns the recipe of revocable locks with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:      "revocable",
		Summary:   "a lock whose holder can be asked to give it up",
		Source:    "ZooKeeper recipes page, Recoverable Shared Locks",
		Variants:  []variants.Variant{pollVariant(), dataWatchVariant(), forcedVariant()},
		Phases:    phases(),
		Operation: exclusion.PhaseRelease,
		Workload: variants.Workload{
			CountFrom: variants.FromStart,
			Revocable: true,
		},
		Losses: []variants.Loss{variants.Blocked, variants.Fenced},
		Events: exclusion.Events(
			"agrees on a grace period", "agrees on a grace period before force", "finds that it was taken away by force"),
		Calls:       exclusion.Calls(),
		NewObserver: newObserver,
		Code:        code,
	}
}
