package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants/catalog"
)

// However long a load is, its rehearsal is short, and so is that of a recipe in which all must do the same number of steps.
func TestRehearsalsAreShort(t *testing.T) {
	t.Parallel()
	for name, load := range map[string]func(*scenarios.Scenario){
		"a duration": func(s *scenarios.Scenario) { s.Duration = scenarios.Duration(24 * time.Hour) },
		"operations": func(s *scenarios.Scenario) { s.Operations = 1_000_000_000 },
		"operations of a barrier": func(s *scenarios.Scenario) {
			s.Recipe, s.Variants, s.Operations = "doublebarrier", []string{"counted"}, 1_000_000_000
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scenarios.Default()
			s.Name, s.Recipe, s.Variants, s.Clients, s.Repeats = "long", "lock", []string{"predecessor-watch"}, []int{3}, 1
			s.WarmUp = scenarios.Duration(24 * time.Hour)
			load(&s)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // so that a rehearsal that goes on ends after all
			defer cancel()
			rehearsed := false
			r := runner.Runner{
				Ensemble: ensembletest.Embedded(t, embedded.Config{}),
				Recipes:  catalog.Recipes(),
				Run:      "long",
				Save:     func(*results.Document) error { return nil },
				Progress: func(_, _ int, next string) {
					if strings.HasSuffix(next, "repeat 1") {
						rehearsed = true
						cancel()
					}
				},
			}
			if err := r.RunScenario(ctx, s); !rehearsed || !errors.Is(err, context.Canceled) {
				t.Errorf("the run ended with %v, want it to come to its first measurement", err)
			}
		})
	}
}
