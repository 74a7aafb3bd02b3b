package twophasecommit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. The value is the round; that of a vote or a decision also has which it is, see stamp.
const (
	joined   variants.EventKind = iota // value: how many sites there are
	began                              // just before it opens or waits for the transaction
	prepared                           // it has the transaction; value: the round in the query
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
		{Name: phaseHold, Meaning: "how long the scenario lets sites think before they vote", UntimedInLockstep: true},
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

// voteOf returns how a site votes: in every fifth transaction one site is against it, each in its turn.
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
func join(open func(context.Context, *variants.Session, Group) (Site, error)) variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		site, err := open(ctx, env.Session, Group{Dir: env.Root, Sites: env.Clients, Site: env.Index})
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
	t, err := p.site.Prepare(ctx, fmt.Appendf(nil, "%05d", p.round))
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	query, err := strconv.ParseInt(string(t.Query), 10, 64)
	if err != nil {
		return fmt.Errorf("parse the query: %w", err)
	}
	p.env.Record(prepared, query)
	if err := p.env.Hold(ctx, nil); err != nil {
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

// newObserver returns an observer of the phases and the promise.
func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		out.Between(phasePrepare, began, prepared),
		out.Between(phaseHold, prepared, voted),
		out.Between(phaseDecide, voted, decided),
		&decisions{out: out, accounts: map[int64]*account{}, sites: map[int]*siteState{}},
	}
}

// siteState is what is known of a site.
type siteState struct {
	round   int64 // its current transaction, or its last
	decided int64 // its last decision's transaction
	any     bool  // it has decided one
	failed  bool  // it has given up in its last transaction
}

// account is what is known of a transaction that a site may still decide.
type account struct {
	votes    map[int]Decision
	deciders int
	first    variants.Event // the first decision
	failures int
	lastVote time.Duration
}

// decisions reports the time from the last vote of a transaction to each decision, and breaches of the promise. A vote is
// recorded just before it is sent, a decision just after it is known, on one clock: a vote that comes later in the history
// than a decision cannot have been counted in it.
type decisions struct {
	out      variants.Findings
	size     int // of the group
	sites    map[int]*siteState
	accounts map[int64]*account
}

// Observe implements [variants.Observer].
func (d *decisions) Observe(e variants.Event) {
	s := variants.StateOf(d.sites, e.Client)
	switch e.Kind {
	case joined:
		d.size = max(d.size, int(e.Value))
	case began:
		s.round, s.failed = e.Value, false
	case prepared:
		if e.Value != s.round {
			d.out.Breach(e, "site %d was given the query of transaction %d in transaction %d", e.Client, e.Value, s.round)
		}
	case voted:
		round, vote := unstamp(e.Value)
		a := d.account(round)
		a.votes[e.Client], a.lastVote = vote, e.At
	case failed:
		s.round, s.failed = e.Value, true
		d.account(e.Value).failures++
		d.closeAll()
	case decided:
		d.decided(s, e)
	}
}

// Complete implements [variants.Observer].
func (d *decisions) Complete() {
	for _, round := range slices.Sorted(maps.Keys(d.accounts)) {
		d.groundless(round)
	}
}

func (d *decisions) account(round int64) *account {
	if d.accounts[round] == nil {
		d.accounts[round] = &account{votes: map[int]Decision{}}
	}
	return d.accounts[round]
}

// decided takes a site's decision.
func (d *decisions) decided(s *siteState, e variants.Event) {
	round, decision := unstamp(e.Value)
	a := d.account(round)
	if len(a.votes) > 0 {
		d.out.Span(variants.Span{Phase: phaseOutcome, Client: e.Client, Start: a.lastVote, End: e.At})
	}
	if s.any && round <= s.decided {
		d.out.Breach(e, "site %d decided transaction %d twice", e.Client, round)
	}
	if a.deciders == 0 {
		a.first = e
	}
	if _, first := unstamp(a.first.Value); decision != first {
		d.out.Breach(e, "site %d decided to %s transaction %d, and site %d to %s it", e.Client, decision, round, a.first.Client, first)
	}
	if decision == Commit {
		d.unanimous(a, e, round)
	}
	a.deciders++
	s.round, s.decided, s.any = round, round, true
	d.closeAll()
}

// unanimous holds a commit to the votes.
func (d *decisions) unanimous(a *account, e variants.Event, round int64) {
	for site := range d.size {
		switch vote, known := a.votes[site]; {
		case !known:
			d.out.Breach(e, "site %d committed transaction %d before site %d had voted", e.Client, round, site)
		case vote != Commit:
			d.out.Breach(e, "site %d committed transaction %d, which site %d had voted to abort", e.Client, round, site)
		}
	}
}

// keptForFailed is for how many rounds a transaction is remembered that a site has given up, which may yet ask for its outcome.
const keptForFailed = 100

// closeAll forgets the transactions that no site can decide any more.
func (d *decisions) closeAll() {
	for round := range d.accounts {
		if d.over(round) {
			d.groundless(round)
			delete(d.accounts, round)
		}
	}
}

// over reports whether each site has decided a transaction, or a later one, or has given up long ago.
func (d *decisions) over(round int64) bool {
	var newest int64
	for _, s := range d.sites {
		newest = max(newest, s.round)
	}
	for site := range d.size {
		s := d.sites[site]
		if s == nil {
			return false
		}
		hasDecided, hasFailed := s.any && s.decided >= round, s.failed && newest-round > keptForFailed
		if !hasDecided && !hasFailed {
			return false
		}
	}
	return d.size > 0
}

// groundless reports a transaction that was aborted although all sites had voted to commit it and none had failed in it.
func (d *decisions) groundless(round int64) {
	a := d.accounts[round]
	if _, first := unstamp(a.first.Value); a.deciders == 0 || first != Abort || a.failures > 0 || len(a.votes) < d.size {
		return
	}
	for _, vote := range a.votes {
		if vote != Commit {
			return
		}
	}
	d.out.Breach(a.first, "transaction %d was aborted, although every site had voted to commit it", round)
}
