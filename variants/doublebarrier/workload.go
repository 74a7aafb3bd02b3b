package doublebarrier

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. The value tells the round.
const (
	joined   variants.EventKind = iota // value: how many participants there are
	arrived                            // just before it enters
	started                            // all have entered, as it believes
	finished                           // just before it leaves
	departed                           // all have finished, as it believes
	failed                             // it gave up
)

// The phases.
const (
	phaseEnter = "enter"
	phaseHold  = "hold"
	phaseLeave = "leave"
)

// phases are what is timed, the most telling first.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseEnter, Meaning: "from the call until all have entered, waiting for slower ones included", Waits: true, UntimedInLockstep: true},
		{Name: phaseLeave, Meaning: "from the call until all have left, waiting for slower ones included", Waits: true, UntimedInLockstep: true},
		{Name: phaseHold, Meaning: "what the scenario makes participants do inside", UntimedInLockstep: true},
	}
}

// participant is one process: in each step it takes part in one round, the same way for every variant.
type participant struct {
	barrier Barrier
	env     variants.Env
	round   int64
}

var _ variants.Participant = (*participant)(nil)

// join makes a variant's Join out of its constructor.
func join(open func(context.Context, variants.Session, Group, <-chan struct{}) (Barrier, error)) variants.JoinFunc {
	return func(ctx context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		barrier, err := open(ctx, s, Group{Dir: env.Root, Size: env.Clients}, env.Lost)
		if err != nil {
			return nil, err
		}
		env.Record(joined, int64(env.Clients))
		return &participant{barrier: barrier, env: env}, nil
	}
}

// Step implements [variants.Participant].
func (p *participant) Step(ctx context.Context) error {
	p.env.Record(arrived, p.round)
	if err := p.takePart(ctx); err != nil {
		p.env.Record(failed, p.round)
		return err
	}
	p.round++
	return nil
}

func (p *participant) takePart(ctx context.Context) error {
	if err := p.barrier.Enter(ctx); err != nil {
		return fmt.Errorf("enter: %w", err)
	}
	p.env.Record(started, p.round)
	if err := p.env.Hold(ctx, p.env.Lost); err != nil {
		return err
	}
	p.env.Record(finished, p.round)
	if err := p.barrier.Leave(ctx); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	p.env.Record(departed, p.round)
	return nil
}

// Leave implements [variants.Participant].
func (p *participant) Leave(ctx context.Context) error {
	if err := p.barrier.Close(ctx); err != nil && !errors.Is(err, variants.ErrSessionLost) {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

func spans(h variants.History) []variants.Span {
	out := h.Between(phaseEnter, arrived, started)
	out = append(out, h.Between(phaseHold, started, finished)...)
	return append(out, h.Between(phaseLeave, finished, departed)...)
}

// round is who has done what in one.
type round struct {
	arrived, started, finished, departed, failed map[int]bool

	alive map[int]bool // those who depart in it, however late: they were not dead when others departed
}

// check holds a whole history to the promise. To arrive and to finish is recorded just before anything is sent, to start and
// to depart just after all is known, on one clock: whoever arrives later in the history than somebody starts cannot have
// been waited for. Whoever fails in a round, and be it later, may have been dead for long: nobody has to wait until it
// has finished.
func check(h variants.History) []variants.Violation {
	return breaches(h, func(r *round, other int) bool { return r.failed[other] })
}

// checkPrefix does not demand that a participant has finished which may yet fail.
func checkPrefix(h variants.History) []variants.Violation {
	return breaches(h, func(r *round, other int) bool { return r.failed[other] || !r.alive[other] })
}

// breaches goes through a history. It is excused to leave a round before a participant has finished that may be dead.
func breaches(h variants.History, mayBeDead func(r *round, other int) bool) []variants.Violation {
	size := 0
	rounds := map[int64]*round{}
	for _, e := range h {
		switch {
		case e.Kind == joined:
			size = max(size, int(e.Value))
		case rounds[e.Value] == nil:
			rounds[e.Value] = newRound()
		}
		switch e.Kind {
		case failed:
			rounds[e.Value].failed[e.Client] = true
		case departed:
			rounds[e.Value].alive[e.Client] = true
		}
	}
	var out []variants.Violation
	for _, e := range h {
		if e.Kind != joined {
			out = append(out, rounds[e.Value].add(e, size, mayBeDead)...)
		}
	}
	return out
}

func newRound() *round {
	return &round{
		arrived: map[int]bool{}, started: map[int]bool{}, finished: map[int]bool{}, departed: map[int]bool{},
		failed: map[int]bool{}, alive: map[int]bool{},
	}
}

// add adds what a participant did, and returns how it breaks the promise.
func (r *round) add(e variants.Event, size int, mayBeDead func(*round, int) bool) []variants.Violation {
	switch e.Kind {
	case arrived:
		r.arrived[e.Client] = true
	case finished:
		r.finished[e.Client] = true
	case started:
		return r.begin(e, size)
	case departed:
		return r.end(e, size, mayBeDead)
	}
	return nil
}

func (r *round) begin(e variants.Event, size int) []variants.Violation {
	var out []variants.Violation
	if r.started[e.Client] {
		out = append(out, e.Violation("participant %d started round %d twice", e.Client, e.Value))
	}
	r.started[e.Client] = true
	for other := range size {
		if !r.arrived[other] {
			out = append(out, e.Violation("participant %d started round %d before participant %d had entered", e.Client, e.Value, other))
		}
	}
	return out
}

func (r *round) end(e variants.Event, size int, mayBeDead func(*round, int) bool) []variants.Violation {
	var out []variants.Violation
	if r.departed[e.Client] {
		out = append(out, e.Violation("participant %d left round %d twice", e.Client, e.Value))
	}
	r.departed[e.Client] = true
	for other := range size {
		if !r.finished[other] && !mayBeDead(r, other) {
			out = append(out, e.Violation("participant %d left round %d before participant %d had finished", e.Client, e.Value, other))
		}
	}
	return out
}
