package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// The most that a scenario may ask for. Each limit is beyond what can be measured and kept, so that a larger number is a
// typing error. It is refused before a server starts, instead of when the memory is used up.
const (
	maxMeasurements = 100_000    // of one run: more than a day at a second each
	maxClients      = 100_000    // more than one machine has ports for
	maxItems        = 10_000_000 // of one measurement: operations, or what a recipe works on
	maxPause        = time.Hour  // the longest time that a histogram holds
	maxLoad         = 24 * time.Hour
)

// validateBounds returns what is too much to be meant. Products are not computed before their factors are known to be
// small.
func (s *Scenario) validateBounds(recipes []variants.Recipe) []Problem {
	var problems []Problem
	add := func(field, format string, args ...any) {
		problems = append(problems, Problem{field, fmt.Sprintf(format, args...)})
	}
	for _, d := range []struct {
		name  string
		value Duration
		most  time.Duration
	}{{"duration", s.Duration, maxLoad}, {"warm-up", s.WarmUp, maxLoad}, {"hold", s.Hold, maxPause}, {"think", s.Think, maxPause}} {
		if time.Duration(d.value) > d.most {
			add(d.name, "wants at most %s, not %s", d.most, time.Duration(d.value))
		}
	}
	if len(s.Clients) == 0 {
		return problems
	}
	most := slices.Max(s.Clients)
	if most > maxClients {
		add("clients", "wants at most %d, not %d", maxClients, most)
	}
	most = max(min(most, maxClients), 1)
	if s.Size > maxItems/most {
		add("size", "wants at most %d for %d clients, not %d: a measurement works on at most %d", maxItems/most, most, s.Size, maxItems)
	}
	if s.Operations > maxItems/most {
		add("operations", "wants at most %d for each of %d clients, not %d: a measurement keeps at most %d", maxItems/most, most, s.Operations, maxItems)
	}
	if i := slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == s.Recipe }); i >= 0 {
		each := len(s.Clients) * max(len(s.Selected(recipes[i])), 1)
		if each > maxMeasurements || s.Repeats > maxMeasurements/each {
			add("repeats", "wants at most %d, not %d: each has %d measurements, and a run makes at most %d", maxMeasurements/each, s.Repeats, each, maxMeasurements)
		}
	}
	return problems
}
