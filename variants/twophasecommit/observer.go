package twophasecommit

import (
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
)

type siteState struct {
	round     int64 // the last transaction that it has begun, in any life
	undecided int64 // the first transaction after the ones that it has decided in its present life
	failed    bool
	down      bool // it is dead or has lost its session, and has not joined again
}

// account is the record of a transaction that a site may still decide.
type account struct {
	votes    map[int]Decision
	first    *variants.Event // the first decision; nil if there is none
	founded  bool            // when the first decision was made, a site had voted to abort
	mayAbort bool            // a site failed meanwhile, or was down
	lastVote variants.Moment
}

// decisions reports the time from the last vote of a transaction to each decision, and breaches of the promise. A vote is
// recorded just before it is sent, a decision just after it is known: a vote that comes later in the history than a decision cannot have
// been counted in it.
//
// The lives of a site are one site: it votes the same way in all of them, and learns the same decision.
type decisions struct {
	out      variants.Findings
	size     int // of the group
	newest   int64
	sites    map[int]*siteState
	accounts map[int64]*account
}

func (d *decisions) Observe(e variants.Event) {
	s := variants.StateOf(d.sites, e.Client)
	switch e.Kind {
	case joined:
		d.size = max(d.size, int(e.Value))
		s.down, s.failed, s.undecided = false, false, 0
	case began:
		s.round, s.failed = e.Value, false
		d.account(e.Value)
		d.closeAll()
	case prepared:
		if e.Value != s.round {
			d.out.Breach(e, "site %d was given the query of transaction %d in transaction %d", e.Client, e.Value, s.round)
		}
	case voted:
		d.voted(e)
	case decided:
		d.decided(s, e)
	case learned:
		round, decision := unstamp(e.Value)
		if a := d.accounts[round]; a != nil {
			d.settle(a, e, round, decision)
		}
	case failed:
		s.round, s.failed = e.Value, true
		d.account(e.Value).mayAbort = true
		d.closeAll()
	case variants.SessionLost, variants.Died, variants.Rejoined:
		s.down = true
		for _, a := range d.accounts {
			a.mayAbort = true
		}
	}
}

func (d *decisions) Complete() {
	for _, round := range slices.Sorted(maps.Keys(d.accounts)) {
		d.groundless(round)
	}
}

func (d *decisions) account(round int64) *account {
	return variants.StateOr(d.accounts, round, func() *account {
		a := &account{votes: map[int]Decision{}, mayAbort: round < d.newest-kept} // it has been forgotten, with its votes
		for _, s := range d.sites {
			a.mayAbort = a.mayAbort || s.down
		}
		d.newest = max(d.newest, round)
		return a
	})
}

func (d *decisions) voted(e variants.Event) {
	round, vote := unstamp(e.Value)
	a := d.account(round)
	if former, again := a.votes[e.Client]; again && former != vote {
		d.out.Breach(e, "site %d voted to %s transaction %d, after it had voted to %s it", e.Client, vote, round, former)
	}
	a.votes[e.Client], a.lastVote = vote, a.lastVote.Latest(e.Moment())
}

func (d *decisions) decided(s *siteState, e variants.Event) {
	round, decision := unstamp(e.Value)
	a := d.account(round)
	if len(a.votes) > 0 {
		d.out.Span(variants.SpanOf(phaseOutcome, e.Client, a.lastVote, e.Moment()))
	}
	if round < s.undecided {
		d.out.Breach(e, "site %d decided transaction %d twice", e.Client, round)
	}
	d.settle(a, e, round, decision)
	s.round, s.undecided = round, round+1
	d.closeAll()
}

func (d *decisions) settle(a *account, e variants.Event, round int64, decision Decision) {
	if a.first == nil {
		first := e // so that only this one is allocated
		a.first, a.founded = &first, a.refused()
	}
	if _, first := unstamp(a.first.Value); decision != first {
		d.out.Breach(e, "site %d decided to %s transaction %d, and site %d to %s it", e.Client, decision, round, a.first.Client, first)
	}
	if decision == Commit {
		d.unanimous(a, e, round)
	}
}

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

// kept is for how many newer transactions one is remembered. A site that joins again finds the last two in the tree,
// with early-abort also older ones, while the coordinator may be about to open another. A forgotten one that it learns
// of is not checked.
const kept = 3

func (d *decisions) closeAll() {
	for round := range d.accounts {
		if d.over(round) {
			d.groundless(round)
			delete(d.accounts, round)
		}
	}
}

// over reports whether no site can decide a transaction any more, or learn of it when it joins again. A transaction in
// which a site has failed is remembered until the site has begun a later one.
func (d *decisions) over(round int64) bool {
	if d.size == 0 || d.newest-round <= kept {
		return false
	}
	for site := range d.size {
		s := d.sites[site]
		if s == nil {
			return false
		}
		elsewhere := (s.failed || s.down) && s.round != round
		if s.round <= round && s.undecided <= round && !elsewhere {
			return false
		}
	}
	return true
}

func (a *account) refused() bool { return slices.Contains(slices.Collect(maps.Values(a.votes)), Abort) }

// groundless reports a transaction that was aborted before any site had voted to abort it, although none had failed meanwhile.
func (d *decisions) groundless(round int64) {
	a := d.accounts[round]
	if a.first == nil || a.mayAbort || a.founded {
		return
	}
	switch _, first := unstamp(a.first.Value); {
	case first != Abort:
	case len(a.votes) == d.size && !a.refused():
		d.out.Breach(*a.first, "transaction %d was aborted, although every site had voted to commit it", round)
	default:
		d.out.Breach(*a.first, "transaction %d was aborted before any site had voted to abort it", round)
	}
}

// blocking reports for how long live sites wait for others that have failed: from when the site waits and another one is
// down, until its wait ends.
type blocking struct {
	out   variants.Findings
	down  map[int]bool
	waits map[int]time.Duration // by live site that waits for a transaction or its decision: since when another site is down; 0 if none is
}

func (b *blocking) observe(e variants.Event) {
	switch e.Kind {
	case joined:
		delete(b.down, e.Client)
	case began, voted:
		b.waits[e.Client] = 0
		if len(b.down) > 0 {
			b.waits[e.Client] = e.At
		}
	case prepared, decided:
		if since := b.waits[e.Client]; since > 0 {
			round, _ := unstamp(e.Value)
			if e.Kind == prepared {
				round = e.Value
			}
			b.out.Lose(e, variants.Blocked, int64(e.At-since),
				"site %d waited for %s in transaction %d, for a site that had failed", e.Client, e.At-since, round)
		}
		delete(b.waits, e.Client)
	case failed:
		delete(b.waits, e.Client)
	case variants.SessionLost, variants.Died, variants.Rejoined:
		b.down[e.Client] = true
		delete(b.waits, e.Client)
		for site, since := range b.waits { // these are blocked from now on
			if since == 0 {
				b.waits[site] = e.At
			}
		}
	}
}
