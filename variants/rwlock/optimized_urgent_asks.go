package rwlock

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
)

// UrgentAsks is the revocable read/write lock with two priorities, in which only urgent clients ask, and only others give up.
//
//  1. Create <dir>/<guid>-read- or <dir>/<guid>-write-, or <dir>/<guid>-urgent-read- or <dir>/<guid>-urgent-write-, ephemeral and
//     sequential. If the reply is lost, look for the GUID.
//  2. List <dir>, without a watch. A writer holds the lock if its znode is the lowest, a reader if no writer's znode is lower than
//     its own. Then go to 5.
//  3. An urgent client, at its first listing: write "unlock" to the znodes at the front that are not urgent: of the
//     readers that stand before the first writer, or of the writer if that is the lowest.
//  4. Read a lower znode with a watch: a writer the next lower one, a reader the next lower writer's. If it is there, wait for the
//     watch. Go to 2.
//  5. The client holds the lock. If it is urgent, no client may ask it. If an urgent client that must wait for it stands behind it in its
//     last listing, that client wants the lock.
//  6. Else read its own znode with a watch. If it says "unlock", an urgent client wants the lock. Else wait for the watch, and read the
//     znode again, without a watch. If it says "unlock", an urgent client wants the lock; else go to 6.
//  7. To release, or to withdraw, delete the client's own znode.
//
// No client overtakes another, as a reader that holds the lock cannot be told from one that waits. But those that stand before an urgent
// client give up as soon as they have the lock. They need not be asked: a client that came to hold after the urgent one's create has seen
// its name, and one that came to hold before stood at the front of its first listing. So an urgent client waits for one round through the
// line before it, and for no hold.
//
// Cost in lockstep, where the last of N clients is urgent: f = ⌈N/3⌉ readers hold, w = ⌊(N+1)/3⌋ writers wait for them, and
// r-1 of r = ⌊N/3⌋ readers for the last of these. The last client asks the first readers. The request to the last of them
// fires the watch of the first writer, too, which lists and reads in vain. The writers then hold one after another and give
// up at once. The readers hold, and those that are not urgent read their own znodes with a watch, which their deletes fire.
// So for N > 2:
//
//	requests       5f of the first readers + 5w+2 of writers + 6(r-1) + 5+f of the last readers  =  6f + 5w + 6r + 1
//	writes         2N + f
//	notifications  f+1 of the requests, w + r of deletes to those behind, r-1 of deletes to their own clients  =  f + w + 2r
//	herd           r readers that a writer's delete lets go on, or 2 notifications of the last request
//
// For N = 2, a reader holds and an urgent writer comes: 11 requests, 5 writes and 2 notifications.
//
// Running free, one operation in N is urgent. It writes to at most N-1 znodes. The watches of others that this fires are
// at most N-1: the watches of writers behind readers, or of all that wait for one writer. So for each operation it is
// less than one setData, one notification of its receiver instead of one at its delete, and one notification of another
// client, which lists and reads. The rest is as for AskOnce: at most 4 notifications and 12 requests.
//
// Bound: in the wait of an urgent client (phase urgent) behind one holder, from when it stands in line, it must write, the holder must
// be notified, the holder must write, and the client must be notified: 2 quorum writes and 2 notifications. This variant has 2 and 2
// with one holder and no client between, and the 2 reads of AskOnce. Each client that stands between adds a write, a notification and a
// listing, because no client overtakes; an algorithm that let urgent clients overtake would need a write by each holder to mark that it
// holds.
//
// Source: ours: derived from the ZooKeeper recipes page, which names revocable read-write priority locks as one that can be imagined, and
// its Recoverable Shared Locks.
type UrgentAsks struct{ revocable }

// NewUrgentAsks returns the lock of one client below an existing znode dir.
func NewUrgentAsks(s *session.Session, dir string) *UrgentAsks {
	l := &UrgentAsks{}
	l.init(s, dir, l.takeTurn)
	return l
}

// AcquireUrgently implements [RevocableLock].
func (l *UrgentAsks) AcquireUrgently(ctx context.Context, mode Mode) (session.Grant, error) {
	in := l.lineFor(mode)
	in.Marker = urgentMarker + in.Marker
	return l.acquire(ctx, mode, in.Enter)
}

func (l *UrgentAsks) takeTurn(ctx context.Context, mine contender) (*revocation.Listening, error) {
	asks := mine.urgent
	children, err := l.await(ctx, mine, func(before []contender) error {
		if !asks {
			return nil
		}
		asks = false
		return l.ask(ctx, slices.DeleteFunc(atTheFront(before), func(c contender) bool { return c.urgent }))
	})
	switch {
	case err != nil:
		return nil, err
	case mine.urgent:
		return nil, nil // no client may ask it
	case isPressed(mine, contenders(children)):
		return revocation.Listen(ctx, l.Session, l.Path(mine.Ticket), nil)
	}
	return revocation.Listen(ctx, l.Session, l.Path(mine.Ticket), revocation.Znode.UntilAsked)
}

// isPressed reports whether an urgent contender must wait for mine: it stands behind mine, and at least one writer is
// among the two and the contenders between them.
func isPressed(mine contender, all []contender) bool {
	alone := isWriter(mine)
	for _, c := range all[slices.Index(all, mine)+1:] {
		alone = alone || isWriter(c)
		if alone && c.urgent {
			return true
		}
	}
	return false
}

func urgentAsksVariant() variants.Variant {
	return variants.Variant{
		Name:    "urgent-asks",
		Kind:    variants.Optimized,
		Summary: "only urgent clients ask, and only others give up",
		BadAt: "urgent clients behind a long line: none is overtaken, and each before it takes a handoff; " +
			"and clients that are not urgent behind holders that stay long",
		Forgoes: []variants.Loss{variants.Blocked},
		Lockstep: variants.Cost{
			Requests: "(6f+5w+6r+1)/N, or 11/2 if N=2" + withThirds + " (3 for N=1)",
			Writes:   "2 + f/N" + withThirds + " (2 for N=1)", FailedWrites: "0",
			Notifications: "(f+w+2r)/N" + withThirds + " (0 for N=1)", HerdMax: "max(2, r), or 1 if N=2" + withThirds + " (0 for N=1)",
		},
		Free: variants.Cost{
			Requests: "12 (3 for N=1)", Writes: "3 (2 for N=1)", FailedWrites: "1 (0 for N=1)",
			Notifications: "4 (0 for N=1)", HerdMax: "N (0 for N=1)",
		},
		Join: joinRevocable(agreedUrgent, NewUrgentAsks),
	}
}
