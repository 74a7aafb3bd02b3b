package lock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// ChildrenWatch is a lock whose waiters all watch the directory with the znodes of all clients.
//
//  1. Create <dir>/<guid>-lock-, ephemeral and sequential. If the reply is lost, list <dir> and look for the GUID.
//  2. List <dir> with a watch. If the client's own znode has the lowest number, the client holds the lock.
//  3. Wait for the watch, then go to 2.
//  4. To release, or to withdraw, delete the client's own znode.
//
// The watch fires when a znode is created or deleted. The listing that finds the lock free sets a watch, too, so a
// holder is notified of its own release.
//
// Cost in lockstep, where N clients come and then release one after another. Client k = 1 … N notifies the waiters before it when
// it comes, and those behind it when it releases. Each of them lists. A holder is notified once, without a listing: the first by
// the second client's create, if there is one, and any other by its own release, because it set its watch when it found its znode the
// lowest:
//
//	notifications  of waiters Σ (k-2) for k = 2 … N, and Σ (N-k) for k = 1 … N  =  (N-1)²; of holders N; together N(N-1) + 1
//	requests       N creates, N listings, N deletes, and a listing for each waiter notified  =  3N + (N-1)²
//	herd           at most N-1 notifications from one release      (1 for N = 1)
//
// In a closed run, one acquire and release consist of one create, which notifies up to N-1 clients, and one delete,
// which notifies up to N. That makes at most 2N-1 notifications. Each notification of another client leads to a
// listing. The changes between a notification and the next listing cause no further notification, so the real counts
// are lower.
//
// Waiters get the lock in the order of their creates. The fencing token is the sequence number.
//
// Source: as written, but with a GUID in the name, by which a client finds its znode after a lost reply: Leberknight part 5, first
// form. That form has no recovery, and the article then adds the session id to the name. A reader's comment on the article
// prefers a GUID: with it, one session may wait for the same lock twice.
type ChildrenWatch struct{ *session.Exclusive }

// NewChildrenWatch returns the lock of one client below an existing znode dir.
func NewChildrenWatch(s *session.Session, dir string) ChildrenWatch {
	line := tickets.New(s, dir, marker)
	return ChildrenWatch{tickets.NewExclusive(s, line, func(ctx context.Context, mine tickets.Ticket) error {
		return line.AwaitChildren(ctx, func(children []string) (bool, error) {
			_, waiting, err := line.Predecessor(mine, children)
			return waiting, err
		})
	})}
}

func childrenWatchVariant() variants.Variant {
	return variants.Variant{
		Name:    "children-watch",
		Kind:    variants.Naive,
		Summary: "sequential znodes, every waiter watches their directory",
		BadAt:   "many clients: every arrival and every release wakes all of them, each to list all znodes",
		Lockstep: variants.Cost{
			Requests: "3 + (N-1)²/N", Writes: "2", FailedWrites: "0",
			Notifications: "N-1 + 1/N", HerdMax: "N-1 (1 for N=1)",
		},
		Free: variants.Cost{Requests: "2N+1", Writes: "2", FailedWrites: "0", Notifications: "2N-1", HerdMax: "N"},
		Join: join(NewChildrenWatch),
	}
}
