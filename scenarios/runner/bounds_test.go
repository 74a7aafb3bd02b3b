package runner_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// No load of whole operations costs more than the variants' bounds, the first operations included: requests that are caused by
// joining are over when counting begins.
func TestFirstOperationsKeepTheBounds(t *testing.T) {
	t.Parallel()
	for _, recipe := range catalog.Recipes() {
		t.Run(recipe.Name, func(t *testing.T) {
			ensembletest.Sample(t)
			t.Parallel()
			s := closedOf(recipe.Name, 0)
			s.Clients, s.Operations, s.Size = []int{2, 7}, 2, recipe.UsualSize()
			s.Hold = time.Millisecond // leaves time to act on notifications one by one
			for _, d := range measureInBubble(t, s, catalog.Recipes()) {
				if most := int64(s.Operations * d.Clients * d.Batch); d.Window.Operations > most {
					t.Errorf("%s, %d clients: %d operations in steps of %d, want at most %d", d.Variant, d.Clients, d.Window.Operations, d.Batch, most)
				}
				for _, v := range doubts.Deviations(d) {
					t.Errorf("%s, %d clients: %s", d.Variant, d.Clients, v)
				}
			}
		})
	}
}

// All formulas hold for every size, whether or not they contain S.
func TestCostsEqualFormulasAtAnotherSize(t *testing.T) {
	t.Parallel()
	const size = 3
	for _, recipe := range catalog.Recipes() {
		if recipe.Size == "" || recipe.Threaded { // such a recipe has a size of one in lockstep
			continue
		}
		t.Run(recipe.Name, func(t *testing.T) {
			ensembletest.Sample(t)
			t.Parallel()
			s := lockstepOf(1, 2, 7)
			s.Recipe, s.Size = recipe.Name, size
			docs := measureInBubble(t, s, catalog.Recipes())
			checkCosts(t, docs)
			for _, d := range docs {
				if want := int64(size * d.Clients); recipe.SizeIsBatch && (d.Window.Operations != want || d.Batch != size) {
					t.Errorf("%s, %d clients: %d operations in steps of %d, want %d in steps of %d",
						d.Variant, d.Clients, d.Window.Operations, d.Batch, want, size)
				}
			}
		})
	}
}

// In lockstep, half of all takes from a stale list pass over an urgent item, for any number of clients. No take of the other
// variants does.
func TestInversionsInLockstep(t *testing.T) {
	t.Parallel()
	s := lockstepOf(1, 2, 3, 10)
	s.Recipe = "priorityqueue"
	for _, d := range measureInBubble(t, s, catalog.Recipes()) {
		want := map[string]float64{"stale-list": 0.5}[d.Variant]
		if got, told := d.Metrics["inversion/take"]; !told || got.Value != want {
			t.Errorf("%s, %d clients: %g inversions per take (%v), want %g", d.Variant, d.Clients, got.Value, told, want)
		}
	}
}

// Every lockstep scenario ends in every repeat, keeps its promise and has exact counts. A race between two clients, or between a
// client and the runner that takes it to be at rest, shows only in some repeats.
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

func repeat(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario) {
	t.Helper()
	for _, d := range mustMeasure(t, e, s, catalog.Recipes()) {
		if d.BreachExpected() && len(d.Violations) > 0 {
			continue
		}
		checkSound(t, d)
		if d.CountsExactly() && !doubts.EqualsFormulas(d) {
			t.Errorf("%s, repeat %d: the counts differ from the formulas", d.Variant, d.Repeat)
		}
	}
}

// Races of many clients for one znode come close to the bounds of the variants in which all clients race: a variant that costs twice
// as much exceeds them. The master-znode of elections has the costs of the lock znode. One order of the clients is tried.
func TestRacesComeCloseToTheBounds(t *testing.T) {
	ensembletest.Sample(t)
	t.Parallel()
	for recipe, variant := range map[string]string{"lock": "znode", "election": "master-znode"} {
		s := scenarios.Default()
		s.Name, s.Recipe, s.Variants, s.Clients, s.Operations, s.Repeats = "races", recipe, []string{variant}, []int{1, 2, 3, 10, 30}, 20, 1
		s.Hold = 50 * time.Millisecond // so that all others wait
		bubble(t, func(t *testing.T, e *embedded.Ensemble) {
			for _, d := range mustMeasure(t, e, s, catalog.Recipes()) {
				if len(d.Expected.Costs) != 5 {
					t.Errorf("%s: bounds of %d costs, want 5", variant, len(d.Expected.Costs))
				}
				for name, bound := range d.Expected.Costs {
					if got := d.Metrics[name].Value; got > bound.Value || bound.Value > 0 && 2*got <= bound.Value {
						t.Errorf("%s, %d clients: %s is %g, and its bound %g", variant, d.Clients, name, got, bound.Value)
					}
				}
			}
		})
	}
}
