package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records.
const (
	requested variants.EventKind = iota
	acquired                     // value: the fencing token
	releasing                    // just before the release is sent
	released
)

// The phases of one step. The handoff, from just before a release is sent to the moment that the next holder, who was
// waiting by then, has the lock, is what separates the variants; the others contain waiting for one's turn.
const (
	phaseAcquire = "acquire"
	phaseHold    = "hold"
	phaseRelease = "release"
	phaseHandoff = "handoff"
)

// worker is a participant: it acquires, holds and releases, the same way for every variant.
type worker struct {
	lock Lock
	env  variants.Env
}

var _ variants.Participant = (*worker)(nil)

// join makes a variant's Join out of its constructor.
func join(open func(context.Context, variants.Session, variants.Env) (Lock, error)) func(context.Context, variants.Session, variants.Env) (variants.Participant, error) {
	return func(ctx context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		l, err := open(ctx, s, env)
		if err != nil {
			return nil, err
		}
		return &worker{lock: l, env: env}, nil
	}
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
	return append(out, handoffs(h)...)
}

// handoffs pairs each release with the next acquisition, if that client was already waiting; otherwise the time in
// between is idleness, not handing over.
func handoffs(h variants.History) []variants.Span {
	var out []variants.Span
	waitingSince := map[int]time.Duration{}
	var free time.Duration
	pending := false
	for _, e := range h {
		switch e.Kind {
		case requested:
			waitingSince[e.Client] = e.At
		case releasing:
			free, pending = e.At, true
		case acquired:
			if pending && waitingSince[e.Client] < free {
				out = append(out, variants.Span{Phase: phaseHandoff, Client: e.Client, Start: free, End: e.At})
			}
			pending = false
		}
	}
	return out
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
				out = append(out, violation(e, "client %d acquired the lock while client %d held it", e.Client, holder))
			}
			if granted && e.Value <= lastToken {
				out = append(out, violation(e, "client %d was granted fencing token %d after token %d", e.Client, e.Value, lastToken))
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

func violation(e variants.Event, format string, args ...any) variants.Violation {
	return variants.Violation{At: e.At, Text: fmt.Sprintf(format, args...)}
}

func formula(text string, at func(n float64) float64) variants.Formula {
	return variants.Formula{Text: text, At: func(n int) float64 { return at(float64(n)) }}
}

func constant(text string, value float64) variants.Formula {
	return formula(text, func(float64) float64 { return value })
}

// aloneOr is a formula that has another value for N = 1.
func aloneOr(alone float64, text string, at func(n float64) float64) variants.Formula {
	return formula(text+fmt.Sprintf(" (%g for N=1)", alone), func(n float64) float64 {
		if n == 1 {
			return alone
		}
		return at(n)
	})
}
