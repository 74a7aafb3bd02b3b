package election

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
)

const (
	phaseResign        = "resign"
	phaseFailoverClean = "failover-clean"
	phaseFailoverCrash = "failover-crash"
)

// A failover after a crash begins when the leader died, or when it learned that its session was lost, if that was
// before its successor led.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseFailoverClean, Floor: variants.FloorHandoff,
			Meaning: "from just before a leader resigns an office that others want until one of them, or a newcomer, leads"},
		{Name: phaseFailoverCrash, Meaning: "the same, from when a leader died, or could know that its session was lost"},
		{Name: "campaign", From: exclusion.Requested, To: exclusion.Acquired, Waits: true, UntimedInLockstep: true,
			Meaning: "from the call until the client leads, waiting for one's turn included"},
		{Name: phaseResign, From: exclusion.Releasing, To: exclusion.Released, Floor: variants.FloorWrite,
			Meaning: "from just before a resignation is sent until its reply"},
		{Name: "lead", From: exclusion.Acquired, To: exclusion.Releasing, UntimedInLockstep: true,
			Meaning: "what the scenario makes leaders lead"},
	}
}

func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		out.Timed(phases()),
		variants.ObserverFunc((&failovers{out: out, waiting: exclusion.Waiting{}, leader: none}).observe),
		exclusion.Exclusive(out, exclusion.Words{
			Acquired: "was elected", Held: "led", HeldOn: "went on leading", Granted: "was elected for epoch", Value: "epoch",
			Holds: "leads", Wait: "campaign",
		}),
	}
}

// failovers pairs the end of each term with the next election, if a client was campaigning by then. Otherwise the time
// in between is idle time. A leader that succeeds itself in the same life has not failed over.
//
// Note: a newcomer that wins ends the failover, too. Without newcomers, the longest failovers of candidates that poll
// would be missing, because the longer an office is vacant, the likelier a newcomer is.
type failovers struct {
	out     variants.Findings
	waiting exclusion.Waiting
	leader  int // none if the last leader began another life
	leads   bool
	vacant  variants.Moment
	phase   string // the failover that is under way, if any
}

const none = -1

func (f *failovers) observe(e variants.Event) {
	f.waiting.Observe(e)
	switch e.Kind {
	case exclusion.Releasing:
		f.end(e, phaseFailoverClean)
	case exclusion.Deposed, variants.SessionLost, variants.Died:
		f.end(e, phaseFailoverCrash)
	case variants.Rejoined:
		if e.Client == f.leader {
			f.leader = none
		}
	case exclusion.Acquired:
		if f.phase != "" && e.Client != f.leader {
			f.out.Span(variants.SpanOf(f.phase, e.Client, f.vacant, e.Moment()))
		}
		f.leader, f.leads, f.phase = e.Client, true, ""
	}
}

// end is called when a client no longer leads, perhaps more than once for one term: the first time counts.
func (f *failovers) end(e variants.Event, phase string) {
	if e.Client != f.leader || !f.leads {
		return
	}
	f.leads = false
	if len(f.waiting) > 0 {
		f.vacant, f.phase = e.Moment(), phase
	}
}
