package revocable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// Forced is the revocable lock that is taken away from a holder that does not give it up in time: the recipes page calls
// it a lock with freaking laser beams.
//
//  1. Create <dir>/<guid>-lock-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>. If the own znode is the lowest, go to 6.
//  3. Write "unlock" to the next lower znode, unless that has been done. If it is gone, go to 2.
//  4. Read it with a watch, and wait for the watch or for the end of the grace. If the watch fired, go to 2.
//  5. List <dir>. If the next lower znode is the lowest, and was at the beginning of the grace, delete it. The grace
//     begins anew; go to 2.
//  6. The lock is held. Read the own znode with a watch. If it says "unlock", somebody wants the lock. If it is gone, the
//     lock is lost.
//  7. Wait for the watch, and go to 6.
//  8. To release, or to withdraw, delete the own znode. If it is gone, the lock was lost.
//
// A waiter learns only from the listing who holds. So a holder that was asked is spared for one grace at least, and for
// two at most. It learns from its watch that the lock was taken away, when the next one may have it already: until
// it has stopped, two hold the lock. Whatever the lock protects must refuse the smaller fencing token.
//
// Cost of a drain, where each of N clients comes when the one before it holds, which is asked and then releases, long
// before the grace is over. It is that of DataWatch but for step 7, where the holder goes on watching after it was asked:
// so every release notifies the holder itself, too:
//
//	requests       8N-4
//	writes         3N-1
//	notifications  2(N-1) + N  =  3N-2
//	herd           2
//
// So the threat costs one notification of the holder's own. What it costs to carry it out: a listing, a delete, and 2
// notifications (to the old holder and the new); the old holder's own delete then fails. Looping freely, each waiter
// lists and reads once more per grace, so that requests have no bound that depends on N alone: they are the more, the
// longer the line and the shorter the grace.
//
// Source: ZooKeeper recipes page, Recoverable Shared Locks, last paragraph.
type Forced struct {
	sequential
	grace time.Duration
}

var _ Lock = (*Forced)(nil)

// NewForced returns the lock of one client below an existing znode dir. All clients must give the same grace. lost is
// closed when the session is.
func NewForced(session variants.Session, dir string, grace time.Duration, lost <-chan struct{}) *Forced {
	l := &Forced{grace: grace}
	l.init(session, dir, lost, l)
	return l
}

// Acquire implements [Lock].
func (l *Forced) Acquire(ctx context.Context) (Grant, error) {
	grant, err := l.sequential.Acquire(ctx)
	return grant, l.orForced(err)
}

// Release implements [Lock].
func (l *Forced) Release(ctx context.Context) error { return l.orForced(l.sequential.Release(ctx)) }

// orForced tells a znode that went with the session from one that was deleted.
func (l *Forced) orForced(err error) error {
	if !errors.Is(err, variants.ErrSessionLost) || variants.Alive(l.Lost) != nil {
		return err
	}
	return ErrForced
}

// awaitTurn loses patience with a holder that was there for a whole grace. The grace begins anew with each that stands
// before the own ticket, because one that withdrew may not have asked.
func (l *Forced) awaitTurn(ctx context.Context, mine line.Ticket) error {
	var holder, outwaited line.Ticket
	patience, stop := ctx, context.CancelFunc(func() {})
	defer func() { stop() }()
	return l.queue(ctx, mine, func(first, predecessor line.Ticket) error {
		over := patience.Err() != nil
		if over && predecessor == outwaited && predecessor == holder {
			return l.force(ctx, predecessor)
		}
		if over || predecessor != outwaited {
			stop()
			patience, stop = context.WithTimeout(ctx, l.grace)
			holder, outwaited = first, predecessor
		}
		err := l.AwaitChange(patience, predecessor)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return nil
		}
		return err
	})
}

// force takes the lock away from its holder.
func (l *Forced) force(ctx context.Context, holder line.Ticket) error {
	err := variants.Retry(ctx, l.Lost, func() error { return l.Session.Delete(l.Path(holder), -1) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

func (l *Forced) look(ctx context.Context, mine line.Ticket) (seen, error) { return l.readW(ctx, mine) }

func (l *Forced) lookAgain(ctx context.Context, mine line.Ticket, last seen) (seen, error) {
	if err := variants.Await(ctx, l.Lost, last.watch); err != nil {
		return seen{}, err
	}
	return l.look(ctx, mine)
}

func forcedVariant() variants.Variant {
	v := dataWatchVariant()
	v.Name = "forced"
	v.Type = "Forced"
	v.Summary = fmt.Sprintf("as data-watch, but after %s the waiter deletes the holder's znode", grace)
	v.Source = "ZooKeeper recipes page, Recoverable Shared Locks, last paragraph"
	v.BadAt = "strict exclusion: a holder that does not listen goes on until it notices, while the next one holds the lock already, and only fencing tokens tell them apart"
	v.Lockstep.Notifications = "(3N-2)/N"
	v.Lockstep.HerdMax = "2 (1 for N=1)"
	v.Free = variants.Cost{
		Requests:      "no bound (4 for N=1)",
		Writes:        "4 (2 for N=1)",
		FailedWrites:  "2 (0 for N=1)",
		Notifications: "3 (1 for N=1)",
		HerdMax:       "2 (1 for N=1)",
	}
	v.Join = join(Terms{Grace: grace, Forced: true}, func(s variants.Session, env variants.Env) Lock {
		return NewForced(s, env.Root, grace, env.Lost)
	})
	return v
}
