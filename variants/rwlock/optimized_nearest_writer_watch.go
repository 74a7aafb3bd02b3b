package rwlock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// NearestWriterWatch is the read/write lock in which a waiting reader watches the last writer before it.
//
//  1. Create <dir>/<guid>-read- or <dir>/<guid>-write-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>, without a watch. A writer holds the lock if its znode is the lowest, a reader if no writer's znode is
//     lower than its own.
//  3. Read a lower znode with a watch: a writer the next lower one, a reader the next lower writer's. If it is gone, go
//     to 2. getData leaves no watch behind on a znode that is gone, as the recipe's exists would.
//  4. Wait for the watch, then go to 2: the watched client may have withdrawn rather than released.
//  5. To release, or to withdraw, delete the client's own znode.
//
// A reader watches the last writer that it has to wait for. So unless that writer withdraws, the reader is woken once.
// All readers behind a writer are woken at once, which is not a herd: all of them may go on.
//
// Cost in lockstep, where ⌈N/3⌉ readers hold, w = ⌊(N+1)/3⌋ writers wait behind them, and r = ⌊N/3⌋ readers wait behind
// those. The first readers release in the order in which they came, so that only the last of them notifies a writer:
//
//	notifications  1 for each client that waits  =  w+r
//	requests       N creates, N listings, N deletes, and a getData and a listing for each client that waits  =  3N + 2(w+r)
//	herd           r notifications from the last writer's release, 1 from any other
//
// Running free, a reader waits at most once: when its writer leaves, no other is before it. A writer may wait more often. It
// watches the last of the R readers before it, and if that one leaves first, the next lower one: between 1 and R wakes,
// 1 + 1/2 + … + 1/R on average if they leave in any order. But no reader's delete notifies more than the one writer behind
// it. So each read causes at most two notifications, its own and the writer's, and each write one: at most 2 per operation,
// each with a listing and another getData. Where there is only one other client to notify, it is 1.
//
// Bound: in a handoff (phase handoff), a release must be written and a waiter must be notified: 1 quorum write and 1 notification.
// This variant has 1 and 1, and 1 read in between: the waiter lists, as the client that it watched may have withdrawn.
//
// Source: as written, but with getData in place of exists: ZooKeeper recipes page, Shared Locks; kazoo's ReadLock and WriteLock.
type NearestWriterWatch struct{ sequential }

// NewNearestWriterWatch returns the lock of one client below an existing znode dir.
func NewNearestWriterWatch(s *session.Session, dir string) *NearestWriterWatch {
	l := &NearestWriterWatch{}
	l.init(s, dir, func(ctx context.Context, mine contender) (*revocation.Listening, error) {
		return nil, l.AwaitEach(ctx, next(mine, nearestWriter))
	})
	return l
}

func nearestWriter(mode Mode, before []contender) (watched tickets.Ticket, waiting bool) {
	for i := len(before) - 1; i >= 0; i-- {
		if mode == Write || isWriter(before[i]) {
			return before[i].Ticket, true
		}
	}
	return tickets.Ticket{}, false
}

func nearestWriterWatchVariant() variants.Variant {
	return variants.Variant{
		Name:     "nearest-writer-watch",
		Kind:     variants.Optimized,
		Summary:  "readers watch the last writer before them, writers the znode just below their own",
		BadAt:    "writers behind many readers: those that leave in another order than they came wake the writer in vain",
		Lockstep: cost("3 + 2(w+r)/N"+withThirds, "(w+r)/N"+withThirds, "max(1, r)"+withThirds+" (0 for N=1)"),
		Free:     cost("3 + 2 min(2, N-1)", "min(2, N-1)", "N-1"),
		Join:     join(NewNearestWriterWatch),
	}
}
