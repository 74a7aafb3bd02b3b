package membership

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. Of those about members, the value is a membership, see stamp.
const (
	enrolled  variants.EventKind = iota // it takes part; value: how many participants there are
	joining                             // just before it joins
	joined                              // just after
	leaving                             // just before it leaves
	left                                // just after
	following                           // it waits for its view to be out of date
	gained                              // its view has this membership, which the last one had not
	dropped                             // its view has this membership no more
	viewed                              // its view is brought up to date: gained and dropped come just before
	settled                             // it has seen all members of this round join
)

// The phases.
const (
	phaseJoin     = "join"
	phaseLeave    = "leave"
	phaseFollow   = "follow"
	phaseConverge = "converge"
)

// phases are what is timed, the most telling first.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseConverge, Meaning: "from just before a member joins or leaves until the last of the others has it in its view", Floor: variants.FloorHandoff},
		{Name: phaseJoin, Meaning: "from just before the create is sent to its reply", Floor: variants.FloorWrite},
		{Name: phaseLeave, Meaning: "from just before the delete is sent to its reply", Floor: variants.FloorWrite},
		{Name: phaseFollow, Meaning: "from when a member begins to wait for a change until its view is up to date", Waits: true, UntimedInLockstep: true},
	}
}

// stampBase is more than there are ever participants.
const stampBase = 1 << 20

// stamp makes one value of a round and a client, which together are one membership. It is also a member's data.
func stamp(round int64, client int) int64 { return round*stampBase + int64(client) }

// unstamp takes it apart.
func unstamp(value int64) (round int64, client int) {
	return value / stampBase, int(value % stampBase)
}

// participant is one member. In each round the members leave in turn, one at a time, stay away for a while, and join
// again, as when a service is restarted host by host; everybody else follows.
type participant struct {
	group Group
	env   variants.Env
	round int64
	view  View
	seen  []int64 // of each client, the last round that it was seen to join in; -1 for none
}

var (
	_ variants.Participant = (*participant)(nil)
	_ variants.Refresher   = (*participant)(nil)
)

// join makes a variant's Join out of its constructor. Everybody is a member from the beginning, of round 0.
func join(open func(variants.Session, variants.Env) Group) variants.JoinFunc {
	return func(ctx context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		p := &participant{group: open(s, env), env: env, seen: make([]int64, env.Clients)}
		for i := range p.seen {
			p.seen[i] = -1
		}
		env.Record(enrolled, int64(env.Clients))
		return p, p.join(ctx)
	}
}

// Refresh implements [variants.Refresher]: every client has watched the group since it joined.
func (p *participant) Refresh(ctx context.Context) error { return p.look(ctx) }

// Step implements [variants.Participant]: one round.
func (p *participant) Step(ctx context.Context) error {
	if err := p.follow(ctx, p.hasTurn); err != nil {
		return err
	}
	if err := p.env.Hold(ctx, p.env.Lost); err != nil {
		return err
	}
	if err := p.leave(ctx); err != nil {
		return err
	}
	if err := p.env.Hold(ctx, p.env.Lost); err != nil {
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

// hasTurn tells whether the client may leave: the round before is over, and so is the turn of the one before it.
func (p *participant) hasTurn() bool {
	before := p.env.Index - 1
	return p.hasSeenAll() && (before < 0 || p.seen[before] > p.round)
}

// hasSeenAll tells whether all have joined in this round. Nobody can join in a later one without being seen in this one.
func (p *participant) hasSeenAll() bool {
	for _, round := range p.seen {
		if round < p.round {
			return false
		}
	}
	return true
}

func (p *participant) join(ctx context.Context) error {
	mine := stamp(p.round, p.env.Index)
	p.env.Record(joining, mine)
	if err := p.group.Join(ctx, strconv.AppendInt(nil, mine, 10)); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	p.env.Record(joined, mine)
	return p.look(ctx)
}

func (p *participant) leave(ctx context.Context) error {
	mine := stamp(p.round, p.env.Index)
	p.env.Record(leaving, mine)
	if err := p.group.Leave(ctx); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	p.env.Record(left, mine)
	return nil
}

// follow keeps the view up to date until it shows what is waited for.
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

// look brings the view up to date, and records what is different.
func (p *participant) look(ctx context.Context) error {
	view, err := p.group.View(ctx)
	if err != nil {
		return fmt.Errorf("view: %w", err)
	}
	came, went := view.Changes(p.view)
	for _, m := range came {
		member, err := memberOf(m)
		if err != nil {
			return err
		}
		p.env.Record(gained, member)
		if round, client := unstamp(member); client < len(p.seen) {
			p.seen[client] = max(p.seen[client], round)
		}
	}
	for _, m := range went {
		member, err := memberOf(m)
		if err != nil {
			return err
		}
		p.env.Record(dropped, member)
	}
	p.view = view
	p.env.Record(viewed, int64(len(view)))
	return nil
}

func memberOf(m Member) (int64, error) {
	member, err := strconv.ParseInt(string(m.Data), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("understand what member %s has written: %w", m.Name, err)
	}
	return member, nil
}

// Leave implements [variants.Participant].
func (p *participant) Leave(ctx context.Context) error {
	if err := p.leave(ctx); err != nil && !errors.Is(err, variants.ErrSessionLost) {
		return err
	}
	return nil
}

func spans(h variants.History) []variants.Span {
	out := h.Between(phaseJoin, joining, joined)
	out = append(out, h.Between(phaseLeave, leaving, left)...)
	out = append(out, h.Between(phaseFollow, following, viewed)...)
	return append(out, convergences(h)...)
}

// change is one membership that begins or ends.
type change struct {
	member int64
	ends   bool
}

// spreading is a change that has not come to everybody yet.
type spreading struct {
	start time.Duration
	left  int // how many clients are still to see it
}

// convergences times each change from just before it is sent until the last client has it in its view. Somebody who
// leaves need not see so.
func convergences(h variants.History) []variants.Span {
	var out []variants.Span
	clients := 0
	open := map[change]*spreading{}
	see := func(c change, e variants.Event) {
		s := open[c]
		if s == nil {
			return
		}
		if s.left--; s.left == 0 {
			_, client := unstamp(c.member)
			out = append(out, variants.Span{Phase: phaseConverge, Client: client, Start: s.start, End: e.At})
			delete(open, c)
		}
	}
	for _, e := range h {
		switch e.Kind {
		case enrolled:
			clients = int(e.Value)
		case joining:
			open[change{e.Value, false}] = &spreading{e.At, clients}
		case leaving:
			open[change{e.Value, true}] = &spreading{e.At, clients - 1}
		case gained:
			see(change{e.Value, false}, e)
		case dropped:
			if _, client := unstamp(e.Value); client != e.Client {
				see(change{e.Value, true}, e)
			}
		}
	}
	return out
}
