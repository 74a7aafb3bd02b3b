package gate

import (
	"fmt"
	"path"
	"slices"

	"github.com/zkbench/zkbench/results"
)

// ratioSuffix follows a metric's name where pairs are judged by the ratio of their sides.
const ratioSuffix = " ratio"

// Names lists what rules and waivers may name. With the zero value they may name anything.
type Names struct {
	Scenarios map[string]Subject // those that come with zkbench; a result may be of another one, from a file
	Any       Subject            // of all recipes together

	// Nearest returns a hint for a name that is not among others.
	Nearest func(name string, names []string) string
}

// Subject is what a scenario's results can be about.
type Subject struct {
	Variants []string
	Metrics  []string
}

// of returns the subject of a scenario, or of all that match a pattern; any, if none does.
func (n Names) of(scenario string) Subject {
	var out Subject
	for _, name := range sortedKeys(n.Scenarios) {
		if match, err := path.Match(scenario, name); match && err == nil {
			s := n.Scenarios[name]
			out.Variants = append(out.Variants, s.Variants...)
			out.Metrics = append(out.Metrics, s.Metrics...)
		}
	}
	if len(out.Variants) == 0 {
		return n.Any
	}
	return out
}

// unknown returns what is wrong with the names of a metric and of variants of a scenario.
func (n Names) unknown(scenario, metric string, variants ...string) []string {
	if n.Nearest == nil {
		return nil
	}
	var problems []string
	subject := n.of(scenario)
	check := func(what, name string, known []string) {
		if !slices.Contains(known, name) {
			slices.Sort(known)
			problems = append(problems, fmt.Sprintf("there is no %s %q%s", what, name, n.Nearest(name, slices.Compact(known))))
		}
	}
	check("metric", metric, slices.Clone(subject.Metrics))
	for _, variant := range variants {
		if variant != "" && variant != Every {
			check("variant", variant, slices.Clone(subject.Variants))
		}
	}
	return problems
}

// hint returns what else could have been meant by a scenario's name that no result has; empty for a name that is known.
func (n Names) hint(scenario string, docs []*results.Document) string {
	known := sortedKeys(n.Scenarios)
	for _, d := range docs {
		known = append(known, d.Scenario.Name)
	}
	if n.Nearest == nil || slices.ContainsFunc(known, func(name string) bool {
		match, err := path.Match(scenario, name)
		return match && err == nil
	}) {
		return ""
	}
	return n.Nearest(scenario, known)
}
