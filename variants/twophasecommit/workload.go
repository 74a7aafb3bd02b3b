package twophasecommit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// The events that a participant records. The value is the round; the value of a vote or a decision also has which it
// is, see stamp.
const (
	joined   variants.EventKind = iota // in each life; value: how many sites there are
	began                              // just before it opens or waits for the transaction
	prepared                           // it has the transaction; value: the round in the query
	voted                              // just before the vote is sent
	decided
	failed
	learned // it has joined again, and found a decision in the tree
)

const (
	phaseDecide  = "decide"
	phaseOutcome = "outcome"
)

func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseOutcome, Meaning: "from the last vote of a transaction to each site's decision"},
		{Name: phaseDecide, From: voted, To: decided, Waits: true, UntimedInLockstep: true,
			Meaning: "from a site's vote to its decision, waiting for slower sites included"},
		{Name: "prepare", From: began, To: prepared, Meaning: "from the call until a site knows the transaction", Waits: true},
		{Name: "hold", From: prepared, To: voted, Meaning: "how long the scenario lets sites think before they vote", UntimedInLockstep: true},
	}
}

func stamp(round int64, d Decision) int64 {
	if d == Commit {
		return 2*round + 1
	}
	return 2 * round
}

func unstamp(value int64) (round int64, d Decision) {
	if value%2 == 1 {
		return value / 2, Commit
	}
	return value / 2, Abort
}

// voteOf returns how a site votes. From the fifth transaction on, one site is against as many transactions in a row as the size
// says, and none is against four times as many after that. Each site has its turn.
func voteOf(round int64, site, sites, size int) Decision {
	const every = 5
	turn := (round - (every - 1)) / int64(size)
	if round >= every-1 && turn%every == 0 && turn/every%int64(sites) == int64(site) {
		return Abort
	}
	return Commit
}

// participant is one site: in each step it takes part in one transaction, the same way for every variant.
type participant struct {
	site  Site
	env   variants.Env
	round int64
}

var (
	_ variants.Roled   = (*participant)(nil)
	_ variants.Rounded = (*participant)(nil)
)

const (
	roleCoordinator = "coordinator"
	roleSite        = "site"
)

func join[S Site](open func(context.Context, *session.Session, Group) (S, error)) variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		site, err := open(ctx, env.Session, Group{Dir: env.Root, Sites: env.Clients, Site: env.Index, Again: env.Life > 0})
		if err != nil {
			return nil, err
		}
		p := &participant{site: site, env: env}
		if env.Life > 0 {
			if err := p.resume(ctx); err != nil {
				return nil, err
			}
		}
		env.Record(joined, int64(env.Clients))
		return p, nil
	}
}

// joinAs is join for a site that needs no request to join.
func joinAs[S Site](open func(*session.Session, Group) S) variants.JoinFunc {
	return join(func(_ context.Context, s *session.Session, g Group) (S, error) { return open(s, g), nil })
}

// resume finds the group's present round.
func (p *participant) resume(ctx context.Context) error {
	outcomes, next, err := p.site.Resume(ctx)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	for _, o := range outcomes {
		p.env.Record(learned, stamp(o.Round, o.Decision))
	}
	p.round = next
	return nil
}

func (p *participant) Role() string {
	if p.env.Index == 0 {
		return roleCoordinator
	}
	return roleSite
}

func (p *participant) Round() int64 { return p.round }

func (p *participant) Step(ctx context.Context) error {
	p.env.Record(began, p.round)
	if err := p.transact(ctx); err != nil {
		p.env.Record(failed, p.round)
		return err
	}
	p.round++
	return nil
}

func (p *participant) transact(ctx context.Context) error {
	t, err := p.prepare(ctx)
	if errors.Is(err, ErrDecided) {
		if err := p.resume(ctx); err != nil {
			return err
		}
		t, err = p.prepare(ctx)
	}
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	p.env.Record(prepared, variants.DecimalIn(t.Query))
	if err := p.env.Hold(ctx, nil); err != nil {
		return err
	}
	if err := p.env.Session.Alive(); err != nil {
		return err // others may have counted a vote that is recorded
	}
	vote := voteOf(t.Round, p.env.Index, p.env.Clients, max(p.env.Size, 1))
	p.env.Record(voted, stamp(t.Round, vote))
	outcome, err := p.site.Decide(ctx, vote)
	if err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	p.env.Record(decided, stamp(t.Round, outcome))
	return nil
}

func (p *participant) prepare(ctx context.Context) (Transaction, error) {
	return p.site.Prepare(ctx, fmt.Appendf(nil, "%05d", p.round))
}

func (p *participant) Leave(ctx context.Context) error {
	return session.Attempted("close", p.site.Close(ctx))
}

func newObserver(out variants.Findings) variants.Observer {
	return append(out.Timed(phases()),
		&decisions{out: out, accounts: map[int64]*account{}, sites: map[int]*siteState{}},
		variants.ObserverFunc((&blocking{out: out, down: map[int]bool{}, waits: map[int]time.Duration{}}).observe))
}
