package gate

import (
	"path"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/outcome"
)

// Assertion is a claim with the scenario that it is about and its source.
type Assertion struct {
	claim.Claim
	Source   Source
	Scenario string // a pattern of path.Match

	// Of claims about [results.Capacity] only: which of the capacities that a scenario may have.
	Objective capacity.Objective
	By        string // capacity.ByRate or capacity.ByClients
}

// isCapacity reports whether the assertion is about capacities, which no single result has.
func (a Assertion) isCapacity() bool { return a.Metric == results.Capacity }

// matches reports whether a pattern matches the name of a scenario.
func matches(pattern, scenario string) bool {
	match, err := path.Match(pattern, scenario)
	return match && err == nil
}

// checkAssertions evaluates the assertions about the results of each scenario. An assertion about a scenario without results is
// inconclusive. A scenario is not held to those of its own claims that its servers cannot decide.
func checkAssertions(e Evidence, assertions []Assertion, names Names) []Check {
	scenarios := byScenario(e.Head())
	measured := results.Map(scenarios, claim.Of)
	var checks []Check
	for _, a := range assertions {
		if a.isCapacity() {
			continue
		}
		found := false
		for i, docs := range scenarios {
			name := docs[0].Scenario.Name
			if !matches(a.Scenario, name) {
				continue
			}
			found = true
			for _, c := range measured[i].Check(a.Claim) {
				if a.Source != FromScenario || !c.Undecidable {
					checks = append(checks, a.check(name, c))
				}
			}
		}
		if !found {
			checks = append(checks, a.undecided(a.Scenario, e.noResult(a.Scenario)+names.hint(a.Scenario, e.scenarios())))
		}
	}
	return checks
}

// undecided returns the check of an assertion that has nothing to compare.
func (a Assertion) undecided(scenario, why string) Check {
	return Check{Rule: a.String(), Source: a.Source, Scenario: scenario, Clients: a.Clients, Metric: a.Metric, Outcome: outcome.Inconclusive, Why: why}
}

// check returns the gate's form of a check of the assertion's claim.
func (a Assertion) check(scenario string, c claim.Check) Check {
	a.Claim = c.Claim
	out := Check{Rule: a.String(), Source: a.Source, Scenario: scenario, Clients: c.Clients, Rate: c.Rate, Metric: c.Metric,
		Value: c.Got, Limit: c.Limit, Outcome: c.Outcome, Why: c.Why}
	if c.Variant != claim.Every {
		out.Variant = c.Variant
	}
	return out
}
