package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants/catalog"
)

// However long a load is, its rehearsal is short, and so is that of a recipe in which all must do the same number of steps.
func TestRehearsalsAreShort(t *testing.T) {
	t.Parallel()
	for name, load := range map[string]func(*scenarios.Scenario){
		"a duration": func(s *scenarios.Scenario) { s.Duration = 24 * time.Hour },
		"operations": func(s *scenarios.Scenario) { s.Operations = 1_000_000_000 },
		"operations of a barrier": func(s *scenarios.Scenario) {
			s.Recipe, s.Variants, s.Operations = "doublebarrier", []string{"counted"}, 1_000_000_000
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scenarios.Default()
			s.Name, s.Recipe, s.Variants, s.Clients, s.Repeats = "long", "lock", []string{"predecessor-watch"}, []int{3}, 1
			s.WarmUp = 24 * time.Hour
			load(&s)
			bubble(t, func(t *testing.T, e *embedded.Ensemble) { rehearseOnly(t, e, s) })
		})
	}
}

// rehearseOnly runs a scenario until its first measurement, which must come within a few seconds.
func rehearseOnly(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var took time.Duration
	begun := time.Now()
	r := runner.Runner{
		Ensemble: e,
		Recipes:  catalog.Recipes(),
		Run:      "long",
		Save:     func(*results.Document) error { return nil },
		Progress: func(_, _ int, next string) {
			if strings.HasSuffix(next, "repeat 1") {
				took = time.Since(begun)
				cancel()
			}
		},
	}
	if err := r.RunScenario(ctx, s); took == 0 || took > 3*time.Second || !errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v, and came to its first measurement after %s", err, took)
	}
}
