package runner_test

import (
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// Every lockstep scenario ends in every repeat, with a promise that is kept and counts that are exact. A race between two clients, or
// between a client and the runner that takes it to be at rest, shows only in some of them.
func TestLockstepRepeats(t *testing.T) {
	t.Parallel()
	ofHundreds(t)
	const repeats = 5
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name, catalog.Recipes())
		if err != nil {
			t.Fatal(err)
		}
		if s.Mode != scenarios.Lockstep || s.HasDriver(*s.RecipeAmong(catalog.Recipes())) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.Quick()
			s.Clients, s.Repeats = []int{2}, repeats
			bubble(t, func(t *testing.T, e *embedded.Ensemble) { repeat(t, e, s) })
		})
	}
}

// repeat measures a lockstep scenario.
func repeat(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario) {
	t.Helper()
	for _, d := range mustMeasure(t, e, s, catalog.Recipes()) {
		if d.BreachExpected() && len(d.Violations) > 0 {
			continue
		}
		if len(d.Invalid)+len(d.Violations) > 0 || !d.Oracle.Agrees() || d.CountsExactly() && !doubts.EqualsFormulas(d) {
			t.Errorf("%s, repeat %d: invalid %q, violations %v, oracle %+v", d.Variant, d.Repeat, d.Invalid, d.Violations, d.Oracle)
		}
	}
}
