package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
)

const (
	// Closed lets every client loop at its own pace: it starts the next operation when the last one is done. The load ends after
	// a duration or after a number of operations of each client.
	Closed = results.ClosedMode
	// Lockstep lets all clients line up and then leave one by one. Each step waits until every client has re-armed its watch,
	// so that the counts are exact. The load ends when every client has had its turn.
	Lockstep = results.LockstepMode
	// Open begins operations at a rate, whether or not earlier ones are done. An arrival goes to a free client, else it waits in the
	// backlog. So a slow ensemble does not slow down the load that measures it.
	Open = results.OpenMode
)

// The ways in which operations arrive in an open load.
const (
	Constant = "constant" // at equal distances
	Poisson  = "poisson"  // independently of each other, so that the distances are exponentially distributed
)

// maxRate is the largest number of operations per second that an open load may offer. One process begins fewer.
const maxRate = 100_000

// minRate is one operation per hour.
const minRate = results.Rate(1.0 / 3600)

// validateMode checks the fields that pace the load, and refuses fields that have no meaning in its mode.
func (s *Scenario) validateMode(p *problems) {
	switch s.Mode {
	case Closed:
		if (s.Operations > 0) == (s.Duration > 0) && len(s.Stages) == 0 {
			p.add("duration", "a closed load wants either a duration or a number of operations")
		}
		s.refuse(p, "can be measured in lockstep only, where all clients come to rest", "heap")
	case Lockstep:
		s.refuse(p, "means nothing in a lockstep run, which ends when all clients have had their turn",
			"operations", "duration", "warm-up", "think")
		s.refuse(p, "means nothing in a lockstep run, which needs every client and every server to work",
			"faults", "roam", "quorum-loss")
	case Open:
		s.validateOpen(p)
		return
	default:
		p.add("mode", "wants %s, %s or %s, not %q", Closed, Lockstep, Open, s.Mode)
		return
	}
	s.refuse(p, fmt.Sprintf("means nothing in mode %s, whose clients begin an operation when the last one is done: set mode to %s",
		s.Mode, Open), "rate")
	s.refuse(p, fmt.Sprintf("means nothing in mode %s: set mode to %s", s.Mode, Open), "arrivals")
}

func (s *Scenario) validateOpen(p *problems) {
	if s.Duration <= 0 {
		p.add("duration", "is missing: an open load lasts for a time, such as 10s")
	}
	s.refuse(p, "means nothing in an open load, which lasts for a duration", "operations")
	s.refuse(p, "means nothing in an open load, which sets the pace by its rate", "think")
	s.refuse(p, "means nothing in an open load, which never comes to rest", "heap")
	if !slices.Contains([]string{"", Constant, Poisson}, s.Arrivals) {
		p.add("arrivals", "wants %s or %s, not %q", Constant, Poisson, s.Arrivals)
	}
	if len(s.Rate) == 0 && len(s.Stages) == 0 {
		p.add("rate", "is missing: how many operations per second arrive, such as [100, 200]?")
	}
	loads(p, "rate", s.Rate, minRate, maxRate)
}

// validateArrivals refuses an open load whose first step, a number of operations, is due at the end of the window or later.
func (s *Scenario) validateArrivals(p *problems, step float64) {
	for _, rate := range s.Rates() {
		const rounding = 1e-9
		if due := s.due(rate); due > 0 && due <= step*(1+rounding) {
			after := time.Duration(step / due * float64(s.Duration)).Round(time.Millisecond)
			field := map[bool]string{true: "rate", false: "stages"}[len(s.Stages) == 0]
			p.add(field, "at %s, the first operations would begin after %s on average, and the window lasts %s: "+
				"choose a higher rate or a longer duration", rate.Of(""), after, s.Duration)
		}
	}
}

// due returns how many operations are due in the window, on average.
func (s *Scenario) due(rate results.Rate) float64 {
	if len(s.Stages) == 0 {
		return float64(rate) * s.Duration.Seconds()
	}
	var sum, before float64
	for _, stage := range s.Stages {
		mean := stage.Level()
		if stage.Ramp {
			mean = (before + mean) / 2
		}
		sum, before = sum+mean*stage.For.Seconds(), stage.Level()
	}
	return sum
}
