package revocable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// Forced is the revocable lock that is taken away from a holder that does not give it up in time. The recipes page calls
// it a lock with freaking laser beams.
//
//  1. Create <dir>/<guid>-lock-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>. If the client's own znode is the lowest, go to 6.
//  3. Write "unlock" to the next lower znode, unless that has been done. If it is gone, go to 2.
//  4. Read it with a watch, and wait for the watch or for the end of the grace. If the watch fired, go to 2.
//  5. List <dir>. If the next lower znode is the lowest, and was at the beginning of the grace, delete it. The grace
//     begins anew; go to 2.
//  6. The client holds the lock. Read its own znode with a watch. If it says "unlock", another client wants the lock. If it
//     is gone, the lock is lost.
//  7. Wait for the watch, and go to 6.
//  8. To release, or to withdraw, delete the client's own znode. If it is gone, the lock was lost.
//
// A waiter finds out only from the listing which client holds. So a holder that was asked is spared for one grace at least,
// and for two at most. Its watch reports that the lock was taken away, when the next client may have it already: until the
// old holder has stopped, two hold the lock. What the lock protects must refuse the smaller fencing token.
//
// Cost in lockstep, where each of N clients comes when the one before it holds, which is asked and then releases, long
// before the grace is over. It is the cost of DataWatch except for step 7, where the holder continues to watch after it
// was asked. So every release notifies the holder itself, too:
//
//	requests       8N-4
//	writes         3N-1
//	notifications  2(N-1) + N  =  3N-2
//	herd           2
//
// So the threat costs one notification of the holder's own. Carrying it out costs a listing, a delete, and 2 notifications
// (to the old holder and the new); the old holder's own delete then fails. Running free, each waiter lists and reads once
// more per grace. So requests have no bound that depends on N alone: they grow with the line, and with a shorter grace.
//
// Grows: with the time that clients wait, because the promise is that no holder that is deaf blocks them for longer than the grace: each
// that waits must look at the line again when a grace is over, as the holder cannot be asked whether it listens.
//
// Bound: if the holder listens, as for DataWatch: 2 quorum writes and 2 notifications, with 2 reads in between. If it does not
// (phase handoff), the grace must pass, and then the waiter must write: 1 quorum write and no notification. This variant has 1, and
// 2 listings around it: one before, which shows that the holder is still the one that was there, and one after, which shows that no
// client is left before the waiter. Up to one grace more may pass before, as the waiter looks at the line only when a grace is
// over.
//
// Source: as written, but for an exclusive lock, as data-watch is, and the waiter begins the length of time when it first sees the
// holder at the front: ZooKeeper recipes page, Recoverable Shared Locks, last paragraph. There, the revoker may delete the znode
// after some length of time.
type Forced struct {
	sequential
	grace time.Duration
}

// NewForced returns the lock of one client below an existing znode dir. All clients must give the same grace.
func NewForced(s *session.Session, dir string, grace time.Duration) *Forced {
	l := &Forced{grace: grace}
	l.init(s, dir, revocation.Znode.Rearmed)
	l.await = l.awaitOrDelete
	return l
}

// Acquire implements [session.Lock].
func (l *Forced) Acquire(ctx context.Context) (session.Grant, error) {
	grant, err := l.sequential.Acquire(ctx)
	return grant, l.orForced(err)
}

// Release implements [session.Lock].
func (l *Forced) Release(ctx context.Context) error { return l.orForced(l.sequential.Release(ctx)) }

// orForced returns ErrForced if the znode was deleted and has not gone with its session.
func (l *Forced) orForced(err error) error {
	if !errors.Is(err, session.ErrSessionLost) || l.Session.Alive() != nil {
		return err
	}
	return ErrForced
}

// awaitOrDelete deletes the znode of a holder that was there for a whole grace. The grace begins anew with each predecessor,
// because the one that withdrew may not have asked.
func (l *Forced) awaitOrDelete(ctx context.Context, mine tickets.Ticket) error {
	var holder, outwaited tickets.Ticket
	patience, stop := ctx, context.CancelFunc(func() {})
	defer func() { stop() }()
	return l.queue(ctx, mine, func(first, predecessor tickets.Ticket) error {
		over := patience.Err() != nil
		if over && predecessor == outwaited && predecessor == holder {
			return l.Session.Discard(ctx, l.Path(predecessor))
		}
		if over || predecessor != outwaited {
			stop()
			patience, stop = context.WithTimeout(ctx, l.grace)
			holder, outwaited = first, predecessor
		}
		err := l.AwaitWatch(patience, predecessor)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return nil
		}
		return err
	})
}

func forcedVariant() variants.Variant {
	v := dataWatchVariant()
	v.Name = "forced"
	v.Summary = fmt.Sprintf("as data-watch, but after %s the waiter deletes the holder's znode", revocation.Grace)
	v.BadAt = "strict exclusion: a holder that does not listen continues until it notices, " +
		"while the next one holds the lock already, and only fencing tokens distinguish them"
	v.Forgoes = nil
	v.Lockstep.Notifications = "(3N-2)/N"
	v.Lockstep.HerdMax = "2 (1 for N=1)"
	v.Free = variants.Cost{
		Requests: "no bound (4 for N=1)", Writes: "4 (2 for N=1)", FailedWrites: "2 (0 for N=1)",
		Notifications: "3 (1 for N=1)", HerdMax: "2 (1 for N=1)",
	}
	v.Join = join(agreedForced, func(s *session.Session, dir string) *Forced { return NewForced(s, dir, revocation.Grace) })
	return v
}
