package runner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/background"
	"github.com/zkbench/zkbench/variants"
)

// Plan says what [Runner.RunScenario] does with a scenario, before it does it.
type Plan struct {
	Measurements, Rehearsals int
	// Least is the time of all loads that last for a time. Opening sessions, floors, faults, and loads of a number of operations add to it.
	Least   time.Duration
	Lines   []string // the load
	Metrics string   // those that its measurements can have
}

// PlanOf returns the plan of a scenario whose recipe is among recipes.
func PlanOf(s scenarios.Scenario, recipes []variants.Recipe) (p Plan) {
	recipe := *s.RecipeAmong(recipes)
	rehearsals, measured := rehearsal(s, recipe), plan(s, recipe)
	p.Rehearsals, p.Measurements = len(rehearsals), len(measured)
	for _, t := range slices.Concat(rehearsals, measured) {
		s := s
		if t.repeat == 0 {
			shorten(&s)
		} else if s.Background != nil {
			p.Least += background.AloneLength
		}
		p.Least += s.WarmUp + s.Duration
	}
	names := list.Map(s.Selected(recipe), func(v variants.Variant) string { return s.Recipe + "/" + v.Name })
	p.Lines = []string{
		s.Name + ": " + strings.Join(s.Settings(), ", "),
		fmt.Sprintf("%s; variants: %d, loads: %d, repeats: %d", p, len(names), len(s.Loads()), s.Repeats),
		"variants: " + strings.Join(names, ", "),
		"loads: " + strings.Join(s.Loads(), ", "),
	}
	p.Metrics = "metrics, if there are enough samples: " + strings.Join(s.Metrics(recipe), ", ")
	return p
}

// String returns the number of measurements and their least time.
func (p Plan) String() string {
	text := fmt.Sprintf("measurements: %d, rehearsals before them: %d", p.Measurements, p.Rehearsals)
	if p.Least == 0 {
		return text + "; the load is a number of operations, without an estimate of its time"
	}
	return fmt.Sprintf("%s, at least %s", text, p.Least)
}
