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
package revocable

import (
	"embed"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/revocation"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// interval is how often the holder of poll reads its znode.
const interval = 100 * time.Millisecond

// ErrForced is returned by Release of a lock that was taken away by force, in place of session.ErrSessionLost, and by an Acquire that
// took so long to notice that it had succeeded.
var ErrForced = fmt.Errorf("the lock was %w by force", variants.ErrTakenAway)

// Recipe returns the recipe of revocable locks with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:      "revocable",
		Summary:   "a lock whose holder can be asked to give it up",
		Source:    "ZooKeeper recipes page, Recoverable Shared Locks",
		Variants:  []variants.Variant{pollVariant(), dataWatchVariant(), forcedVariant()},
		Phases:    revocation.Phases("another client", exclusion.Phases()),
		Operation: exclusion.PhaseRelease,
		Workload:  variants.Workload{Revocable: true},
		Losses:    []variants.Loss{variants.Blocked, variants.Fenced},
		Events: exclusion.Events(
			"agrees on a grace period", "agrees on a grace period before force", "finds that it was taken away by force"),
		Calls:       exclusion.Calls(),
		NewObserver: newObserver,
		Code:        code,
		Bound: variants.Bound{Phase: exclusion.PhaseHandoff, Writes: "1", Reads: "0", Notifications: "2(N-1)/N",
			Why: "A release must be written; the holder learns that it is asked, and the next holder that it is released, by a " +
				"notification each"},
	}
}
