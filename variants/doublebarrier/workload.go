package doublebarrier

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zkbench/zkbench/variants"
)

// The events that a participant records. The value is the round, from 0 on.
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

// phases returns what is timed, the most telling first.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseEnter, Meaning: "from the call until all have entered, waiting for slower ones included", Waits: true, UntimedInLockstep: true},
		{Name: phaseLeave, Meaning: "from the call until all have left, waiting for slower ones included", Waits: true, UntimedInLockstep: true},
		{Name: phaseHold, Meaning: "the time that the scenario keeps participants inside", UntimedInLockstep: true},
	}
}

// participant takes part in one round in each step, the same way for every variant.
type participant struct {
	barrier Barrier
	env     variants.Env
}

var (
	_ variants.Participant = (*participant)(nil)
	_ variants.Rounded     = (*participant)(nil)
)

// join makes a variant's Join out of its constructor.
func join[B Barrier](open func(context.Context, *variants.Session, Group) (B, error)) variants.JoinFunc {
	return variants.JoinBy(func(ctx context.Context, env variants.Env) (B, error) {
		return open(ctx, env.Session, Group{Dir: env.Root, Size: env.Clients, Member: strconv.Itoa(env.Index)})
	}, func(b B, env variants.Env) variants.Participant {
		env.Record(joined, int64(env.Clients))
		return &participant{barrier: b, env: env}
	})
}

// Step implements [variants.Participant].
func (p *participant) Step(ctx context.Context) error {
	p.env.Record(arrived, p.Round())
	if err := p.takePart(ctx); err != nil {
		p.env.Record(failed, p.Round())
		return err
	}
	return nil
}

// Round implements [variants.Rounded].
func (p *participant) Round() int64 { return p.barrier.Round() }

func (p *participant) takePart(ctx context.Context) error {
	if err := p.barrier.Enter(ctx); err != nil {
		return fmt.Errorf("enter: %w", err)
	}
	round := p.Round() // a later one than when it arrived, if that one began without it
	p.env.Record(started, round)
	if err := p.env.Hold(ctx, nil); err != nil {
		return err
	}
	p.env.Record(finished, round)
	if err := p.barrier.Leave(ctx); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	p.env.Record(departed, round)
	return nil
}

// Leave implements [variants.Participant].
func (p *participant) Leave(ctx context.Context) error {
	if err := p.barrier.Close(ctx); err != nil && !errors.Is(err, variants.ErrSessionLost) {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}
