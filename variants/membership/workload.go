package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// The events that a participant records. The value of an event about a member is a membership, see stamp.
const (
	enrolled variants.EventKind = iota // it takes part; value: how many participants there are
	joining                            // just before it joins
	joined
	leaving // just before it leaves
	left
	lost      // its session is lost, and its membership with it
	following // it waits for its view to be out of date
	gained    // its view has this membership, which its last view did not have
	dropped   // its view no longer has this membership
	viewed    // its view is brought up to date: gained and dropped come just before
	settled   // it has seen all members of this round join
)

const (
	phaseJoin     = "join"
	phaseConverge = "converge"
	phaseNotice   = "notice"
)

func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseConverge, Floor: variants.FloorHandoff,
			Meaning: "from just before a member joins or leaves until the last of the others has it in its view"},
		{Name: phaseNotice, Meaning: "from when a member stops dead until none of the others has it in its view"},
		{Name: phaseJoin, From: joining, To: joined, Meaning: "from just before the create is sent to its reply", Floor: variants.FloorWrite},
		{Name: "leave", From: leaving, To: left, Meaning: "from just before the delete is sent to its reply", Floor: variants.FloorWrite},
		{Name: "follow", From: following, To: viewed, Waits: true, UntimedInLockstep: true,
			Meaning: "from when a member begins to wait for a change until its view is up to date"},
	}
}

// stampBase is larger than the number of participants and than the number of lives of any of them.
const stampBase = 1 << 16

// stamp makes one value of a round, a client and its life, which together are one membership. It is also a member's data.
func stamp(round int64, client, life int) int64 {
	return (round*stampBase+int64(life))*stampBase + int64(client)
}

func unstamp(value int64) (round int64, client int) {
	return value / (stampBase * stampBase), int(value % stampBase)
}

// participant is one member. In each round the members leave in turn, one at a time, stay away for a while, and join
// again, as when a service is restarted host by host; all others follow.
type participant struct {
	group *Group
	env   variants.Env
	round int64
	view  View
	seen  []int64 // of each client, the last round that it was seen to join in; -1 for none
}

var (
	_ variants.Refresher = (*participant)(nil)
	_ variants.Rounded   = (*participant)(nil)
)

// In join, each client is a member from the beginning, of round 0.
func join(open func(s *session.Session, dir string) *Group) variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		p := &participant{group: open(env.Session, env.Root), env: env, seen: slices.Repeat([]int64{-1}, env.Clients)}
		env.Record(enrolled, int64(env.Clients))
		if env.Life > 0 {
			if err := p.rejoin(ctx); err != nil {
				return nil, err
			}
		}
		return p, p.join(ctx)
	}
}

// rejoin finds the group's round. The member that is about to join again takes no turn in the rounds before.
func (p *participant) rejoin(ctx context.Context) error {
	if err := p.env.Session.Sync(ctx, p.env.Root); err != nil {
		return fmt.Errorf("sync the group: %w", err)
	}
	if err := p.look(ctx); err != nil {
		return err
	}
	p.round = max(int64(p.env.Completed), slices.Max(p.seen))
	return nil
}

func (p *participant) Round() int64 { return p.round }

// Every client has watched the group since it joined.
func (p *participant) Refresh(ctx context.Context) error { return p.look(ctx) }

// A step is one round.
func (p *participant) Step(ctx context.Context) error { return p.noteLoss(p.step(ctx)) }

func (p *participant) step(ctx context.Context) error {
	if err := p.follow(ctx, p.hasTurn); err != nil {
		return err
	}
	if err := p.env.Hold(ctx, nil); err != nil {
		return err
	}
	if err := p.leave(ctx); err != nil {
		return err
	}
	if err := p.env.Hold(ctx, nil); err != nil {
		return err
	}
	p.round++
	if err := p.join(ctx); err != nil {
		return err
	}
	if err := p.follow(ctx, p.hasSeenAll); err != nil {
		return err
	}
	p.env.Record(settled, p.round)
	return nil
}

func (p *participant) noteLoss(err error) error {
	if errors.Is(err, session.ErrSessionLost) {
		p.env.Record(lost, p.membership())
	}
	return err
}

func (p *participant) membership() int64 { return stamp(p.round, p.env.Index, p.env.Life) }

// hasTurn reports whether the client may leave: the round before is over, and so is the turn of the client before it.
func (p *participant) hasTurn() bool {
	before := p.env.Index - 1
	return p.hasSeenAll() && (before < 0 || p.seen[before] > p.round)
}

// No client joins in a later round before all have seen it in this one.
func (p *participant) hasSeenAll() bool { return slices.Min(p.seen) >= p.round }

func (p *participant) join(ctx context.Context) error {
	mine := p.membership()
	err := p.env.Timed(ctx, "join", joining, joined, mine, func(ctx context.Context) error {
		return p.group.Join(ctx, strconv.AppendInt(nil, mine, 10))
	})
	if err != nil {
		return err
	}
	return p.look(ctx)
}

func (p *participant) leave(ctx context.Context) error {
	return p.env.Timed(ctx, "leave", leaving, left, p.membership(), p.group.Leave)
}

func (p *participant) follow(ctx context.Context, done func() bool) error {
	for !done() {
		p.env.Record(following, 0)
		if err := p.group.Changed(ctx); err != nil {
			return fmt.Errorf("wait for a change: %w", err)
		}
		if err := p.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *participant) look(ctx context.Context) error {
	view, err := p.group.View(ctx)
	if err != nil {
		return fmt.Errorf("view: %w", err)
	}
	came, went := view.Changes(p.view)
	p.note(gained, came)
	p.note(dropped, went)
	p.view = view
	p.env.Record(viewed, int64(len(view)))
	return nil
}

func (p *participant) note(kind variants.EventKind, members []Member) {
	for _, m := range members {
		member := variants.DecimalIn(m.Data)
		p.env.Record(kind, member)
		if round, client := unstamp(member); kind == gained && member >= 0 && client < len(p.seen) {
			p.seen[client] = max(p.seen[client], round)
		}
	}
}

func (p *participant) Leave(ctx context.Context) error { return p.noteLoss(p.leave(ctx)) }
