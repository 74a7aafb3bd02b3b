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

	note string // about former names in its file
}

// checkAssertions evaluates the assertions about each scenario. An assertion about a scenario without results is
// inconclusive.
func checkAssertions(docs []*results.Document, assertions []Assertion, names Names) []Check {
	scenarios, byScenario := groupBy(docs, func(d *results.Document) string { return d.Scenario.Name })
	var checks []Check
	for _, a := range assertions {
		found := false
		for _, name := range slices.Sorted(slices.Values(scenarios)) {
			if match, err := path.Match(a.Scenario, name); match && err == nil {
				found = true
				checks = append(checks, a.check(name, byScenario[name])...)
			}
		}
		if !found {
			checks = append(checks, Check{Rule: a.String(), Source: a.Source, Scenario: a.Scenario, Metric: a.Metric,
				Outcome: outcome.Inconclusive, Why: "there is no result of this scenario" + names.hint(a.Scenario, docs)})
		}
	}
	return checks
}

// check evaluates the assertion for one scenario, for each variant separately if it is about all.
func (a Assertion) check(scenario string, docs []*results.Document) []Check {
	rows := results.Summarize(docs).Rows
	variants := []string{a.Variant}
	if a.Variant == Every {
		variants = nil
		for _, r := range rows {
			if r.Variant != a.Of && !slices.Contains(variants, r.Variant) {
				variants = append(variants, r.Variant)
			}
		}
	}
	if a.Clients == 0 {
		a.Clients = results.MostClients(rows)
	}
	if len(variants) == 0 {
		return []Check{{Rule: a.String(), Source: a.Source, Scenario: scenario, Clients: a.Clients, Metric: a.Metric,
			Outcome: outcome.Inconclusive, Why: fmt.Sprintf("no variant other than %s was measured", a.Of)}}
	}
	var checks []Check
	for _, variant := range variants {
		a.Variant = variant
		e := a.Evaluate(rows, a.Clients)
		c := Check{Rule: a.String(), Source: a.Source, Scenario: scenario, Variant: variant, Clients: a.Clients, Metric: a.Metric,
			Value: e.Value, Limit: e.Limit, Outcome: e.Outcome, Why: e.Why, lessIsWorse: e.LessIsWorse}
		if doubts := a.doubts(docs); e.Value != nil && doubts != "" {
			c.Outcome, c.Why = outcome.Inconclusive, c.Why+"; "+doubts
		}
		checks = append(checks, c)
	}
	return checks
}

// herdsAreGuessed explains why checks of the size of herds are inconclusive.
const herdsAreGuessed = "these servers do not say which transaction caused a notification, so that herds are guessed"

// doubts returns why the values that the claim compares cannot decide it. A busy machine affects times and not counts.
func (a Assertion) doubts(docs []*results.Document) string {
	for _, d := range docs {
		if d.Clients != a.Clients || !a.Mentions(d.Variant) {
			continue
		}
		switch {
		case d.Guessed(a.Metric):
			return herdsAreGuessed
		case !a.IsTime():
			continue
		case d.Environment.Engine == results.Embedded:
			return "times of the embedded server are not those of an ensemble"
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
