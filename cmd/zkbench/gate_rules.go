package main

import (
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// read reads rules and baselines, and returns the mistakes in all of them.
func (f gateFlags) read(now time.Time) (gate.Rules, error) {
	rules := gate.Rules{Paired: gate.DefaultPairRules(now), Required: f.require, VariantsOf: variantsOf, Names: gateNames()}
	var errs []error
	if f.rules != "" {
		text, err := os.ReadFile(f.rules)
		if err == nil {
			rules.Assertions, err = gate.ParseRules(f.rules, text, rules.Names)
		}
		errs = append(errs, err)
	}
	if f.baseline != "" {
		var err error
		rules.Baselines, err = gate.ReadBaselines(f.baseline)
		errs = append(errs, err)
	}
	for flag, path := range f.outputs() {
		errs = append(errs, checkFile(flag, path))
	}
	return rules, errors.Join(errs...)
}

// gateNames returns the names that rules may use: those of the embedded scenarios, and for any other scenario the
// variants and metrics of all recipes.
func gateNames() gate.Names {
	names := gate.Names{Scenarios: map[string]gate.Subject{}}
	ofRecipe := map[string]gate.Subject{}
	for _, recipe := range catalog.Recipes() {
		s := gate.Subject{Metrics: append(scenarios.MetricNames(recipe), metric.Capacity)}
		for _, v := range recipe.All() {
			s.Variants = append(s.Variants, v.Name)
		}
		ofRecipe[recipe.Name] = s
		names.Any.Variants = append(names.Any.Variants, s.Variants...)
		names.Any.Metrics = append(names.Any.Metrics, s.Metrics...)
	}
	for _, name := range scenarios.Names() {
		if s, err := scenarios.Load(name, catalog.Recipes()); err == nil {
			names.Scenarios[name] = ofRecipe[s.Recipe]
		}
	}
	return names
}

// expectations returns the claims of the scenarios that ran unchanged, and notes about those whose claims do not apply.
func expectations(docs []*results.Document) (claims []gate.Assertion, notes []string) {
	byScenario := map[string][]*results.Document{}
	for _, d := range docs {
		byScenario[d.Scenario.Name] = append(byScenario[d.Scenario.Name], d)
	}
	var foreign, partly, otherwise []string
	for _, name := range slices.Sorted(maps.Keys(byScenario)) {
		if !slices.Contains(scenarios.Names(), name) {
			foreign = append(foreign, name)
			continue
		}
		found, whole := expected(name, byScenario[name])
		claims = append(claims, found...)
		switch {
		case whole:
		case len(found) > 0:
			partly = append(partly, name)
		default:
			otherwise = append(otherwise, name)
		}
	}
	for _, n := range []struct {
		names []string
		text  string
	}{
		{foreign, "claims not checked, because these scenarios do not come with zkbench (put them into --rules): "},
		{partly, "claims checked for the scenario's own load only, because these scenarios also ran under another one: "},
		{otherwise, "claims not checked, because these scenarios ran under another load than their own: "},
	} {
		if len(n.names) > 0 {
			notes = append(notes, n.text+strings.Join(n.names, ", "))
		}
	}
	return claims, notes
}

// expected returns the claims of one scenario if a document is of its own load, and reports whether all documents are of that load.
func expected(name string, docs []*results.Document) (claims []gate.Assertion, whole bool) {
	s, err := scenarios.Load(name, catalog.Recipes())
	if err != nil {
		return nil, false
	}
	own := slices.DeleteFunc(slices.Clone(docs), func(d *results.Document) bool { return !isOwnLoad(s, d.Scenario) })
	if len(own) == 0 {
		return nil, false
	}
	for _, c := range s.Claims() {
		c.Clients = slices.Max(s.Clients)
		claims = append(claims, gate.Assertion{Claim: c, Source: gate.FromScenario, Scenario: name})
	}
	return claims, len(own) == len(docs)
}

// variantsOf returns the variants that a scenario without a list of variants runs.
func variantsOf(d *results.Document) []string {
	var names []string
	for _, recipe := range catalog.Recipes() {
		if recipe.Name == d.Recipe {
			s := scenarios.Scenario{Scenario: results.Scenario{Mode: d.Scenario.Mode}}
			for _, v := range s.Selected(recipe) {
				names = append(names, v.Name)
			}
		}
	}
	return names
}

// isOwnLoad reports whether a document was measured under the scenario's own load, whatever was asked for beside it.
func isOwnLoad(s scenarios.Scenario, ran results.Scenario) bool {
	load := func(r results.Scenario) results.Scenario {
		r.Question, r.Overview, r.Repeats, r.Seed, r.BystanderRate, r.Heap = "", "", 0, 0, 0, false
		return r
	}
	own := s.Scenario
	if own.Background != nil && own.Background.Sessions == 0 && ran.Background != nil {
		background := *own.Background
		background.Sessions = ran.Background.Sessions // one for each server
		own.Background = &background
	}
	return reflect.DeepEqual(load(own), load(ran))
}
