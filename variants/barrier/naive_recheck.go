package barrier

import (
	"context"

	"github.com/zkbench/zkbench/variants"
)

// Recheck is the barrier whose waiters, when they are woken, look again whether it is gone.
//
// To wait at <dir>/barrier-<k>:
//
//  1. Read it with a watch. If it is gone, pass.
//  2. Wait for the watch, and go to 1.
//
// To open it: delete it and create <dir>/barrier-<k+1>, in one multi.
//
// Whatever the notification was about, the znode's absence is what lets a client pass; so this is right even if somebody
// writes to the znode. But nobody does, and all waiters read again at the same moment: when they are all to go.
//
// The recipe asks with exists, which leaves a watch behind where it finds the znode gone. getData costs the same and
// does not.
//
// Cost of one opening, for which N-1 others wait:
//
//	requests       N-1 reads before, the multi, N-1 reads after  =  2N-1
//	writes         1
//	notifications  N-1, all from the multi, which is the herd; it cannot be smaller, as all are to go
//
// Freely, a client that comes when the barrier is open already reads once and is not notified: the same is a bound.
//
// Source: ZooKeeper recipes page, Barriers.
type Recheck struct{ place }

var _ Barrier = (*Recheck)(nil)

// NewRecheck places a client before the barrier in dir that is closed, which [Create] must have made. lost is closed when
// the session is.
func NewRecheck(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (*Recheck, error) {
	p, err := enter(ctx, session, dir, lost)
	if err != nil {
		return nil, err
	}
	b := &Recheck{p}
	b.await = b.awaitAbsence
	return b, nil
}

func (b *Recheck) awaitAbsence(ctx context.Context, barrier string) error {
	for {
		closed, watch, err := b.look(ctx, barrier)
		if err != nil || !closed {
			return err
		}
		if err := variants.Await(ctx, b.lost, watch); err != nil {
			return err
		}
	}
}

func recheckVariant() variants.Variant {
	cost := openings("2N-1")
	return variants.Variant{
		Name:     "recheck",
		Type:     "Recheck",
		Kind:     variants.Naive,
		Summary:  "all waiters watch the barrier's znode, and look again when they are woken",
		Source:   "ZooKeeper recipes page, Barriers",
		BadAt:    "crowds: everybody who is let go reads once more, all at the same moment",
		Lockstep: cost,
		Free:     cost,
		Prepare:  prepare,
		Join: join(func(ctx context.Context, s variants.Session, env variants.Env) (Barrier, error) {
			return NewRecheck(ctx, s, env.Root, env.Lost)
		}),
	}
}
