package rwlock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// AskOnce is the revocable read/write lock whose clients ask before they watch, and ask no client that has been asked.
//
//  1. Create <dir>/<guid>-read- or <dir>/<guid>-write-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>, without a watch. A writer holds the lock if its znode is the lowest, a reader if no writer's znode is lower than
//     its own. Then go to 5.
//  3. Ask those in the way, each once. A reader reads the next lower writer's znode, and if that does not say "unlock" yet, writes it
//     there, in the version that it has read. A writer writes to the znodes of the readers behind the next lower writer, or to that
//     writer's own if there are none; no other client asks these.
//  4. Read a lower znode with a watch: a writer the next lower one, a reader the next lower writer's. If it is there, wait for the
//     watch. Go to 2.
//  5. The client holds the lock. Read its own znode with a watch. If it says "unlock", another client wants the lock.
//  6. Else wait for the watch, and read the znode again, without a watch. If it says "unlock", another client wants the lock; else
//     go to 5.
//  7. To release, or to withdraw, delete the client's own znode.
//
// A revocation with one holder and one waiter takes 2 notifications, where RearmedWatch takes 4: the request to the holder, and the
// delete to the waiter. The waiter's watch is set after its own request, and no other request follows it. The holder's watch is not
// armed again, so that its own delete does not fire it.
//
// Cost in lockstep, where clients come as for RearmedWatch, with the same f, w, r, and a = w + min(1,r) that wait. All
// create, list, read their own znodes and delete: 4 requests. Each that waits reads and lists once more. Each of the f +
// a-1 requests is a setData, and a getData of its receiver; the reader's request takes a getData before. Of the clients
// that hold in the end, none is asked, so that their deletes fire their own watches: max(1,r). For N > 1:
//
//	requests       4N + 2a + 2(f+a-1) + min(1,r)
//	writes         2N + (f+a-1)
//	notifications  (f+a-1) + a + max(1,r)
//	herd           1
//
// Running free, a client is notified once through its own znode, of a request or of its own delete. A reader waits at most once, and a
// reader's delete wakes at most one writer: at most 3 notifications for each operation, and 2 where there is only one other client. The
// requests are the 4 above, 3 to ask, or 4 if another client writes first, 2 for the wait, 2 for the request from behind, and 2 for the
// wait behind it. A writer's delete may notify all clients: those readers may all go on, and the writer was asked before it held.
//
// Bound: in the handoff by revocation (phases revoke and handoff), from when the waiter stands in line, it must write, the holder must
// be notified, the holder must write, and the waiter must be notified: 2 quorum writes and 2 notifications. This variant has 2 and 2,
// and 2 reads in between: the holder reads what it was notified of, as a notification does not say what was written, and the waiter
// lists, as the client before it may have withdrawn. Where a writer waits for R readers, its R requests follow each other, but could be
// sent at once.
//
// Source: as written, but a client asks those that it waits for; asks before it watches; listens only while it holds; reads without a
// watch once it is asked; and reads with getData in place of exists: ZooKeeper recipes page, Recoverable Shared Locks.
type AskOnce struct{ revocable }

// NewAskOnce returns the lock of one client below an existing znode dir.
func NewAskOnce(s *session.Session, dir string) *AskOnce {
	l := &AskOnce{}
	l.init(s, dir, l.takeTurn)
	return l
}

func (l *AskOnce) takeTurn(ctx context.Context, mine contender) (*revocation.Listening, error) {
	asked := map[tickets.Ticket]bool{}
	_, err := l.await(ctx, mine, func(before []contender) error {
		owners := notIn(asked, inTheWay(mine.mode, before))
		if mine.mode == Write || len(owners) == 0 {
			return l.ask(ctx, owners)
		}
		// Several readers may be behind one writer, and only the first of them must ask it.
		return revocation.AskOnce(ctx, l.Session, l.Path(owners[0].Ticket))
	})
	if err != nil {
		return nil, err
	}
	return revocation.Listen(ctx, l.Session, l.Path(mine.Ticket), revocation.Znode.UntilAsked)
}

func askOnceVariant() variants.Variant {
	return variants.Variant{
		Name:    "ask-once",
		Kind:    variants.Optimized,
		Summary: "a client that waits asks before it watches, and only those that were not asked",
		BadAt:   "holders that need time: every client that comes makes those before it give up, however important their work is",
		Forgoes: []variants.Loss{variants.Blocked},
		Lockstep: variants.Cost{
			Requests: "(4N + 2a + 2(f+a-1) + min(1,r))/N" + withWaiters + " (4 for N=1)",
			Writes:   "2 + (f+a-1)/N" + withWaiters + " (2 for N=1)", FailedWrites: "0",
			Notifications: "(f+2a-1 + max(1,r))/N" + withWaiters + " (1 for N=1)", HerdMax: "1",
		},
		Free: variants.Cost{
			Requests: "14 (4 for N=1)", Writes: "4 (2 for N=1)", FailedWrites: "2 (0 for N=1)",
			Notifications: "1 + min(2, N-1)", HerdMax: "N",
		},
		Join: joinRevocable(agreed, NewAskOnce),
	}
}
