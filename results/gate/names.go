package gate

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/strict"
)

// Names lists the names that rules may use. With the zero value, they may use any name.
type Names struct {
	Scenarios map[string]Subject // those that come with zkbench; a result may be of another one, from a file
	Any       Subject            // of all recipes together
}

// Subject lists the variants and metrics that the results of a scenario can have.
type Subject struct {
	Variants []string
	Metrics  []string
}

// of returns the subject of the scenarios that match a pattern; that of all recipes if none matches.
func (n Names) of(scenario string) Subject {
	var out Subject
	for name, s := range n.Scenarios {
		if matches(scenario, name) {
			out.Variants = append(out.Variants, s.Variants...)
			out.Metrics = append(out.Metrics, s.Metrics...)
		}
	}
	if len(out.Variants) == 0 {
		return n.Any
	}
	return out
}

// unknownIn returns the mistakes in the names of a rule.
func (n Names) unknownIn(a Assertion) []string {
	problems := n.unknown(a.Scenario, a.Metric, a.Variant, a.Of)
	if a.isCapacity() {
		problems = append(problems, n.unknown(a.Scenario, a.Objective.Metric())...)
	}
	return problems
}

// unknown returns the mistakes in the names of a metric and of variants of a scenario.
func (n Names) unknown(scenario, metric string, variants ...string) []string {
	if len(n.Any.Metrics) == 0 {
		return nil
	}
	var problems []string
	check := func(kind, name string, known []string) {
		if !slices.Contains(known, name) {
			known = results.Distinct(known)
			problems = append(problems, fmt.Sprintf("there is no %s %q%s", kind, name, strict.Nearest(name, known)))
		}
	}
	subject := n.of(scenario)
	check("metric", metric, subject.Metrics)
	for _, variant := range variants {
		if variant != "" && variant != claim.Every {
			check("variant", variant, subject.Variants)
		}
	}
	return problems
}

// hint returns the nearest name for that of a scenario without results; empty if the scenario exists.
func (n Names) hint(scenario string, measured []string) string {
	known := append(sortedKeys(n.Scenarios), measured...)
	if len(n.Scenarios) == 0 || slices.ContainsFunc(known, func(name string) bool { return matches(scenario, name) }) {
		return ""
	}
	return strict.Nearest(scenario, known)
}
