package rwlock

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// RevocableLock is a read/write lock whose holders can be asked to give it up.
type RevocableLock interface {
	Lock
	// AcquireUrgently is Acquire by a client of higher priority. It is the same as Acquire for a lock that has no priorities.
	AcquireUrgently(ctx context.Context, mode Mode) (session.Grant, error)
}

// RevocableRecipe returns the recipe of read/write locks that can be revoked with its variants, naive ones first.
func RevocableRecipe() variants.Recipe {
	return variants.Recipe{
		Name:        "revocablerw",
		Summary:     "readers share, a writer is alone, and holders can be asked to give up",
		Source:      "ZooKeeper recipes page, Recoverable Shared Locks",
		Variants:    []variants.Variant{rearmedWatchVariant(), askOnceVariant(), urgentAsksVariant()},
		Phases:      revocablePhases(),
		Operation:   exclusion.PhaseRelease,
		Workload:    variants.Workload{Revocable: true},
		Losses:      []variants.Loss{variants.Blocked, variants.Fenced},
		Events:      append(Recipe().Events, "agrees on a grace period if any client asks", "agrees on a grace period if an urgent client asks"),
		Calls:       Recipe().Calls,
		NewObserver: newRevocableObserver,
		Code:        code,
		Bound: variants.Bound{Phase: exclusion.PhaseHandoff, Writes: "1", Reads: "0", Notifications: "⌊(N+1)/3⌋/N",
			Why: "A release must be written, and each writer, a third of the clients, waits for the notification of one"},
	}
}

// revocable is shared by the variants with revocation. They differ in whom they ask, and in how they listen.
type revocable struct{ sequential }

// AcquireUrgently implements [RevocableLock] for a lock without priorities.
func (r *revocable) AcquireUrgently(ctx context.Context, mode Mode) (session.Grant, error) {
	return r.Acquire(ctx, mode)
}

// await waits for the next lower one of the contenders that a client must wait for, until there is none. Before each wait it calls ask
// with all contenders before the client. It returns the last listing.
func (r *revocable) await(ctx context.Context, mine contender, ask func(before []contender) error) (children []string, err error) {
	err = r.AwaitEach(ctx, func(listed []string) (tickets.Ticket, bool, error) {
		children = listed
		before, err := ahead(mine, children)
		watched, waiting := nearestWriter(mine.mode, before)
		if waiting {
			err = ask(before)
		}
		return watched, waiting, err
	})
	return children, err
}

func (r *revocable) ask(ctx context.Context, owners []contender) error {
	for _, c := range owners {
		if _, err := revocation.Ask(ctx, r.Session, r.Path(c.Ticket)); err != nil {
			return err
		}
	}
	return nil
}

// inTheWay returns which of the contenders before a client it must ask to give up: the next lower writer, or, for a
// writer, the readers behind that writer instead, if there are any. If each client asks these, all that stand before
// any client have been asked.
func inTheWay(mode Mode, before []contender) []contender {
	last := len(before) - 1
	for last >= 0 && !isWriter(before[last]) {
		last--
	}
	switch {
	case mode == Write && last < len(before)-1:
		return before[last+1:]
	case last >= 0:
		return before[last : last+1]
	default:
		return nil
	}
}

// atTheFront returns the contenders that hold the lock if others stand behind them: the readers before the first writer, or that
// writer.
func atTheFront(line []contender) []contender {
	if i := slices.IndexFunc(line, isWriter); i >= 0 {
		return line[:max(i, 1)]
	}
	return line
}
