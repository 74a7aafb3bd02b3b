package revocable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. The values are fencing tokens, but for the first two.
const (
	agreed       variants.EventKind = iota // value: the grace, after which nobody may use force
	agreedForced                           // value: the grace, after which one may
	requested
	withdrew // an acquire that has ended without a grant
	acquired
	heeded    // the holder was asked, and has come to an end
	releasing // just before the release is sent
	ousted    // a release found out that the lock had been taken away by force
	released
)

// The phases.
const (
	phaseAcquire = "acquire"
	phaseRevoke  = "revoke"
	phaseHold    = "hold"
	phaseRelease = "release"
	phaseHandoff = "handoff"
)

// phases are what is timed, the most telling first.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseRevoke, Meaning: "from when somebody wants the lock, or its holder has it if that is later, until the holder has come to an end because it was asked", UntimedInLockstep: true},
		{Name: phaseHandoff, Meaning: "from just before a release is sent until the next holder, who was waiting by then, has the lock", Floor: variants.FloorHandoff},
		{Name: phaseAcquire, Meaning: "from the call until the lock is held, waiting for one's turn included", Waits: true, UntimedInLockstep: true},
		{Name: phaseRelease, Meaning: "from just before a release is sent until its reply", Floor: variants.FloorWrite},
		{Name: phaseHold, Meaning: "how long holders hold, as the scenario makes them or until they are asked", Waits: true, UntimedInLockstep: true},
	}
}

// worker is a participant: it acquires, holds until it is asked to give up or has held for long enough, and releases,
// the same way for every variant.
type worker struct {
	lock Lock
	env  variants.Env
}

// NewParticipant makes a participant of a lock.
func NewParticipant(l Lock, terms Terms, env variants.Env) variants.Participant {
	kind := agreed
	if terms.Forced {
		kind = agreedForced
	}
	env.Record(kind, int64(terms.Grace))
	return &worker{lock: l, env: env}
}

// join makes a variant's Join out of its constructor.
func join(terms Terms, open func(variants.Session, variants.Env) Lock) variants.JoinFunc {
	return func(_ context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		return NewParticipant(open(s, env), terms, env), nil
	}
}

// Step implements [variants.Participant].
func (w *worker) Step(ctx context.Context) error {
	w.env.Record(requested, 0)
	grant, err := w.lock.Acquire(ctx)
	if err != nil {
		w.env.Record(withdrew, 0)
		return fmt.Errorf("acquire: %w", err)
	}
	w.env.Record(acquired, grant.Token)
	held := w.env.Hold(ctx, grant.Revoked)
	select {
	case <-grant.Revoked:
		w.env.Record(heeded, grant.Token)
	default:
	}
	w.env.Record(releasing, grant.Token)
	// A run that ends while the lock is held still releases it.
	releaseCtx, cancel := variants.Cleanup(ctx)
	defer cancel()
	err = w.lock.Release(releaseCtx)
	if errors.Is(err, ErrForced) { // it was too slow, and has been served right
		w.env.Record(ousted, grant.Token)
		err = nil
	}
	if err != nil {
		return errors.Join(held, fmt.Errorf("release: %w", err))
	}
	w.env.Record(released, grant.Token)
	return held
}

// Leave implements [variants.Participant].
func (w *worker) Leave(ctx context.Context) error { return w.lock.Release(ctx) }

func spans(h variants.History) []variants.Span {
	out := h.Between(phaseAcquire, requested, acquired)
	out = append(out, h.Between(phaseHold, acquired, releasing)...)
	out = append(out, h.Between(phaseRelease, releasing, released)...)
	out = append(out, h.Handovers(phaseHandoff, requested, releasing, acquired)...)
	return append(out, revocations(h)...)
}

// revocations are the times from when somebody wants a lock that is held to when its holder heeds that.
func revocations(h variants.History) []variants.Span {
	var out []variants.Span
	waiting, since := waiters{}, map[int]time.Duration{}
	for _, e := range h {
		waiting.observe(e)
		switch e.Kind {
		case acquired:
			since[e.Client] = e.At
		case heeded:
			if asked, ok := waiting.longest(); ok {
				out = append(out, variants.Span{Phase: phaseRevoke, Client: e.Client, Start: max(asked, since[e.Client]), End: e.At})
			}
		}
	}
	return out
}

// waiters are those who want the lock, since when.
type waiters map[int]time.Duration

func (w waiters) observe(e variants.Event) {
	switch e.Kind {
	case requested:
		w[e.Client] = e.At
	case acquired, withdrew:
		delete(w, e.Client)
	}
}

// longest returns since when anybody has been waiting; false if nobody is.
func (w waiters) longest() (since time.Duration, waiting bool) {
	for _, at := range w {
		if !waiting || at < since {
			since, waiting = at, true
		}
	}
	return since, waiting
}
