package gate

import (
	"fmt"
	"path"
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/strict"
)

// ratioSuffix follows the name of a metric where pairs compare the ratio of their sides.
const ratioSuffix = " ratio"

// Names lists the names that rules and waivers may use. With the zero value, they may use any name.
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
		if match, err := path.Match(scenario, name); match && err == nil {
			out.Variants = append(out.Variants, s.Variants...)
			out.Metrics = append(out.Metrics, s.Metrics...)
		}
	}
	if len(out.Variants) == 0 {
		return n.Any
	}
	return out
}

// unknown returns the mistakes in the names of a metric and of variants of a scenario.
func (n Names) unknown(scenario, metric string, variants ...string) []string {
	if len(n.Any.Metrics) == 0 {
		return nil
	}
	var problems []string
	check := func(kind, name string, known []string) {
		if !slices.Contains(known, name) {
			known = slices.Compact(slices.Sorted(slices.Values(known)))
			problems = append(problems, fmt.Sprintf("there is no %s %q%s", kind, name, strict.Nearest(name, known)))
		}
	}
	subject := n.of(scenario)
	check("metric", metric, subject.Metrics)
	for _, variant := range variants {
		if variant != "" && variant != Every {
			check("variant", variant, subject.Variants)
		}
	}
	return problems
}

// hint returns the nearest name for that of a scenario without results; empty if the scenario exists.
func (n Names) hint(scenario string, docs []*results.Document) string {
	known := sortedKeys(n.Scenarios)
	for _, d := range docs {
		known = append(known, d.Scenario.Name)
	}
	if len(n.Scenarios) == 0 || slices.ContainsFunc(known, func(name string) bool {
		match, err := path.Match(scenario, name)
		return match && err == nil
	}) {
		return ""
	}
	return strict.Nearest(scenario, known)
}
