package barrier

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// The events that a participant records. The value is the number of the barrier.
const (
	waiting variants.EventKind = iota // just before it begins to wait
	passed
	opening // just before it sends the opening
	opened  // the opening was acknowledged
	gaveUp  // it stopped waiting
)

const (
	phaseOpen    = "open"
	phasePassage = "passage"
)

func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phasePassage, Floor: variants.FloorHandoff,
			Meaning: "from just before an opening is sent until a client that was waiting is past the barrier"},
		{Name: phaseOpen, From: opening, To: opened, Meaning: "from just before an opening is sent until its reply", Floor: variants.FloorWrite},
		{Name: "wait", From: waiting, To: passed, Waits: true, UntimedInLockstep: true,
			Meaning: "from the call until the client is past the barrier"},
	}
}

// participant passes one barrier in each step, the same way for every variant. The participants take turns to open.
type participant struct {
	barrier interface { // a [Barrier]
		Wait(ctx context.Context) error
		Open(ctx context.Context) error
		Number() int64
	}
	env variants.Env
}

var _ variants.Rounded = (*participant)(nil)

func join(open func(context.Context, *session.Session, string) (*Barrier, error)) variants.JoinFunc {
	return variants.JoinIn(open, func(b *Barrier, env variants.Env) variants.Participant { return &participant{barrier: b, env: env} })
}

// The participant whose turn it is to open holds first, so that the others can line up.
func (p *participant) Step(ctx context.Context) error {
	number := p.barrier.Number()
	if number%int64(p.env.Clients) == int64(p.env.Index) {
		return p.open(ctx, number)
	}
	return p.wait(ctx, number)
}

func (p *participant) Round() int64 { return p.barrier.Number() }

func (p *participant) open(ctx context.Context, number int64) error {
	if err := p.env.Hold(ctx, nil); err != nil {
		return err
	}
	return p.env.Timed(ctx, "open", opening, opened, number, p.barrier.Open)
}

func (p *participant) wait(ctx context.Context, number int64) error {
	err := p.env.Timed(ctx, "wait", waiting, passed, number, p.barrier.Wait)
	if err != nil {
		p.env.Record(gaveUp, number)
	}
	return err
}

// The barrier stays, closed, for clients that may still come.
func (p *participant) Leave(context.Context) error { return nil }
