package barrier

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// NoRecheck is the barrier whose waiters pass when they are told that its znode was deleted.
//
// To wait at <dir>/barrier-<k>:
//
//  1. Read it with a watch. If it is gone, pass.
//  2. Wait for the watch. If it says that the znode was deleted, pass; else go to 1.
//
// To open it: delete it and create <dir>/barrier-<k+1>, in one multi.
//
// As no barrier's name is used twice, a znode that was deleted stays so, and there is nothing to look for again. That holds
// across an outage, too: when the client sets its watches again, a server that no longer has the znode says that it was
// deleted.
//
// Cost of one opening, for which N-1 others wait:
//
//	requests       N-1 reads and the multi  =  N
//	writes         1
//	notifications  N-1, all from the multi, which is the herd; it cannot be smaller, as all are to go
//
// So a waiter is past the barrier with the notification, and not a round trip later. Freely, a client that comes when
// the barrier is open already reads once, too, and is not notified: the same is a bound.
//
// Source: ZooKeeper recipes page, Barriers, without its last step.
type NoRecheck struct{ place }

var _ Barrier = (*NoRecheck)(nil)

// NewNoRecheck places a client before the barrier in dir that is closed, which [Create] must have made. lost is closed
// when the session is.
func NewNoRecheck(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (*NoRecheck, error) {
	p, err := enter(ctx, session, dir, lost)
	if err != nil {
		return nil, err
	}
	b := &NoRecheck{p}
	b.await = b.awaitDeletion
	return b, nil
}

func (b *NoRecheck) awaitDeletion(ctx context.Context, barrier string) error {
	for {
		closed, watch, err := b.look(ctx, barrier)
		if err != nil || !closed {
			return err
		}
		event, err := variants.AwaitEvent(ctx, b.lost, watch)
		if err != nil || event.Type == zk.EventNodeDeleted {
			return err
		}
	}
}

func noRecheckVariant() variants.Variant {
	cost := openings("N")
	return variants.Variant{
		Name:     "no-recheck",
		Type:     "NoRecheck",
		Kind:     variants.Optimized,
		Summary:  "all waiters watch the barrier's znode, and pass when they are told that it was deleted",
		Source:   "ZooKeeper recipes page, Barriers, without its last step",
		BadAt:    "crowds, still: one opening wakes everybody, as it must",
		Lockstep: cost,
		Free:     cost,
		Prepare:  prepare,
		Join: join(func(ctx context.Context, s variants.Session, env variants.Env) (Barrier, error) {
			return NewNoRecheck(ctx, s, env.Root, env.Lost)
		}),
	}
}
