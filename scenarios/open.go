package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants"
)

// Open begins operations at a rate, whether or not earlier ones are done. An arrival goes to a free client, else it waits in the
// backlog. So a slow ensemble does not slow down the load that measures it.
const Open = results.OpenMode

// The ways in which operations arrive.
const (
	Constant = "constant" // at equal distances
	Poisson  = "poisson"  // independently of each other, so that the distances are exponentially distributed
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
	s.refuse(p, "means nothing in an open load, which lasts for a duration", "operations")
	s.refuse(p, "means nothing in an open load, which sets the pace by its rate", "think")
	s.refuse(p, "means nothing in an open load, which never comes to rest", "heap")
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
	s.refuse(p, fmt.Sprintf("means nothing in mode %s, whose clients begin an operation when the last one is done: set mode to %s",
		s.Mode, Open), rateField)
	s.refuse(p, fmt.Sprintf("means nothing in mode %s: set mode to %s", s.Mode, Open), arrivalsField)
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
		strings.Join(list.Map(s.Rate, strconv.Itoa), ", "), s.Arrivals, s.Duration, s.WarmUp)
}
