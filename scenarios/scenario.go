// Package scenarios defines the load under which the variants of a recipe are compared: one YAML file for each question
// that a user asks. Those in questions/ are embedded in the binary. Package runner runs them.
//
// It takes one position: a scenario states everything that shapes the load. All its mistakes are reported before the run, with their lines.
package scenarios

import (
	"cmp"
	"math"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
)

// Scenario is one question and the load that answers it. Documents keep the embedded part.
type Scenario struct {
	results.Scenario
	Recipe  string
	Granted time.Duration // the session timeout, by the servers; 0 while unknown
}

// Default returns the values of fields that a file leaves out.
func Default() Scenario {
	return Scenario{Scenario: results.Scenario{Mode: Closed, Size: 1, Repeats: 3, Seed: 1, BystanderRate: 100}}
}

// FileFields returns every field that a file can set.
func (s *Scenario) FileFields() []strict.Field {
	fields := []strict.Field{{Name: "recipe", Wants: "the name of a recipe", Value: &s.Recipe, Required: true}}
	for _, f := range s.Fields() {
		field := strict.Field{Name: f.Name, Wants: f.Wants, Value: f.Value, Required: f.Name == "name"}
		switch into := f.Value.(type) {
		case *[]results.StageLoad:
			field.Value = strict.Nested{Read: block(into, readStages), Fields: stageFields(new(results.StageLoad)), IsList: true}
		case *[]faults.Fault:
			field.Value = strict.Nested{Read: block(into, faults.ReadList), Fields: faults.Fields(), IsList: true}
		case **results.BackgroundLoad:
			field.Value = strict.Nested{Read: block(into, readBackground), Fields: backgroundFields(new(results.BackgroundLoad))}
		}
		fields = append(fields, field)
	}
	return fields
}

func block[T any](into *T, read func(value *yaml.Node, name string) (T, strict.Mistakes)) func(*yaml.Node, string) strict.Mistakes {
	return func(value *yaml.Node, name string) (mistakes strict.Mistakes) {
		*into, mistakes = read(value, name)
		return mistakes
	}
}

// Claims returns the claims of a valid scenario.
func (s *Scenario) Claims() []claim.Claim {
	var claims []claim.Claim
	for _, text := range s.Expect {
		if c, err := claim.Parse(text); err == nil {
			claims = append(claims, c)
		}
	}
	return claims
}

// RecipeAmong returns the scenario's recipe; nil if it is not among recipes.
func (s *Scenario) RecipeAmong(recipes []variants.Recipe) *variants.Recipe {
	i := slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == s.Recipe })
	if i < 0 {
		return nil
	}
	return &recipes[i]
}

func (s *Scenario) defaultSize(recipes []variants.Recipe) int {
	return cmp.Or(s.RecipeAmong(recipes), new(variants.Recipe)).UsualSize()
}

// KnownBroken returns which promise a variant is known to break, by itself or under this load; empty if it is not known to break any.
func (s *Scenario) KnownBroken(v variants.Variant) string {
	if v.Broken == "" && s.ExpectsBreach(v) {
		return "its promise does not hold under this load"
	}
	return v.Broken
}

// ExpectsBreach reports whether a variant is expected to break its promise under this load.
func (s *Scenario) ExpectsBreach(v variants.Variant) bool { return slices.Contains(s.Broken, v.Name) }

// Selected returns the variants that the scenario compares, in the recipe's order. It leaves out variants that cannot run in
// its mode. Variants of libraries and known-broken ones run only if the scenario names them. Without a list of variants, a
// variant whose breach the scenario expects runs, too.
func (s *Scenario) Selected(recipe variants.Recipe) []variants.Variant {
	return list.Where(recipe.All(), func(v variants.Variant) bool {
		named := slices.Contains(s.Variants, v.Name) || slices.Contains(s.Variants, recipe.Name+"/"+v.Name)
		asked := named || len(s.Variants) == 0 && (s.ExpectsBreach(v) || v.Kind != variants.Library && v.Broken == "")
		// A variant without formulas, such as one that polls, never comes to rest.
		return asked && (s.Mode != Lockstep || v.HasLockstep())
	})
}

// SelectedAmong is Selected for the scenario's recipe; none if it is not among recipes.
func (s *Scenario) SelectedAmong(recipes []variants.Recipe) []variants.Variant {
	return s.Selected(*cmp.Or(s.RecipeAmong(recipes), new(variants.Recipe)))
}

// HasDriver reports whether a variant has its clients in a driver. The requests of all variants then pass through zkbench.
func (s *Scenario) HasDriver(recipe variants.Recipe) bool {
	return slices.ContainsFunc(s.Selected(recipe), func(v variants.Variant) bool { return v.Driver != nil })
}

// Measurements returns how many measurements one repeat consists of.
func (s *Scenario) Measurements(recipes []variants.Recipe) int {
	return len(s.Clients) * len(s.Rates()) * len(s.SelectedAmong(recipes))
}

// The limits of a quick run, which shows that everything works but measures nothing.
const (
	quickClients    = 5
	quickOperations = 10
	quickSize       = 10
	quickDuration   = 500 * time.Millisecond
	quickRate       = 50 // operations per second, or requests of a background
)

// Quick cuts a scenario down to a rehearsal: few clients, a small size, one repeat, a short load, and no claims, which are about the whole
// scenario. A scenario with faults keeps its whole load and its fewest clients, which the schedule needs.
func (s *Scenario) Quick() {
	most := quickClients
	if len(s.Faults) > 0 {
		most = max(most, slices.Min(s.Clients))
	} else {
		s.Duration, s.Operations = min(s.Duration, quickDuration), min(s.Operations, quickOperations)
		s.Hold, s.Think = min(s.Hold, quickDuration/5), min(s.Think, quickDuration/5)
	}
	s.Clients = list.AppendNew(nil, list.Map(s.Clients, func(n int) int { return min(n, most) })...)
	s.Repeats, s.Expect = 1, nil
	if s.Mode == Open {
		least := results.Rate(math.Floor(quickSize/s.Duration.Seconds()) + 1) // more than one step, which has at most so many operations
		s.Rate = []results.Rate{max(min(slices.Min(s.Rates()), quickRate), least)}
	}
	s.Stages = nil
	s.WarmUp, s.Size = 0, min(s.Size, quickSize)
	if b := s.Background; b != nil {
		quick := *b
		quick.Reads, quick.Writes, quick.Znodes = min(b.Reads, quickRate), min(b.Writes, quickRate), min(b.Znodes, quickSize)
		s.Background = &quick
	}
}
