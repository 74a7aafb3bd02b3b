package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records.
const (
	campaigning variants.EventKind = iota
	withdrew                       // a campaign that has ended without a term
	elected                        // value: the epoch
	resigning                      // just before the resignation is sent
	resigned
	deposed // a leader was told that its session is lost, and has stopped
)

// The phases.
const (
	phaseCampaign      = "campaign"
	phaseLead          = "lead"
	phaseResign        = "resign"
	phaseFailoverClean = "failover-clean"
	phaseFailoverCrash = "failover-crash"
)

// phases are what is timed, the most telling first. A failover after a crash begins when the leader itself was
// told, if that was before its successor led.
func phases() []variants.Phase {
	return []variants.Phase{
		{Name: phaseFailoverClean, Meaning: "from just before a leader resigns an office that others want until one of them, or a newcomer, leads", Floor: variants.FloorHandoff},
		{Name: phaseFailoverCrash, Meaning: "the same, from when a leader's session was lost"},
		{Name: phaseCampaign, Meaning: "from the call until the client leads, waiting for one's turn included", Waits: true, UntimedInLockstep: true},
		{Name: phaseResign, Meaning: "from just before a resignation is sent until its reply", Floor: variants.FloorWrite},
		{Name: phaseLead, Meaning: "what the scenario makes leaders lead", UntimedInLockstep: true},
	}
}

// candidate is a participant: it campaigns, leads and resigns, the same way for every variant.
type candidate struct {
	election Election
	env      variants.Env
}

var _ variants.Participant = (*candidate)(nil)

// join makes a variant's Join out of its constructor.
func join(open func(context.Context, variants.Session, variants.Env) (Election, error)) variants.JoinFunc {
	return variants.JoinBy(open, func(e Election, env variants.Env) variants.Participant {
		return &candidate{election: e, env: env}
	})
}

// Step implements [variants.Participant].
func (c *candidate) Step(ctx context.Context) error {
	c.env.Record(campaigning, 0)
	term, err := c.election.Campaign(ctx)
	if err != nil {
		c.env.Record(withdrew, 0)
		return fmt.Errorf("campaign: %w", err)
	}
	c.env.Record(elected, term.Epoch)
	led := c.env.Hold(ctx, term.Lost)
	select {
	case <-term.Lost:
		c.env.Record(deposed, term.Epoch)
	default:
		c.env.Record(resigning, term.Epoch)
	}
	// A run that ends while somebody leads still ends the term.
	resignCtx, cancel := variants.Cleanup(ctx)
	defer cancel()
	if err := c.election.Resign(resignCtx); err != nil {
		return errors.Join(led, fmt.Errorf("resign: %w", err))
	}
	c.env.Record(resigned, term.Epoch)
	return led
}

// Leave implements [variants.Participant].
func (c *candidate) Leave(ctx context.Context) error { return c.election.Resign(ctx) }

func spans(h variants.History) []variants.Span {
	out := h.Between(phaseCampaign, campaigning, elected)
	out = append(out, h.Between(phaseLead, elected, resigning)...)
	out = append(out, h.Between(phaseResign, resigning, resigned)...)
	return append(out, failovers(h)...)
}

// failovers pairs the end of each term with the next election, if somebody was campaigning by then; otherwise the time in
// between is idleness. A newcomer that wins ends the failover, too. To leave those out would leave out the longest of
// candidates that poll, because the longer an office is vacant, the likelier it is that somebody comes along. But a
// leader that succeeds itself has not failed over.
func failovers(h variants.History) []variants.Span {
	var out []variants.Span
	waiting := map[int]bool{}
	leader, vacant, phase := -1, time.Duration(0), ""
	end := func(e variants.Event, ended string) {
		if e.Client == leader && len(waiting) > 0 {
			vacant, phase = e.At, ended
		}
	}
	for _, e := range h {
		switch e.Kind {
		case campaigning:
			waiting[e.Client] = true
		case withdrew:
			delete(waiting, e.Client)
		case resigning:
			end(e, phaseFailoverClean)
		case deposed:
			end(e, phaseFailoverCrash)
		case elected:
			delete(waiting, e.Client)
			if phase != "" && e.Client != leader {
				out = append(out, variants.Span{Phase: phase, Client: e.Client, Start: vacant, End: e.At})
			}
			leader, phase = e.Client, ""
		}
	}
	return out
}

// check holds a whole history to the promise.
func check(h variants.History) []variants.Violation { return append(checkPrefix(h), leaderless(h)...) }

// checkPrefix finds leaders that were elected too early. Times are taken just after a campaign was won and just before a
// resignation was sent, or just after the leader stopped because its session was lost, on one clock: an overlap in the
// history was one in reality.
func checkPrefix(h variants.History) []variants.Violation {
	var out []variants.Violation
	const nobody = -1
	leader, lastEpoch, led := nobody, int64(0), false
	for _, e := range h {
		switch e.Kind {
		case elected:
			if leader != nobody {
				out = append(out, e.Violation("client %d was elected while client %d led", e.Client, leader))
			}
			if led && e.Value <= lastEpoch {
				out = append(out, e.Violation("client %d was elected for epoch %d after epoch %d", e.Client, e.Value, lastEpoch))
			}
			leader, lastEpoch, led = e.Client, e.Value, true
		case resigning, deposed:
			if leader == e.Client {
				leader = nobody
			}
		}
	}
	return out
}

// leaderless returns a violation if clients campaign at the end of a whole history and none of them leads.
func leaderless(h variants.History) []variants.Violation {
	waiting, leading := map[int]bool{}, map[int]bool{}
	for _, e := range h {
		switch e.Kind {
		case campaigning:
			waiting[e.Client] = true
		case withdrew:
			delete(waiting, e.Client)
		case elected:
			delete(waiting, e.Client)
			leading = map[int]bool{e.Client: true}
		case resigning, deposed:
			delete(leading, e.Client)
		}
	}
	if len(leading) > 0 || len(waiting) == 0 {
		return nil
	}
	return []variants.Violation{h[len(h)-1].Violation("nobody leads in the end, although %d clients campaign", len(waiting))}
}
