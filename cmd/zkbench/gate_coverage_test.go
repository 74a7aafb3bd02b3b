package main

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// gated returns the scenarios that `make gate` runs: those in lockstep, but for the one that weighs heaps.
func gated(t *testing.T) []scenarios.Scenario {
	t.Helper()
	var out []scenarios.Scenario
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name, catalog.Recipes())
		if err != nil {
			t.Fatal(err)
		}
		if s.Mode == scenarios.Drain && name != "watch-memory" {
			out = append(out, s)
		}
	}
	return out
}

// missingFromGate returns the step to take for each variant with exact formulas that `make gate` does not hold to a baseline.
func missingFromGate(recipes []variants.Recipe, run []scenarios.Scenario, baselines map[string]gate.Baseline) []string {
	var steps []string
	for _, recipe := range recipes {
		for _, v := range recipe.Variants {
			if !v.CanStep() {
				continue
			}
			selected := ""
			for _, s := range run {
				if s.Recipe != recipe.Name || !slices.ContainsFunc(s.Selected(recipe), func(o variants.Variant) bool { return o.Name == v.Name }) {
					continue
				}
				selected = s.Name
				for _, clients := range s.Clients {
					if !slices.ContainsFunc(baselines[s.Name].Rows, func(r gate.BaselineRow) bool { return r.Variant == v.Name && r.Clients == clients && r.Exact }) {
						steps = append(steps, "results/baselines/"+s.Name+".json has no exact row of "+v.Name+": `zkbench run "+s.Name+" --ensemble embedded && zkbench baseline save`")
						break
					}
				}
			}
			if selected == "" {
				steps = append(steps, "no scenario of mode drain runs "+recipe.Name+"/"+v.Name+": name it in one of scenarios/*.yaml, or add one, and save its baseline")
			}
		}
	}
	return steps
}

// A new variant is held to its counts by `make gate`, or this says what is left to do.
func TestMakeGateCoversEveryVariant(t *testing.T) {
	baselines, err := gate.ReadBaselines("../../" + defaultBaselines)
	if err != nil {
		t.Fatal(err)
	}
	run := gated(t)
	for _, step := range missingFromGate(catalog.Recipes(), run, baselines) {
		t.Error(step)
	}
	// The same of a recipe with one variant more, and of one that no scenario is about, is noticed.
	more := catalog.Recipes()[0]
	another := more.Variants[0]
	another.Name = "another"
	more.Variants = []variants.Variant{another}
	alone := more
	alone.Name = "alone"
	if steps := missingFromGate([]variants.Recipe{more, alone}, run, baselines); len(steps) < 2 {
		t.Errorf("a new variant and a new recipe: %q", steps)
	}
}
