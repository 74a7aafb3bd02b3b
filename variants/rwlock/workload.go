package rwlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. The values hold the mode; see stamp.
const (
	requested variants.EventKind = iota
	acquired                     // with the fencing token
	releasing                    // just before the release is sent, with the token
	released                     // with the token
)

// stamp packs what an event has to say into its value, and unstamp unpacks it. A token may be negative.
func stamp(mode Mode, token int64) int64 { return token<<1 | int64(mode) }

func unstamp(value int64) (mode Mode, token int64) { return Mode(value & 1), value >> 1 }

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
		{Name: phaseHandoff, Meaning: "from just before the release is sent that leaves the lock free for those who wait, until each of them has it", Floor: variants.FloorHandoff},
		{Name: phaseAcquire, Meaning: "from the call until the lock is held, waiting for one's turn included", Waits: true, UntimedInLockstep: true},
		{Name: phaseRelease, Meaning: "from just before a release is sent until its reply", Floor: variants.FloorWrite},
		{Name: phaseHold, Meaning: "what the scenario makes holders hold", UntimedInLockstep: true},
	}
}

// thirds splits n participants into readers, writers and readers, as evenly as possible.
func thirds(n int) (first, writers, rest int) { return (n + 2) / 3, (n + 1) / 3, n / 3 }

// role says in which mode a participant takes the lock. In the first step the first third of the participants reads, the
// second writes and the last reads; with every step each moves on by one place, so that in the long run everybody reads
// twice as often as it writes. One or two participants go through the roles of three.
//
// In a lockstep run they line up in this order: readers who hold, writers who wait for them, and readers who wait for
// all these writers, which is where the variants differ most. It is not every third participant that writes, because
// readers that were let in at once go on in whatever order they came to hold: how often that wakes a writer behind them
// is a matter of chance, and no exact formula could say it. Here, the only readers with writers behind them are those
// who came one after another.
func role(env variants.Env, step int) Mode {
	n := max(env.Clients, 3)
	first, writers, _ := thirds(n)
	place := (env.Index + step) % n
	if first <= place && place < first+writers {
		return Write
	}
	return Read
}

// withThirds defines how many read first (f), write (w), and read behind the writers (r).
const withThirds = " with f=⌈N/3⌉, w=⌊(N+1)/3⌋, r=⌊N/3⌋"

// worker is a participant: it acquires, holds and releases, the same way for every variant.
type worker struct {
	lock  Lock
	env   variants.Env
	steps int
}

var _ variants.Participant = (*worker)(nil)

// join makes a variant's Join out of its constructor.
func join(open func(variants.Session, variants.Env) Lock) variants.JoinFunc {
	return func(_ context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		return &worker{lock: open(s, env), env: env}, nil
	}
}

// Step implements [variants.Participant].
func (w *worker) Step(ctx context.Context) error {
	mode := role(w.env, w.steps)
	w.steps++
	w.env.Record(requested, stamp(mode, 0))
	grant, err := w.lock.Acquire(ctx, mode)
	if err != nil {
		return fmt.Errorf("acquire as a %s: %w", mode, err)
	}
	value := stamp(mode, grant.Token)
	w.env.Record(acquired, value)
	held := w.env.Hold(ctx, grant.Lost)
	w.env.Record(releasing, value)
	// A run that ends while the lock is held still releases it.
	releaseCtx, cancel := variants.Cleanup(ctx)
	defer cancel()
	if err := w.lock.Release(releaseCtx); err != nil {
		return errors.Join(held, fmt.Errorf("release as a %s: %w", mode, err))
	}
	w.env.Record(released, value)
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

// handoffs pairs each acquisition by somebody who was already waiting with the release that made way for it: for a
// writer the one that left nobody with the lock, for a reader the last one by a writer. Otherwise the time in between is
// idleness, not handing over.
func handoffs(h variants.History) []variants.Span {
	var out []variants.Span
	const never = time.Duration(-1)
	free := map[Mode]time.Duration{Read: never, Write: never}
	waitingSince := map[int]time.Duration{}
	holders := map[int]bool{}
	for _, e := range h {
		mode, _ := unstamp(e.Value)
		switch e.Kind {
		case requested:
			waitingSince[e.Client] = e.At
		case releasing:
			delete(holders, e.Client)
			if mode == Write {
				free[Read] = e.At
			}
			if len(holders) == 0 {
				free[Write] = e.At
			}
		case acquired:
			if waitingSince[e.Client] < free[mode] {
				out = append(out, variants.Span{Phase: phaseHandoff, Client: e.Client, Start: free[mode], End: e.At})
			}
			holders[e.Client] = true
			free[Write] = never
			if mode == Write {
				free[Read] = never
			}
		}
	}
	return out
}
