// Package exclusion is shared by the workloads of locks and elections: a client acquires something, holds it and releases
// it.
//
// It takes one position: such a client records the same events at the same moments for all recipes. Acquired is recorded
// just after the acquire has returned, and Releasing just before the release is sent: so an overlap in a history was one
// in reality, or a grant on a state in which another client held.
package exclusion

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// What a client records.
const (
	Requested variants.EventKind = iota
	Withdrew                     // the acquire has failed
	Acquired                     // value: of the grant, such as the fencing token; likewise for all that follow
	Heeded                       // it was asked to go on, and its hold has ended; it may have been deaf to that until then
	Deposed                      // its session is lost, and it has stopped; recorded in place of Releasing
	Releasing
	Released
	Unseen // while it holds: other clients cannot see what its variant promises to show them
	// Further is the first kind of event that a recipe may define itself.
	Further
)

// Events returns the names of these events, followed by the events that a recipe defines itself, see [variants.Recipe].
func Events(further ...string) []string {
	return append([]string{"requests it", "withdraws", "is granted it", "gives way", "is deposed",
		"begins to release it", "has released it", "is not seen to hold it"}, further...)
}

// Calls returns the events of this package that a client records just before a write, see [variants.Recipe].
func Calls() []variants.EventKind { return []variants.EventKind{Requested, Releasing} }

// The phases of a lock.
const (
	PhaseAcquire = "acquire"
	PhaseHold    = "hold"
	PhaseRelease = "release"
	PhaseHandoff = "handoff"
)

// Phases returns the phases of a lock, the handoff first.
func Phases() []variants.Phase {
	return []variants.Phase{
		{Name: PhaseHandoff, Floor: variants.FloorHandoff,
			Meaning: "from just before a release is sent until the next holder, which was waiting by then, has the lock"},
		{Name: PhaseAcquire, From: Requested, To: Acquired, Waits: true, UntimedInLockstep: true,
			Meaning: "from the call until the lock is held, waiting for one's turn included"},
		{Name: PhaseRelease, From: Releasing, To: Released, Floor: variants.FloorWrite,
			Meaning: "from just before a release is sent until its reply"},
		{Name: PhaseHold, From: Acquired, To: Releasing, Meaning: "what the scenario makes holders hold", UntimedInLockstep: true},
	}
}

// Operation is how a client acquires something and releases it.
type Operation struct {
	Wanted int64 // recorded with the request
	// Acquire returns a grant whose Token is recorded with every event from then on. If its Lost is closed when the hold ends, Deposed
	// is recorded in place of Releasing, in an exact order with [variants.SessionLost]. With nil, the client holds on after its session
	// is lost.
	Acquire func(context.Context) (session.Grant, error)
	Release func(context.Context) error
}

// Worker is a participant that acquires, holds and releases, in the same way for every variant of a recipe.
type Worker struct {
	env       variants.Env
	operation func(step int) Operation
	steps     int
}

// NewWorker returns a worker. operation returns what it does in each step, from 0 on.
func NewWorker(env variants.Env, operation func(step int) Operation) *Worker {
	return &Worker{env: env, operation: operation}
}

// NewParticipant makes a participant whose step acquires the lock, holds it and releases it.
func NewParticipant(l session.Lock, env variants.Env) variants.Participant {
	return NewWorker(env, func(int) Operation { return Operation{Acquire: l.Acquire, Release: l.Release} })
}

// Join makes the Join of a variant from the constructor of its lock.
func Join[L session.Lock](open func(*session.Session, string) L) variants.JoinFunc {
	return variants.JoinNew(open, func(l L, env variants.Env) variants.Participant { return NewParticipant(l, env) })
}

// JoinIn is Join for a constructor that may fail.
func JoinIn[L session.Lock](open func(context.Context, *session.Session, string) (L, error)) variants.JoinFunc {
	return variants.JoinIn(open, func(l L, env variants.Env) variants.Participant { return NewParticipant(l, env) })
}

// JoinDriven returns the Join of all variants of a recipe whose clients are in a driver, which has these two verbs. A client
// that gives up stays in the line: its driver acquires later, and keeps what it has acquired.
func JoinDriven(acquire, release string) variants.JoinFunc {
	return variants.JoinBy(variants.NewDriven, func(client variants.Driven, env variants.Env) variants.Participant {
		return NewWorker(env, func(int) Operation {
			return Operation{
				Acquire: func(ctx context.Context) (session.Grant, error) { return client.Acquire(ctx, acquire) },
				Release: func(ctx context.Context) error { return client.Do(ctx, release) },
			}
		})
	})
}

// Leave implements [variants.Participant].
func (w *Worker) Leave(ctx context.Context) error { return w.operation(w.steps).Release(ctx) }

// Step implements [variants.Participant]. A run that ends while the client holds still releases.
func (w *Worker) Step(ctx context.Context) error {
	env, o := w.env, w.operation(w.steps)
	w.steps++
	env.Record(Requested, o.Wanted)
	grant, err := o.Acquire(ctx)
	if err != nil {
		env.Record(Withdrew, o.Wanted)
		return fmt.Errorf("acquire: %w", err)
	}
	env.Record(Acquired, grant.Token)
	held := env.Hold(ctx, grant.Revoked)
	if session.IsClosed(grant.Revoked) && !session.IsClosed(grant.Lost) {
		env.Record(Heeded, grant.Token)
	}
	env.RecordUnless(grant.Lost, Releasing, Deposed, grant.Token)
	ctx, cancel := session.Cleanup(ctx)
	defer cancel()
	if err := o.Release(ctx); err != nil {
		return errors.Join(held, fmt.Errorf("release: %w", err))
	}
	env.Record(Released, grant.Token)
	return held
}
