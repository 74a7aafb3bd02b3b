package doublebarrier

import (
	"context"
	"fmt"
	"path"
	"strconv"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// The events that a participant records. The value is the round, from 0 on, with the number of the barrier; see stamp.
const (
	joined   variants.EventKind = iota // value: how many participants there are; recorded for each barrier
	arrived                            // just before it enters
	started                            // all have entered, as it believes
	finished                           // just before it leaves
	departed                           // all have finished, as it believes
	failed                             // it gave up in all barriers
)

// barrierBits is the bit at which the number of the barrier begins in the value of an event.
const barrierBits = 40

func stamp(barrier int, round int64) int64 { return int64(barrier)<<barrierBits | round }

func unstamp(value int64) (barrier int, round int64) {
	return int(value >> barrierBits), value & (1<<barrierBits - 1)
}

const phaseLeave = "leave"

func phases() []variants.Phase {
	return []variants.Phase{
		{Name: "enter", From: arrived, To: started, Waits: true, UntimedInLockstep: true,
			Meaning: "from the call until all have entered, waiting for slower ones included"},
		{Name: phaseLeave, From: finished, To: departed, Waits: true, UntimedInLockstep: true,
			Meaning: "from the call until all have left, waiting for slower ones included"},
		{Name: "hold", From: started, To: finished, Meaning: "the time that the scenario keeps participants inside", UntimedInLockstep: true},
	}
}

// participant takes part in one round of each barrier in each step, the same way for every variant. It first enters all
// barriers, one after another, and then leaves them in the same order.
type participant struct {
	barriers []Barrier
	env      variants.Env
}

var _ variants.Rounded = (*participant)(nil)

// directory returns the znode of a barrier. A single barrier uses the run's own znode.
func directory(env variants.Env, barrier int) string {
	if env.Size <= 1 {
		return env.Root
	}
	return path.Join(env.Root, "barrier-"+strconv.Itoa(barrier))
}

func prepare(ctx context.Context, env variants.Env) error {
	for barrier := range max(env.Size, 1) {
		if err := env.Session.Ensure(ctx, directory(env, barrier), nil, 0); err != nil {
			return err
		}
	}
	return nil
}

func join[B Barrier](open func(context.Context, *session.Session, Group) (B, error)) variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		p := &participant{env: env}
		for barrier := range max(env.Size, 1) {
			session := env.Session
			if barrier > 0 {
				session = session.Fork()
			}
			b, err := open(ctx, session, Group{Dir: directory(env, barrier), Size: env.Clients, Member: strconv.Itoa(env.Index)})
			if err != nil {
				return nil, err
			}
			p.barriers = append(p.barriers, b)
			env.Record(joined, stamp(barrier, int64(env.Clients)))
		}
		return p, nil
	}
}

func (p *participant) Step(ctx context.Context) error {
	err := p.takePart(ctx)
	if err != nil {
		p.env.Record(failed, p.Round())
	}
	return err
}

// All barriers are in the same round between two steps.
func (p *participant) Round() int64 { return p.barriers[0].Round() }

// takePart holds after each barrier that it enters, and before each that it leaves, while it is inside at least one
// barrier. Therefore no two participants enter or leave a barrier at the same time in a lockstep run.
func (p *participant) takePart(ctx context.Context) error {
	for barrier, b := range p.barriers {
		p.env.Record(arrived, stamp(barrier, b.Round()))
		if err := b.Enter(ctx); err != nil {
			return fmt.Errorf("enter: %w", err)
		}
		p.env.Record(started, stamp(barrier, b.Round())) // a later round than when it arrived, if that one began without it
		if err := p.env.Hold(ctx, nil); err != nil {
			return err
		}
	}
	for barrier, b := range p.barriers {
		if barrier > 0 {
			if err := p.env.Hold(ctx, nil); err != nil {
				return err
			}
		}
		if err := p.env.Timed(ctx, "leave", finished, departed, stamp(barrier, b.Round()), b.Leave); err != nil {
			return err
		}
	}
	return nil
}

func (p *participant) Leave(ctx context.Context) error {
	for _, b := range p.barriers {
		if err := b.Close(ctx); err != nil {
			return fmt.Errorf("close: %w", err)
		}
	}
	return nil
}
