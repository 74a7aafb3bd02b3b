package barrier

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. The value is the number of the barrier.
const (
	waiting variants.EventKind = iota // just before it begins to wait
	passed                            // it was let through
	opening                           // just before it opens
	opened                            // the opening was acknowledged
	gaveUp                            // it stopped waiting
)

// The phases.
const (
	phaseWait    = "wait"
	phaseOpen    = "open"
	phasePassage = "passage"
)

// phases are what is timed, the most telling first.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phasePassage, Meaning: "from just before an opening is sent until a client who was waiting is past the barrier", Floor: variants.FloorHandoff},
		{Name: phaseOpen, Meaning: "from just before an opening is sent until its reply", Floor: variants.FloorWrite},
		{Name: phaseWait, Meaning: "from the call until the client is past the barrier", Waits: true, UntimedInLockstep: true},
	}
}

// participant passes one barrier in each step, the same way for every variant. The participants take turns to open.
type participant struct {
	barrier Barrier
	env     variants.Env
	number  int64 // of the barrier that it is before
}

var _ variants.Participant = (*participant)(nil)

// join makes a variant's Join out of its constructor.
func join(enter func(context.Context, variants.Session, variants.Env) (Barrier, error)) variants.JoinFunc {
	return variants.JoinBy(enter, func(b Barrier, env variants.Env) variants.Participant {
		return &participant{barrier: b, env: env}
	})
}

// Step implements [variants.Participant]. Whose turn it is to open holds first, so that the others can line up.
func (p *participant) Step(ctx context.Context) error {
	var err error
	if p.number%int64(p.env.Clients) == int64(p.env.Index) {
		err = p.open(ctx)
	} else {
		err = p.wait(ctx)
	}
	if err == nil {
		p.number++
	}
	return err
}

func (p *participant) open(ctx context.Context) error {
	if err := p.env.Hold(ctx, p.env.Lost); err != nil {
		return err
	}
	p.env.Record(opening, p.number)
	if err := p.barrier.Open(ctx); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	p.env.Record(opened, p.number)
	return nil
}

func (p *participant) wait(ctx context.Context) error {
	p.env.Record(waiting, p.number)
	if err := p.barrier.Wait(ctx); err != nil {
		p.env.Record(gaveUp, p.number)
		return fmt.Errorf("wait: %w", err)
	}
	p.env.Record(passed, p.number)
	return nil
}

// Leave implements [variants.Participant]: the barrier stays, closed, for those who may still come.
func (p *participant) Leave(context.Context) error { return nil }

func spans(h variants.History) []variants.Span {
	out := h.Between(phaseWait, waiting, passed)
	out = append(out, h.Between(phaseOpen, opening, opened)...)
	return append(out, passages(h)...)
}

// passages pairs each opening with those who were waiting for it.
func passages(h variants.History) []variants.Span {
	var out []variants.Span
	begun := map[int64]time.Duration{} // openings, by number
	waits := map[int]variants.Event{}
	for _, e := range h {
		switch e.Kind {
		case waiting:
			waits[e.Client] = e
		case opening:
			begun[e.Value] = e.At
		case passed:
			if start, ok := begun[e.Value]; ok && waits[e.Client].At <= start {
				out = append(out, variants.Span{Phase: phasePassage, Client: e.Client, Start: start, End: e.At})
			}
		}
	}
	return out
}

// check holds a whole history to the promise.
func check(h variants.History) []variants.Violation {
	return append(checkPrefix(h), leftBehind(h)...)
}

// checkPrefix finds early passages. An opening is recorded just before it is sent, and a passage just after it is granted:
// a passage that comes first in the history came too early.
func checkPrefix(h variants.History) []variants.Violation {
	var out []variants.Violation
	begun := map[int64]bool{}
	for _, e := range h {
		switch e.Kind {
		case opening:
			begun[e.Value] = true
		case passed:
			if !begun[e.Value] {
				out = append(out, e.Violation("client %d passed barrier %d before it was opened", e.Client, e.Value))
			}
		}
	}
	return out
}

// leftBehind returns a violation for each client that still waits, at the end of a whole history, at a barrier that was
// opened.
func leftBehind(h variants.History) []variants.Violation {
	done := map[int64]bool{}
	waits := map[int]variants.Event{}
	for _, e := range h {
		switch e.Kind {
		case waiting:
			waits[e.Client] = e
		case opened:
			done[e.Value] = true
		case gaveUp, passed:
			delete(waits, e.Client)
		}
	}
	var out []variants.Violation
	for _, client := range slices.Sorted(maps.Keys(waits)) {
		if e := waits[client]; done[e.Value] {
			out = append(out, e.Violation("client %d never passed barrier %d, which was opened", e.Client, e.Value))
		}
	}
	return out
}
