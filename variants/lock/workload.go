package lock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
)

// NewParticipant makes a participant whose step acquires the lock, holds it and releases it.
func NewParticipant(l Lock, env variants.Env) variants.Participant {
	return exclusion.NewWorker(env, func(int) exclusion.Operation {
		return exclusion.Operation{Release: l.Release, Acquire: func(ctx context.Context) (exclusion.Grant, error) {
			grant, err := l.Acquire(ctx)
			return exclusion.Grant{Value: grant.Token, Lost: grant.Lost}, err
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
		exclusion.Spans(out, exclusion.PhaseAcquire, exclusion.PhaseHold, exclusion.PhaseRelease),
		exclusion.Handoffs(out),
		exclusion.Exclusive(out, exclusion.LockWords()),
	}
}
