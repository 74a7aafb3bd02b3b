package simulation_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/simulation"
)

// dealt plays a plan as if its clients were on up to eight workers whose clocks are wrong by up to ten seconds.
func dealt(t *testing.T, recipe func() variants.Recipe, plan simulation.Plan) simulation.Outcome {
	t.Helper()
	random := rand.New(rand.NewPCG(plan.Seed, 8)) //nolint:gosec // to be repeated
	return simulation.PlayDealt(t, recipe, plan, func(events []variants.Placed) [][]variants.Placed {
		return deal(random, events, 1+random.IntN(8), 10*time.Second)
	})
}

// clocked are the recipes that are partly checked by the clock when clients fail or are slow: when a lock may be taken
// by force, and when the claims of a failed client are free again.
var clocked = []string{"revocable", "revocablerw", "queue", "priorityqueue"}

// The clocks of several workers make no breach.
func TestWorkersMakeNoBreach(t *testing.T) {
	slow(t)
	for _, recipe := range catalog.Recipes() {
		t.Run(recipe.Name, func(t *testing.T) {
			for _, v := range recipe.Variants {
				for seed := range uint64(4) {
					plan := simulation.NewPlan(recipe, v, seed)
					if slices.Contains(clocked, recipe.Name) {
						plan.Faults = nil
					}
					if out := dealt(t, catalog.Named(recipe.Name), plan); out.Fails() {
						t.Errorf("%s, seed %d: %v", v.Name, seed, out.Findings)
					}
				}
			}
		})
	}
}

// A mistake that is found on one clock is found on the clocks of several workers, except where it depends on when a
// client died, or lost its session or a reply: no zxid shows that of a client that is alone on its worker.
func TestWorkersHideNoMistake(t *testing.T) {
	slow(t)
	found, missed := 0, 0
	for _, m := range mistakes() {
		recipe := m.alone()
		r := recipe()
		for seed := range uint64(6) {
			plan := simulation.NewPlan(r, r.Variants[0], seed)
			if !simulation.Play(t, recipe, plan).Fails() {
				continue
			}
			if found++; !dealt(t, recipe, plan).Fails() {
				t.Logf("%s, seed %d: not found on several workers", m.name, seed)
				missed++
			}
		}
	}
	if t.Logf("%d of %d were not found", missed, found); found == 0 || 20*missed > found {
		t.Error("want at most one in twenty")
	}
}
