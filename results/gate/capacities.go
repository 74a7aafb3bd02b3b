package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

// builtInOfSearches applies few rules to the trials, because a search needs those beyond the capacity, too.
func builtInOfSearches(e Evidence) []Check {
	checks := list.Map(grouping.Repeats(e.Trials), func(trials []*results.Document) Check {
		return promiseKept().check(trials, doubts.Repeat)
	})
	for _, r := range e.Capacities {
		broken := ""
		if r.Breaches > 0 { // possibly in trials whose results were replaced
			broken = breaches(r.Breaches) + " in all trials"
		}
		kept := ofScenario("promise kept", r.Scenario, outcome.Violation, broken)
		found := ofScenario("capacities found", r.Scenario, outcome.Inconclusive, strings.Join(r.Unknown(), "; "))
		kept.Clients, found.Clients = r.Clients, r.Clients
		checks = append(checks, kept, found)
	}
	return checks
}

// checkCapacities evaluates the assertions about capacities. It returns notes about capacities that no assertion is about, and about
// checks that pass so narrowly that another search could fail them.
func checkCapacities(e Evidence, assertions []Assertion, names Names) (checks []Check, notes []string) {
	var used []string
	for _, a := range list.Where(assertions, Assertion.isCapacity) {
		searches := list.Where(e.Capacities, func(r capacity.Report) bool { return matches(a.Scenario, r.Scenario) })
		if len(searches) == 0 {
			why := "there is no capacity of this scenario: give the folder of `zkbench capacity`" + names.hint(a.Scenario, e.scenarios())
			checks = append(checks, a.undecided(a.Scenario, why))
		}
		for _, same := range list.GroupBy(searches, func(r capacity.Report) string { return r.Scenario }) {
			r, why := a.choose(same)
			if why != "" {
				checks = append(checks, a.undecided(same[0].Scenario, why))
				continue
			}
			used = append(used, r.Scenario+conditionsOf(r))
			checks = append(checks, a.checkCapacity(r)...)
		}
	}
	for _, r := range e.Capacities {
		if !slices.Contains(used, r.Scenario+conditionsOf(r)) {
			notes = append(notes, fmt.Sprintf("no rule is about the capacities of %s: %s", r.Scenario, conditionsOf(r)))
		}
	}
	for _, c := range checks {
		if c.Outcome == outcome.Pass && c.narrow {
			notes = append(notes, c.title()+": "+c.Why)
		}
	}
	return checks, notes
}

func (a Assertion) choose(reports []capacity.Report) (report capacity.Report, why string) {
	wanted := capacity.Report{By: a.By, Objective: a.Objective.String(), Clients: a.Clients}
	found := list.Where(reports, func(r capacity.Report) bool {
		return r.By == wanted.By && r.Objective == wanted.Objective && (a.Clients == 0 || r.Clients == a.Clients)
	})
	most := list.Largest(list.Map(found, func(r capacity.Report) int { return r.Clients }))
	found = list.Where(found, func(r capacity.Report) bool { return r.Clients == most })
	switch len(found) {
	case 0:
		all := strings.Join(list.Map(reports, conditionsOf), "; ")
		return report, fmt.Sprintf("there is no capacity %s; there is: %s", conditionsOf(wanted), all)
	case 1:
		return found[0], ""
	default:
		return report, "measured by more than one search: give the report of one"
	}
}

func conditionsOf(r capacity.Report) string {
	text := fmt.Sprintf("by %s, where %s", r.By, r.Objective)
	if r.Clients > 0 {
		text += fmt.Sprintf(", with %d %s", r.Clients, table.Plural(r.Clients, "client"))
	}
	return text
}

func (a Assertion) checkCapacity(r capacity.Report) []Check {
	m := claim.Measured{Rows: list.Map(r.Variants, func(v capacity.Capacity) summary.Row {
		row := summary.Row{Key: grouping.Key{Variant: v.Variant, Clients: r.Clients}}
		if n := float64(v.Capacity); n > 0 {
			row.Metrics = map[string]metric.Aggregated{metric.Capacity: {Value: n, Min: n, Max: n}}
		}
		return row
	})}
	a.Clients = r.Clients
	return list.Map(m.Check(a.Claim), func(found claim.Check) Check {
		c := a.check(r.Scenario, found)
		switch {
		case found.Got == nil && found.Variant != claim.Every:
			c.Why = cmp.Or(capacityMissing(r, found.Variant), capacityMissing(r, found.Of))
		case found.Got == nil:
		case r.Engine == results.Embedded:
			c.Outcome, c.Why = outcome.Inconclusive, c.Why+"; "+claim.EmbeddedTimes
		default:
			a.markNarrow(&c)
		}
		return c
	})
}

// searchesDiffer is the share by which the capacities of two searches may differ on an unchanged ensemble. It is larger than
// [capacity.Precision], to which a single search narrows: two searches in one hour on a steady machine differed by up to 9 %.
const searchesDiffer = 0.10

// markNarrow says of a check that another search may decide it otherwise. A multiple of another capacity has the error of both.
func (a Assertion) markNarrow(c *Check) {
	share, value, limit := searchesDiffer, float64(*c.Value), float64(*c.Limit)
	if a.Of != "" {
		share = 2 * searchesDiffer
	}
	oneApart := a.Of == "" && math.Abs(value-limit) <= 1 // a load is a whole number
	if c.narrow = oneApart || value <= limit*(1+share) && limit <= value*(1+share); c.narrow {
		c.Why += fmt.Sprintf(", which is within the %.0f %% by which two searches may differ: another search may decide otherwise", 100*share)
	}
}

func capacityMissing(r capacity.Report, variant string) string {
	names := list.Map(r.Variants, func(v capacity.Capacity) string { return v.Variant })
	i := slices.Index(names, variant)
	if i < 0 {
		return fmt.Sprintf("the capacity of %s was not measured%s", variant, strict.Nearest(variant, names))
	}
	return r.Variants[i].Unknown()
}

// String returns the claim. For a capacity, it adds the objective.
func (a Assertion) String() string {
	text := a.Claim.String()
	if !a.isCapacity() {
		return text
	}
	if a.By == capacity.ByClients {
		text += " clients"
	}
	return text + " where " + a.Objective.String()
}
