package lock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// ChildrenWatch is the lock in which every waiter watches the directory that all their znodes are in.
//
//  1. Create <dir>/<guid>-lock-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir> and set a watch on it. If the own znode is the lowest, the lock is held.
//  3. Wait for the watch, then go to 2.
//  4. To release, or to withdraw, delete the own znode.
//
// The watch fires for every arrival and every departure, whomever it concerns; and since the listing that finds the
// lock free arms it as well, a holder is notified of its own release.
//
// Cost of a drain, where N clients have enqueued and leave one by one. The first holder's watch was used up by the
// arrival of the second, so its release notifies the N-1 waiters. Each later holder k = 2 … N armed its watch when it
// found itself the lowest, so its release notifies N-k waiters and itself:
//
//	notifications  (N-1) + Σ (N-k+1) for k = 2 … N  =  (N-1)(N+2)/2      (1 for N = 1, which notifies itself)
//	requests       N deletes + Σ (N-k) listings for k = 1 … N  =  N + N(N-1)/2
//	herd           at most N-1 notifications from one release
//
// Looping freely, an acquire and release are one create, which notifies up to N-1 others, and one delete, which notifies
// up to N: at most 2N-1 notifications, of which all but the own one lead to a listing. Events that come while a client
// is about to list again coalesce, so that fewer are seen. Waiters are served in the order of their creates, and the
// fencing token is the sequence number.
//
// Source: the first form in Leberknight part 5, with a GUID instead of the session id in the name (a remark on that
// article gives the reason: one session may then wait for one lock twice).
type ChildrenWatch struct{ sequential }

var _ Lock = (*ChildrenWatch)(nil)

// NewChildrenWatch returns the lock of one client below an existing znode dir. lost is closed when the session is.
func NewChildrenWatch(session variants.Session, dir string, lost <-chan struct{}) *ChildrenWatch {
	l := &ChildrenWatch{}
	l.init(session, dir, lost, l.waitForChildren)
	return l
}

func (l *ChildrenWatch) waitForChildren(ctx context.Context, mine line.Ticket) error {
	return l.AwaitChildren(ctx, func(children []string) (bool, error) {
		_, waiting, err := l.Behind(mine, children)
		return waiting, err
	})
}

func childrenWatchVariant() variants.Variant {
	return variants.Variant{
		Name:    "children-watch",
		Type:    "ChildrenWatch",
		Kind:    variants.Naive,
		Summary: "sequential znodes, every waiter watches their directory",
		Source:  "Leberknight, part 5, first form",
		BadAt:   "crowds: every arrival and every release wakes everybody, each to list everybody",
		Lockstep: variants.Cost{
			Requests:      "1 + (N-1)/2",
			Writes:        "1",
			FailedWrites:  "0",
			Notifications: "(N-1)(N+2)/2N (1 for N=1)",
			HerdMax:       "N-1 (1 for N=1)",
		},
		Free: variants.Cost{
			Requests:      "2N+1",
			Writes:        "2",
			FailedWrites:  "0",
			Notifications: "2N-1",
			HerdMax:       "N",
		},
		Join: join(func(_ context.Context, s variants.Session, env variants.Env) (Lock, error) {
			return NewChildrenWatch(s, env.Root, env.Lost), nil
		}),
	}
}
