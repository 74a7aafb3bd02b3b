package lock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/holding"

	"github.com/zkbench/zkbench/variants/session"
)

// NewParticipant makes a participant whose step acquires the lock, holds it and releases it.
func NewParticipant(l Lock, env variants.Env) variants.Participant {
	return holding.NewWorker(env, func(int) holding.Operation {
		return holding.Operation{Release: l.Release, Acquire: func(ctx context.Context) (holding.Grant, error) {
			grant, err := l.Acquire(ctx)
			return holding.Grant{Value: grant.Token, Lost: grant.Lost}, err
		}}
	})
}

func join[E Lock](open func(*session.Session, string) E) variants.JoinFunc {
	return joinBy(func(_ context.Context, env variants.Env) (Lock, error) { return open(env.Session, env.Root), nil })
}

// joinBy is join for a constructor that needs more than session and directory, or may fail.
func joinBy(open func(context.Context, variants.Env) (Lock, error)) variants.JoinFunc {
	return variants.JoinThreads(variants.JoinBy(open, NewParticipant))
}

func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		holding.Spans(out, holding.PhaseAcquire, holding.PhaseHold, holding.PhaseRelease),
		holding.Handoffs(out),
		holding.Exclusive(out, holding.LockWords()),
	}
}
