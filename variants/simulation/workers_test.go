package simulation_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/simulation"
)

// dealt plays a plan as if its clients were on up to eight workers whose clocks are wrong by up to ten seconds.
func dealt(t *testing.T, recipe func() variants.Recipe, plan simulation.Plan) simulation.Outcome {
	t.Helper()
	random := rand.New(rand.NewPCG(plan.Seed, 8)) //nolint:gosec // to be repeated
	return simulation.PlayDealt(t, recipe, plan, func(events []variants.Placed) [][]variants.Placed {
		return deal(clocksOf(random, 1+random.IntN(8), 10*time.Second), events)
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

// A span between the clocks of two workers is marked, and each other one has its true length.
func TestSpansAcrossWorkers(t *testing.T) {
	slow(t)
	for _, recipe := range catalog.Recipes() {
		t.Run(recipe.Name, func(t *testing.T) {
			within, across := map[string]int{}, map[string]int{}
			for _, v := range recipe.Variants {
				for seed := range uint64(3) {
					plan := simulation.NewPlan(recipe, v, seed)
					if slices.Contains(clocked, recipe.Name) {
						plan.Faults = nil
					}
					for _, s := range spansOf(t, recipe, plan, 10*time.Second) {
						if truth := s.truth.End - s.truth.Start; !s.Across && s.End-s.Start != truth {
							t.Fatalf("%s, seed %d: a span of the phase %s lasts %s, not %s", v.Name, seed, s.Phase, truth, s.End-s.Start)
						}
						if s.Across {
							across[s.Phase]++
						} else {
							within[s.Phase]++
						}
					}
				}
			}
			t.Logf("spans within a worker: %v; across workers: %v", within, across)
		})
	}
}

// skewedSpan is a span by the clocks of several workers, and by one clock.
type skewedSpan struct {
	variants.Span
	truth variants.Span
}

// spansOf plays a plan on workers whose clocks are wrong by up to skew. The events have the same order by both clocks.
func spansOf(t *testing.T, recipe variants.Recipe, plan simulation.Plan, skew time.Duration) (spans []skewedSpan) {
	t.Helper()
	random := rand.New(rand.NewPCG(plan.Seed, 8)) //nolint:gosec // to be repeated
	simulation.PlayDealt(t, catalog.Named(recipe.Name), plan, func(events []variants.Placed) [][]variants.Placed {
		clocks := clocksOf(random, 1+random.IntN(8), skew)
		dealt := deal(clocks, events)
		h := variants.HistoryOf(dealt...)
		found, _ := recipe.Replay(h, true)
		for i := range h {
			h[i].At -= clocks[h[i].Worker]
		}
		truths, _ := recipe.Replay(h, true)
		if len(found) != len(truths) {
			t.Fatalf("%s, seed %d: %d spans, and %d by one clock", plan.Variant, plan.Seed, len(found), len(truths))
		}
		for i := range found {
			spans = append(spans, skewedSpan{found[i], truths[i]})
		}
		return dealt
	})
	return spans
}

// The mean handoff of a history is the same on several workers whose clocks are wrong by a millisecond: each holder's error
// is added as a handoff begins, and subtracted as the one before it ends.
func TestMeanHandoffNeedsNoClock(t *testing.T) {
	slow(t)
	recipe := catalog.Named("lock")()
	i := slices.IndexFunc(recipe.Variants, func(v variants.Variant) bool { return v.Name == "predecessor-watch" })
	plan := simulation.NewPlan(recipe, recipe.Variants[i], 1)
	plan.Clients, plan.Steps, plan.Faults, plan.Lag, plan.Beside, plan.Hold = 16, 150, nil, nil, 0, simulation.Duration(time.Millisecond)
	plan.Latency = slices.Repeat([]simulation.Duration{simulation.Duration(time.Millisecond)}, plan.Clients)
	var sum, truth time.Duration
	handoffs, across := 0, 0
	for _, s := range spansOf(t, recipe, plan, time.Millisecond) {
		if s.Phase != exclusion.PhaseHandoff {
			continue
		}
		handoffs++
		sum, truth = sum+s.End-s.Start, truth+s.truth.End-s.truth.Start
		if s.Across {
			across++
		}
	}
	n := time.Duration(handoffs)
	t.Logf("%d handoffs, %d of them between workers: mean %s, by one clock %s", handoffs, across, sum/n, truth/n)
	if 3*across < handoffs || 1000*(sum-truth).Abs() > truth {
		t.Errorf("want many between workers, and means within 0.1%%")
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
