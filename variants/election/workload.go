package election

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/holding"
)

// The phases.
const (
	phaseCampaign      = "campaign"
	phaseLead          = "lead"
	phaseResign        = "resign"
	phaseFailoverClean = "failover-clean"
	phaseFailoverCrash = "failover-crash"
)

// phases returns what is timed, the most telling first. A failover after a crash begins when the leader itself learned of
// its loss, if that was before its successor led.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseFailoverClean, Meaning: "from just before a leader resigns an office that others want until one of them, or a newcomer, leads", Floor: variants.FloorHandoff},
		{Name: phaseFailoverCrash, Meaning: "the same, from when a leader's session was lost"},
		{Name: phaseCampaign, Meaning: "from the call until the client leads, waiting for one's turn included", Waits: true, UntimedInLockstep: true},
		{Name: phaseResign, Meaning: "from just before a resignation is sent until its reply", Floor: variants.FloorWrite},
		{Name: phaseLead, Meaning: "what the scenario makes leaders lead", UntimedInLockstep: true},
	}
}

// newCandidate returns a participant.
func newCandidate(e Election, env variants.Env) variants.Participant {
	return holding.NewWorker(env, func(int) holding.Operation {
		return holding.Operation{Release: e.Resign, Acquire: func(ctx context.Context) (holding.Grant, error) {
			term, err := e.Campaign(ctx)
			return holding.Grant{Value: term.Epoch, Lost: term.Lost}, err
		}}
	})
}

// join makes a variant's Join of its constructor.
func join(open func(context.Context, variants.Env) (Election, error)) variants.JoinFunc {
	return variants.JoinBy(open, newCandidate)
}

// newObserver returns an observer of the phases and the promise of an election.
func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		holding.Spans(out, phaseCampaign, phaseLead, phaseResign),
		failovers(out),
		holding.Exclusive(out, holding.Words{
			Acquired: "was elected", Held: "led", Granted: "was elected for epoch", Value: "epoch", Holds: "leads", Wait: "campaign",
		}),
	}
}

// failovers pairs the end of each term with the next election, if a client was campaigning by then. Otherwise the time in
// between is idle time. A leader that succeeds itself has not failed over.
//
// Note: a newcomer that wins ends the failover, too. To leave those out would leave out the longest ones of candidates that
// poll, because the longer an office is vacant, the likelier a newcomer is.
func failovers(out variants.Findings) variants.Observer {
	waiting := holding.Waiting{}
	leader, vacant, phase := -1, time.Duration(0), ""
	end := func(e variants.Event, ended string) {
		if e.Client == leader && len(waiting) > 0 {
			vacant, phase = e.At, ended
		}
	}
	return variants.ObserverFunc(func(e variants.Event) {
		waiting.Observe(e)
		switch e.Kind {
		case holding.Releasing:
			end(e, phaseFailoverClean)
		case holding.Deposed:
			end(e, phaseFailoverCrash)
		case holding.Acquired:
			if phase != "" && e.Client != leader {
				out.Span(variants.Span{Phase: phase, Client: e.Client, Start: vacant, End: e.At})
			}
			leader, phase = e.Client, ""
		}
	})
}
