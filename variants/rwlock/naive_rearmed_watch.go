package rwlock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// RearmedWatch is the revocable read/write lock whose clients watch their own znodes from beginning to end, and the znodes that
// they wait for before they ask.
//
//  1. Create <dir>/<guid>-read- or <dir>/<guid>-write-, ephemeral and sequential. If the reply is lost, look for the GUID. At once,
//     read it with a watch. Whenever that fires, read it again with a watch; if it says "unlock", another client wants the lock.
//  2. List <dir>, without a watch. A writer holds the lock if its znode is the lowest, a reader if no writer's znode is lower than
//     its own.
//  3. Look with exists, which sets a watch, at a lower znode: a writer at the next lower one, a reader at the next lower writer's.
//     If it is gone, go to 2.
//  4. Write "unlock" to the znodes in the way, each once: a reader to the next lower writer's; a writer to the znodes of
//     the readers behind the next lower writer, or to that writer's own if there are none. Each client before that does
//     the same, so that all in the line are asked.
//  5. Wait for the watch of step 3, and go to 2.
//  6. To release, or to withdraw, delete the client's own znode.
//
// A revocation with one holder and one waiter takes 4 notifications: two each for the request and for the delete. The holder is
// notified of the request, and so is the waiter itself, whose watch on the holder's znode fires for a change of its data. It then lists
// and watches in vain. The waiter is notified of the delete, and so is the holder itself, which has armed its watch again. Several readers
// behind one writer make it worse: each request wakes all of them that have asked before.
//
// Cost in lockstep, where each of N clients comes when those before it hold or have been asked: f = ⌈N/3⌉ readers hold. A writer comes
// and asks them all; w = ⌊(N+1)/3⌋ writers hold one after another, each asked by the next. The last of them is asked by a reader, which
// r-1 others then join, with r = ⌊N/3⌋. All create, read, list and delete: 4 requests. Let a = w + min(1,r) be the clients that wait.
// Each sends two exists and two listings more (one pair of them in vain). Each of the f + a-1 requests is a setData, and a getData of
// its receiver. For N > 1:
//
//	requests       4N + 4a + 2(f+a-1)
//	writes         2N + (f+a-1)
//	notifications  (f+a-1) + N of clients' own znodes, a + a of others'  =  N + f + 3a - 1
//	herd           2
//
// Running free, a request to a writer may notify all N clients, the owner and N-1 that wait for it, and so may the writer's delete. A
// reader asks one writer, and is asked by one writer. So an operation causes at most N + 4 notifications: N of its own request, 2 of the
// request to it, and 2 of its delete. Each that another client's znode fires takes a listing and an exists, at most 2N+10 requests in all.
//
// Source: as written, but the clients that wait are the revokers, where the page leaves open who revokes: ZooKeeper recipes page,
// Recoverable Shared Locks, as a change of Shared Locks.
type RearmedWatch struct{ revocable }

// NewRearmedWatch returns the lock of one client below an existing znode dir.
func NewRearmedWatch(s *session.Session, dir string) *RearmedWatch {
	l := &RearmedWatch{}
	l.init(s, dir, l.takeTurn)
	return l
}

func (l *RearmedWatch) takeTurn(ctx context.Context, mine contender) (*revocation.Listening, error) {
	listening, err := revocation.Listen(ctx, l.Session, l.Path(mine.Ticket), revocation.Znode.Rearmed)
	if err != nil {
		return nil, err
	}
	if err := l.waitAndAsk(ctx, mine); err != nil {
		listening.Stop()
		return nil, err
	}
	return listening, nil
}

func (l *RearmedWatch) waitAndAsk(ctx context.Context, mine contender) error {
	asked := map[tickets.Ticket]bool{}
	var before []contender
	return l.AwaitEachBy(ctx, func(children []string) (watched tickets.Ticket, waiting bool, err error) {
		before, err = ahead(mine, children)
		watched, waiting = nearestWriter(mine.mode, before)
		return watched, waiting, err
	}, func(ctx context.Context, watched tickets.Ticket) (over bool, err error) {
		exists, _, watch, err := l.Session.ExistsW(ctx, l.Path(watched))
		if err != nil || !exists {
			return false, err
		}
		if err := l.ask(ctx, notIn(asked, inTheWay(mine.mode, before))); err != nil {
			return false, err
		}
		return false, l.Session.Await(ctx, watch)
	})
}

// notIn also adds the contenders that it returns to the set.
func notIn(set map[tickets.Ticket]bool, all []contender) []contender {
	var others []contender
	for _, c := range all {
		if !set[c.Ticket] {
			set[c.Ticket] = true
			others = append(others, c)
		}
	}
	return others
}

// withWaiters defines, in a formula, how many clients read first (f), write (w), read behind the writers (r), and wait (a).
const withWaiters = " with f=⌈N/3⌉, w=⌊(N+1)/3⌋, r=⌊N/3⌋, a=w+min(1,r)"

func rearmedWatchVariant() variants.Variant {
	return variants.Variant{
		Name:    "rearmed-watch",
		Kind:    variants.Naive,
		Summary: "each client watches its own znode to the end, and those it waits for before it asks",
		BadAt: "every revocation: half of its notifications are of no use; " +
			"and many readers behind a writer, where each wakes those that asked before",
		Forgoes: []variants.Loss{variants.Blocked},
		Lockstep: variants.Cost{
			Requests: "(4N + 4a + 2(f+a-1))/N" + withWaiters + " (4 for N=1)",
			Writes:   "2 + (f+a-1)/N" + withWaiters + " (2 for N=1)", FailedWrites: "0",
			Notifications: "(N+f+3a-1)/N" + withWaiters + " (1 for N=1)", HerdMax: "2 (1 for N=1)",
		},
		Free: variants.Cost{
			Requests: "2N+10 (4 for N=1)", Writes: "4 (2 for N=1)", FailedWrites: "2 (0 for N=1)",
			Notifications: "N+4 (1 for N=1)", HerdMax: "N",
		},
		Join: joinRevocable(agreed, NewRearmedWatch),
	}
}
