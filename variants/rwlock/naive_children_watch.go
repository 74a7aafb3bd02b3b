package rwlock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
)

// ChildrenWatch is the read/write lock in which every waiter watches the directory that all their znodes are in.
//
//  1. Create <dir>/<guid>-read- or <dir>/<guid>-write-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir> and set a watch on it. A writer holds the lock if its znode is the lowest, a reader if no writer's znode
//     is lower than its own.
//  3. Wait for the watch, then go to 2.
//  4. To release, or to withdraw, delete the client's own znode.
//
// The watch fires for every arrival and every departure. The listing that finds the lock free arms it, too, so a holder is
// notified once more.
//
// Cost in lockstep, where f = ⌈N/3⌉ readers hold, w = ⌊(N+1)/3⌋ writers wait behind them, and r = ⌊N/3⌋ readers wait
// behind those. Each of the first readers is notified of the client that comes next, or of its own release if it is alone, and does
// not set its watch again. A client that waits is notified of all that come later. The first readers' releases notify the w+r waiters.
// Writer k = 1 … w armed its watch when it found itself the lowest, so its release notifies itself, w-k writers and r readers. These
// then hold, all with armed watches, which the first of their own releases uses up:
//
//	notifications  of waiters (w+r)(w+r-1)/2 + f(w+r) + Σ (w-k + r) for k = 1 … w  =  (w+r)(w+r-1)/2 + f(w+r) + w(w-1)/2 + wr;
//	               of holders one each, N
//	requests       N creates, N listings, N deletes, and a listing for each waiter notified
//	herd           w+r notifications from one release
//
// Running free, an acquire and release are one create, which notifies up to N-1 others, and one delete, which notifies up
// to N: at most 2N-1 notifications. Each but the client's own leads to a listing. Events that come while a client is about
// to list again coalesce, and holders do not list, so that there are fewer.
//
// Source: as written, but with the watch flag set on getChildren, which the page says not to do, in place of exists on one znode:
// ZooKeeper recipes page, Shared Locks.
type ChildrenWatch struct{ sequential }

// NewChildrenWatch returns the lock of one client below an existing znode dir.
func NewChildrenWatch(s *session.Session, dir string) *ChildrenWatch {
	l := &ChildrenWatch{}
	l.init(s, dir, l.takeTurn)
	return l
}

func (l *ChildrenWatch) takeTurn(ctx context.Context, mine contender) (*revocation.Listening, error) {
	return nil, l.AwaitChildren(ctx, func(children []string) (bool, error) {
		_, waiting, err := next(mine, nearestWriter)(children) // only whether one is before it
		return waiting, err
	})
}

func childrenWatchVariant() variants.Variant {
	return variants.Variant{
		Name:    "children-watch",
		Kind:    variants.Naive,
		Summary: "sequential znodes, every waiter watches their directory",
		BadAt:   "many clients: every arrival and every release wakes all of them, each to list all znodes",
		Lockstep: cost("3 + ((w+r)(w+r-1)/2 + f(w+r) + w(w-1)/2 + wr)/N"+withThirds,
			"1 + ((w+r)(w+r-1)/2 + f(w+r) + w(w-1)/2 + wr)/N"+withThirds, "w+r"+withThirds+" (1 for N=1)"),
		Free: cost("2N+1", "2N-1", "N"),
		Join: join(NewChildrenWatch),
	}
}
