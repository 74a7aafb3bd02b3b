package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records.
const (
	requested variants.EventKind = iota
	acquired                     // value: the fencing token
	releasing                    // just before the release is sent
	released
)

// The phases.
const (
	phaseAcquire = "acquire"
	phaseHold    = "hold"
	phaseRelease = "release"
	phaseHandoff = "handoff"
)

// phases are what is timed, the most telling first.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseHandoff, Meaning: "from just before a release is sent until the next holder, who was waiting by then, has the lock", Floor: variants.FloorHandoff},
		{Name: phaseAcquire, Meaning: "from the call until the lock is held, waiting for one's turn included", Waits: true, UntimedInLockstep: true},
		{Name: phaseRelease, Meaning: "from just before a release is sent until its reply", Floor: variants.FloorWrite},
		{Name: phaseHold, Meaning: "what the scenario makes holders hold", UntimedInLockstep: true},
	}
}

// worker is a participant: it acquires, holds and releases, the same way for every variant.
type worker struct {
	lock Lock
	env  variants.Env
}

var _ variants.Participant = (*worker)(nil)

// join makes a variant's Join out of its constructor.
func join(open func(context.Context, variants.Session, variants.Env) (Lock, error)) variants.JoinFunc {
	return variants.JoinBy(open, func(l Lock, env variants.Env) variants.Participant {
		return &worker{lock: l, env: env}
	})
}

// Step implements [variants.Participant].
func (w *worker) Step(ctx context.Context) error {
	w.env.Record(requested, 0)
	grant, err := w.lock.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	w.env.Record(acquired, grant.Token)
	held := w.env.Hold(ctx, grant.Lost)
	w.env.Record(releasing, grant.Token)
	// A run that ends while the lock is held still releases it.
	releaseCtx, cancel := variants.Cleanup(ctx)
	defer cancel()
	if err := w.lock.Release(releaseCtx); err != nil {
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
	return append(out, h.Handovers(phaseHandoff, requested, releasing, acquired)...)
}

// check holds a history to the promise. Times are taken just after an acquire returned and just before a release was
// sent, on one clock, so that an overlap in the history was one in reality.
func check(h variants.History) []variants.Violation {
	var out []variants.Violation
	const nobody = -1
	holder, lastToken, granted := nobody, int64(0), false
	for _, e := range h {
		switch e.Kind {
		case acquired:
			if holder != nobody {
				out = append(out, e.Violation("client %d acquired the lock while client %d held it", e.Client, holder))
			}
			if granted && e.Value <= lastToken {
				out = append(out, e.Violation("client %d was granted fencing token %d after token %d", e.Client, e.Value, lastToken))
			}
			holder, lastToken, granted = e.Client, e.Value, true
		case releasing:
			if holder == e.Client {
				holder = nobody
			}
		}
	}
	return out
}
