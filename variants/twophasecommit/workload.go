package twophasecommit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. The value tells the round; that of a vote or a decision also which it is, see stamp.
const (
	joined   variants.EventKind = iota // value: how many sites there are
	began                              // just before it opens or waits for the transaction
	prepared                           // it has the transaction
	voted                              // just before the vote is sent
	decided
	failed // it gave up
)

// The phases.
const (
	phasePrepare = "prepare"
	phaseHold    = "hold"
	phaseDecide  = "decide"
	phaseOutcome = "outcome"
)

// phases are what is timed, the most telling first.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseOutcome, Meaning: "from the last vote of a transaction to each site's decision"},
		{Name: phaseDecide, Meaning: "from a site's vote to its decision, waiting for slower sites included", Waits: true, UntimedInLockstep: true},
		{Name: phasePrepare, Meaning: "from the call until a site knows the transaction", Waits: true},
		{Name: phaseHold, Meaning: "what the scenario makes sites think before they vote", UntimedInLockstep: true},
	}
}

// stamp makes one value of a round and a decision.
func stamp(round int64, d Decision) int64 {
	if d == Commit {
		return 2*round + 1
	}
	return 2 * round
}

// unstamp takes it apart.
func unstamp(value int64) (round int64, d Decision) {
	if value%2 == 1 {
		return value / 2, Commit
	}
	return value / 2, Abort
}

// voteOf says how a site votes: in every fifth transaction one site is against it, each in its turn.
func voteOf(round int64, site, sites int) Decision {
	const every = 5
	if round%every == every-1 && round/every%int64(sites) == int64(site) {
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

var _ variants.Participant = (*participant)(nil)

// join makes a variant's Join out of its constructor.
func join(open func(context.Context, variants.Session, Group, <-chan struct{}) (Site, error)) variants.JoinFunc {
	return func(ctx context.Context, s variants.Session, env variants.Env) (variants.Participant, error) {
		site, err := open(ctx, s, Group{Dir: env.Root, Sites: env.Clients, Site: env.Index}, env.Lost)
		if err != nil {
			return nil, err
		}
		env.Record(joined, int64(env.Clients))
		return &participant{site: site, env: env}, nil
	}
}

// Step implements [variants.Participant].
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
	t, err := p.site.Prepare(ctx, []byte("query"))
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	p.env.Record(prepared, t.Round)
	if err := p.env.Hold(ctx, p.env.Lost); err != nil {
		return err
	}
	vote := voteOf(t.Round, p.env.Index, p.env.Clients)
	p.env.Record(voted, stamp(t.Round, vote))
	outcome, err := p.site.Decide(ctx, vote)
	if err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	p.env.Record(decided, stamp(t.Round, outcome))
	return nil
}

// Leave implements [variants.Participant].
func (p *participant) Leave(ctx context.Context) error {
	if err := p.site.Close(ctx); err != nil && !errors.Is(err, variants.ErrSessionLost) {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

func spans(h variants.History) []variants.Span {
	out := h.Between(phasePrepare, began, prepared)
	out = append(out, h.Between(phaseHold, prepared, voted)...)
	out = append(out, h.Between(phaseDecide, voted, decided)...)
	return append(out, outcomes(h)...)
}

// outcomes times each decision from the last vote before it. As no site decides without all votes, that is the last one
// of the transaction.
func outcomes(h variants.History) []variants.Span {
	var out []variants.Span
	last := map[int64]time.Duration{}
	for _, e := range h {
		round, _ := unstamp(e.Value)
		switch e.Kind {
		case voted:
			last[round] = e.At
		case decided:
			if start, ok := last[round]; ok {
				out = append(out, variants.Span{Phase: phaseOutcome, Client: e.Client, Start: start, End: e.At})
			}
		}
	}
	return out
}

// account is what is known of one transaction.
type account struct {
	votes     map[int]Decision
	decisions map[int]Decision
	first     variants.Event // the first decision
	failures  int
}

// check holds a whole history to the promise.
func check(h variants.History) []variants.Violation {
	return breaches(h, func(*account, int) bool { return true })
}

// checkPrefix does not ask why a transaction was aborted while one of its sites may yet fail.
func checkPrefix(h variants.History) []variants.Violation {
	return breaches(h, func(a *account, sites int) bool { return len(a.decisions) >= sites })
}

// breaches goes through a history; final reports whether nothing more can happen to a transaction. A vote is recorded just
// before it is sent, a decision just after it is known, on one clock: a vote that comes later in the history than a
// decision cannot have been counted in it.
func breaches(h variants.History, final func(a *account, sites int) bool) []variants.Violation {
	var out []variants.Violation
	sites := 0
	accounts := map[int64]*account{}
	var rounds []int64
	of := func(round int64) *account {
		if accounts[round] == nil {
			accounts[round] = &account{votes: map[int]Decision{}, decisions: map[int]Decision{}}
			rounds = append(rounds, round)
		}
		return accounts[round]
	}
	for _, e := range h {
		switch e.Kind {
		case joined:
			sites = max(sites, int(e.Value))
		case voted:
			round, vote := unstamp(e.Value)
			of(round).votes[e.Client] = vote
		case failed:
			of(e.Value).failures++
		case decided:
			round, decision := unstamp(e.Value)
			out = append(out, of(round).decide(e, round, decision, sites)...)
		}
	}
	for _, round := range rounds {
		if a := accounts[round]; final(a, sites) {
			out = append(out, a.groundless(round, sites)...)
		}
	}
	return out
}

// decide adds a site's decision, and returns how it breaks the promise.
func (a *account) decide(e variants.Event, round int64, decision Decision, sites int) []variants.Violation {
	var out []variants.Violation
	if _, twice := a.decisions[e.Client]; twice {
		out = append(out, e.Violation("site %d decided transaction %d twice", e.Client, round))
	}
	if len(a.decisions) == 0 {
		a.first = e
	}
	if _, first := unstamp(a.first.Value); decision != first {
		out = append(out, e.Violation("site %d decided to %s transaction %d, and site %d to %s it", e.Client, decision, round, a.first.Client, first))
	}
	a.decisions[e.Client] = decision
	if decision != Commit {
		return out
	}
	for site := range sites {
		switch vote, known := a.votes[site]; {
		case !known:
			out = append(out, e.Violation("site %d committed transaction %d before site %d had voted", e.Client, round, site))
		case vote != Commit:
			out = append(out, e.Violation("site %d committed transaction %d, which site %d had voted to abort", e.Client, round, site))
		}
	}
	return out
}

// groundless returns a violation if a transaction was aborted that all sites had voted to commit, and none had failed in.
func (a *account) groundless(round int64, sites int) []variants.Violation {
	if _, first := unstamp(a.first.Value); len(a.decisions) == 0 || first != Abort || a.failures > 0 || len(a.votes) < sites {
		return nil
	}
	for _, vote := range a.votes {
		if vote != Commit {
			return nil
		}
	}
	return []variants.Violation{a.first.Violation("transaction %d was aborted, although every site had voted to commit it", round)}
}
