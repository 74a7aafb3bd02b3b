package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants"
)

// Open begins operations at a rate, whether or not earlier ones are done. An arrival goes to a free client, else it waits in the
// backlog. So a slow ensemble does not slow down the load that measures it.
const Open Mode = "open"

// Arrivals is how the arrivals of an open load are spread over time.
type Arrivals string

// The ways in which operations arrive.
const (
	Constant Arrivals = "constant" // at equal distances
	Poisson  Arrivals = "poisson"  // independently of each other, so that the distances are exponentially distributed
)

// The fields of a file that belong to an open load.
const (
	rateField     = "rate"
	arrivalsField = "arrivals"
)

// maxRate is the largest number of operations per second that an open load may offer. One process begins fewer.
const maxRate = 100_000

type openRules struct{}

func (openRules) validate(s *Scenario, p *problems) {
	if s.Duration <= 0 {
		p.add("duration", "is missing: an open load lasts for a time, such as 10s")
	}
	for _, f := range []struct {
		name, why string
		given     bool
	}{
		{"operations", "lasts for a duration", s.Operations != 0},
		{"think", "sets the pace by its rate", s.Think != 0},
		{"heap", "never comes to rest", s.Heap},
	} {
		if f.given {
			p.add(f.name, "means nothing in an open load, which %s", f.why)
		}
	}
	if s.Arrivals != "" && s.Arrivals != Constant && s.Arrivals != Poisson {
		p.add(arrivalsField, "wants %s or %s, not %q", Constant, Poisson, s.Arrivals)
	}
	s.validateRates(p)
}

// validateRates checks the rates of an open load.
func (s *Scenario) validateRates(p *problems) {
	if len(s.Rate) == 0 && len(s.Stages) == 0 {
		p.add(rateField, "is missing: how many operations per second arrive, such as [100, 200]?")
	}
	for i, rate := range s.Rate {
		if rate < 1 || rate > maxRate {
			p.add(rateField, "wants 1 to %d operations per second, not %d", maxRate, rate)
		}
		if slices.Contains(s.Rate[:i], rate) {
			p.add(rateField, "has %d twice", rate)
		}
	}
}

// withoutArrivals adds the fields of an open load that a load of another mode has.
func (s *Scenario) withoutArrivals(p *problems) {
	if len(s.Rate) > 0 {
		p.add(rateField, "means nothing in mode %s, whose clients begin an operation when the last one is done: set mode to %s", s.Mode, Open)
	}
	if s.Arrivals != "" {
		p.add(arrivalsField, "means nothing in mode %s: set mode to %s", s.Mode, Open)
	}
}

// validateCollective refuses recipes whose clients cannot work on arrivals independently of each other.
func (s *Scenario) validateCollective(p *problems, recipe variants.Recipe) {
	if s.Mode == Open && recipe.Collective {
		p.add("mode", "%s wants clients that act by themselves, and in recipe %s each operation needs all clients", Open, recipe.Name)
	}
}

func (openRules) takes(variants.Variant) bool { return true }

func (openRules) describe(s *Scenario) string {
	if len(s.Stages) > 0 {
		return s.describeStages()
	}
	return fmt.Sprintf("%s operations per second (%s arrivals) for %s after %s of warm-up",
		strings.Join(results.Map(s.Rate, strconv.Itoa), ", "), s.EffectiveArrivals(), time.Duration(s.Duration), time.Duration(s.WarmUp))
}

// EffectiveArrivals returns how operations arrive in an open load; empty in other modes.
func (s *Scenario) EffectiveArrivals() Arrivals {
	if s.Mode == Open && s.Arrivals == "" {
		return Constant
	}
	return s.Arrivals
}

// Rates returns the rates that are swept: the largest one of a load in stages, and a single zero in a load that is not open.
func (s *Scenario) Rates() []int {
	switch {
	case len(s.Rate) > 0:
		return s.Rate
	case s.Mode == Open && len(s.Stages) > 0:
		return []int{s.highestStage()}
	default:
		return []int{0}
	}
}

// RatesText returns the rates of an open load as documents have them; empty in other modes.
func (s *Scenario) RatesText() string {
	if s.Mode != Open {
		return ""
	}
	return fmt.Sprint(s.Rates())
}

// SetMode changes the mode. A scenario that is no longer open loses its rates and its arrivals, unless they are to be kept.
func (s *Scenario) SetMode(m Mode, keepRate, keepArrivals bool) {
	s.Mode = m
	if m != Open && !keepRate {
		s.Rate = nil
	}
	if m != Open && !keepArrivals {
		s.Arrivals = ""
	}
}
