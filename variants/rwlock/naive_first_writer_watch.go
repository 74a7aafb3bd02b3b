package rwlock

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// FirstWriterWatch is the read/write lock in which a waiting reader watches the lowest writer.
//
//  1. Create <dir>/<guid>-read- or <dir>/<guid>-write-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>, without a watch. A writer holds the lock if its znode is the lowest, a reader if no writer's znode is
//     lower than its own.
//  3. Read a lower znode with a watch: a writer the next lower one, a reader the lowest writer's. If it is gone, go to 2.
//  4. Wait for the watch, then go to 2.
//  5. To release, or to withdraw, delete the client's own znode.
//
// The lowest writer is the one whose turn comes first, and its release lets a reader go on only if no other writer
// stands between them. So r readers behind w writers are woken w times each, to list the line and to move their watch on
// to the next writer: a herd within a lock that is said to have none.
//
// Cost in lockstep, where ⌈N/3⌉ readers hold, w = ⌊(N+1)/3⌋ writers wait behind them, and r = ⌊N/3⌋ readers wait behind
// those. The first readers release in the order in which they came, so that only the last of them notifies a writer:
//
//	notifications  w writers once + r readers w times each  =  w(1+r)
//	requests       N creates, N listings, N deletes, and a getData and a listing for each notification  =  3N + 2w(1+r)
//	herd           r readers and the next writer from one release; 1 if there is but one writer (N = 2, 3, 4)
//
// Running free, a delete notifies at most the N-1 others, which have one watch each. Each then lists and watches once
// more. So an acquire and release are at most 3 + 2(N-1) requests.
//
// Source: as written, but neither reentrant nor open to a reader that is the writer: Apache Curator, InterProcessReadWriteLock.
// Its readLockPredicate watches children.get(firstWriteIndex).
type FirstWriterWatch struct{ sequential }

// NewFirstWriterWatch returns the lock of one client below an existing znode dir.
func NewFirstWriterWatch(s *session.Session, dir string) *FirstWriterWatch {
	l := &FirstWriterWatch{}
	l.init(s, dir, func(ctx context.Context, mine contender) (*revocation.Listening, error) {
		return nil, l.AwaitEach(ctx, next(mine, firstWriter))
	})
	return l
}

func firstWriter(mode Mode, before []contender) (watched tickets.Ticket, waiting bool) {
	i := len(before) - 1
	if mode == Read {
		i = slices.IndexFunc(before, isWriter)
	}
	if i < 0 {
		return tickets.Ticket{}, false
	}
	return before[i].Ticket, true
}

func firstWriterWatchVariant() variants.Variant {
	return variants.Variant{
		Name:     "first-writer-watch",
		Kind:     variants.Naive,
		Summary:  "readers watch the lowest writer, writers the znode just below their own",
		BadAt:    "readers behind several writers: each writer's release wakes all of them, and only the last lets them go on",
		Lockstep: cost("3 + 2w(1+r)/N"+withThirds, "w(1+r)/N"+withThirds, "1+r, or 1 if w=1"+withThirds+" (0 for N=1)"),
		Free:     cost("2N+1", "N-1", "N-1"),
		Join:     join(NewFirstWriterWatch),
	}
}
