package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/outcome"
)

// Every is the variant of an assertion about all variants that were measured.
const Every = "*"

// Assertion is a claim with the scenario that it is about and its source.
type Assertion struct {
	results.Claim
	Source   Source
	Scenario string // a pattern of path.Match
	Clients  int    // 0 means the largest number

	// Of claims about [results.Capacity] only: which of the capacities that a scenario may have.
	Objective string // as [capacity.Objective] writes it
	By        string // capacity.ByRate or capacity.ByClients

	objectiveMetric string
}

// isCapacity reports whether the assertion is about capacities, which no single result has.
func (a Assertion) isCapacity() bool { return a.Metric == results.Capacity }

// matches reports whether a pattern matches the name of a scenario.
func matches(pattern, scenario string) bool {
	match, err := path.Match(pattern, scenario)
	return match && err == nil
}

// checkAssertions evaluates the assertions about the results of each scenario. An assertion about a scenario without results is
// inconclusive.
func checkAssertions(e Evidence, assertions []Assertion, names Names) []Check {
	scenarios, byScenario := groupBy(e.Head(), func(d *results.Document) string { return d.Scenario.Name })
	var checks []Check
	for _, a := range assertions {
		if a.isCapacity() {
			continue
		}
		found := false
		for _, name := range slices.Sorted(slices.Values(scenarios)) {
			if matches(a.Scenario, name) {
				found = true
				checks = append(checks, a.check(name, byScenario[name])...)
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

// check evaluates the assertion for one scenario, for each variant separately if it is about all.
func (a Assertion) check(scenario string, docs []*results.Document) []Check {
	rows := results.Summarize(docs).Rows
	variants := []string{a.Variant}
	if a.Variant == Every {
		variants = nil
		for _, r := range rows {
			gated := (r.KnownBroken == "" || !a.IsTime()) && (!r.BreachExpected || r.Unfinished == "" && a.Metric != results.Violations)
			if gated && r.Variant != a.Of && !slices.Contains(variants, r.Variant) {
				variants = append(variants, r.Variant)
			}
		}
	}
	if a.Clients == 0 {
		a.Clients = results.MostClients(rows)
	}
	if len(variants) == 0 {
		return []Check{a.undecided(scenario, noOtherThan(a.Of))}
	}
	rate := results.HighestRate(slices.DeleteFunc(slices.Clone(rows), func(r results.Row) bool { return r.Clients != a.Clients }))
	var checks []Check
	for _, variant := range variants {
		a.Variant = variant
		e := a.Evaluate(rows, a.Clients)
		c := Check{Rule: a.String(), Source: a.Source, Scenario: scenario, Variant: variant, Clients: a.Clients, Rate: rate, Metric: a.Metric,
			Value: e.Value, Limit: e.Limit, Outcome: e.Outcome, Why: e.Why}
		if doubts := a.doubts(docs, rate); e.Value != nil && doubts != "" {
			c.Outcome, c.Why = outcome.Inconclusive, c.Why+"; "+doubts
		}
		checks = append(checks, c)
	}
	return checks
}

// noOtherThan says why an assertion about all variants, or about all but one, is about none.
func noOtherThan(variant string) string {
	if variant == "" {
		return "every measured variant is known to be broken, and rules about all variants leave these out"
	}
	return fmt.Sprintf("no variant other than %s was measured, or all others are known to be broken", variant)
}

// embeddedTimes explains why checks of times on the embedded server are inconclusive.
const embeddedTimes = "times of the embedded server are not those of an ensemble"

// herdsAreGuessed explains why checks of the size of herds are inconclusive.
const herdsAreGuessed = "these servers do not say which transaction caused a notification, so that herds are guessed"

// doubts returns why the values that the claim compares cannot decide it. A busy machine affects times and not counts.
func (a Assertion) doubts(docs []*results.Document, rate int) string {
	for _, d := range docs {
		if d.Clients != a.Clients || d.Rate != rate || !a.Mentions(d.Variant) {
			continue
		}
		switch {
		case d.Guessed(a.Metric):
			return herdsAreGuessed
		case !a.IsTime():
			continue
		case d.KnownBroken != "":
			return fmt.Sprintf("%s is known to be broken, and its times decide nothing", d.Key().Name())
		case d.Environment.Engine == results.Embedded:
			return embeddedTimes
		}
		reasons := d.Saturated()
		if a.Of == "" { // a delay of both sides hardly changes their ratio
			reasons = d.Delayed()
		}
		if err := scarce(d, a.Metric); err != nil {
			reasons = append(reasons, err.Error())
		}
		if len(reasons) > 0 {
			return strings.Join(reasons, "; ")
		}
	}
	return ""
}
