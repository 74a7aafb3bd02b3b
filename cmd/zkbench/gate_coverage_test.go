package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

func loaded(t *testing.T) []scenarios.Scenario {
	t.Helper()
	var out []scenarios.Scenario
	for _, name := range scenarios.Names() {
		s := must.Get(scenarios.Load(name, catalog.Recipes()))(t)
		out = append(out, s)
	}
	return out
}

// uncovered returns, for each variant, the scenarios and rows of baselines that are missing: a scenario in lockstep if its
// formulas are exact there, another one with exact counts if it never comes to rest, any scenario for a library, and a row for each
// scenario that runs it. The scenario
// watch-memory needs real servers, and crowds, which may be unfinished, take many minutes: `make gate` leaves them out. The
// counts of open loads depend on their rate. TestLiveDrivers holds the libraries that are known to be broken to their formulas, with one
// client.
func uncovered(t *testing.T, recipes []variants.Recipe, run []scenarios.Scenario, baselines map[string]gate.Baseline) []string {
	var steps []string
	exact := list.Map(must.Get(scenarios.Group("exact", catalog.Recipes()))(t), func(s scenarios.Scenario) string { return s.Name })
	for _, recipe := range recipes {
		for _, v := range recipe.All() {
			held := v.Driver != nil && v.Broken != ""
			for _, s := range run {
				isV := func(other variants.Variant) bool { return other.Name == v.Name }
				if s.Recipe != recipe.Name || s.Name == "watch-memory" || slices.Contains(s.Broken, v.Name) || len(s.Faults) > 0 || s.AtMost > 0 || s.Mode == scenarios.Open || !slices.ContainsFunc(s.Selected(recipe), isV) {
					continue
				}
				held = held || v.Kind == variants.Library || s.Mode == scenarios.Lockstep || !v.HasLockstep() && slices.Contains(exact, s.Name)
				if missing := missingRows(baselines[s.Name], v.Name, s); len(missing) > 0 {
					steps = append(steps, fmt.Sprintf("results/baselines/%s.json has no row of %s for %v clients: run `zkbench run %s --ensemble embedded && zkbench baseline save`",
						s.Name, v.Name, missing, s.Name))
				}
			}
			if !held {
				steps = append(steps, "no scenario holds "+recipe.Name+"/"+v.Name+" to its formulas: name it in one of scenarios/questions/"+recipe.Name+"/*.yaml, in lockstep if they are exact there, and with one client and a number of operations otherwise")
			}
		}
	}
	return steps
}

// missingRows returns the numbers of clients for which a baseline has no row of a variant.
func missingRows(b gate.Baseline, variant string, s scenarios.Scenario) []int {
	return slices.DeleteFunc(slices.Clone(s.Clients), func(clients int) bool {
		return slices.ContainsFunc(b.Rows, func(r gate.BaselineRow) bool {
			return r.Variant == variant && r.Clients == clients
		})
	})
}

// The counts of every variant are checked by `make gate`, or this test names the missing step.
func TestBaselinesCoverEveryVariant(t *testing.T) {
	baselines := must.Get(gate.ReadBaselines("../../" + defaultBaselines))(t)
	for _, step := range uncovered(t, catalog.Recipes(), loaded(t), baselines) {
		t.Error(step)
	}
	// A variant that no baseline has, and a recipe that no scenario runs, are noticed.
	more := catalog.Recipes()[0]
	another := more.Variants[0]
	another.Name = "another"
	more.Variants = []variants.Variant{another}
	alone := more
	alone.Name = "alone"
	if steps := uncovered(t, []variants.Recipe{more, alone}, loaded(t), baselines); len(steps) < 2 {
		t.Errorf("a new variant and a new recipe: %q", steps)
	}
}
