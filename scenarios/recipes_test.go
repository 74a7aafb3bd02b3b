package scenarios_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// holds counts how often the clients of a recipe held, and how often others could ask them to stop holding.
type holds struct{ all, askable atomic.Int64 }

func (h *holds) in(join variants.JoinFunc) variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		hold := env.Hold
		env.Hold = func(ctx context.Context, asked <-chan struct{}) error {
			h.all.Add(1)
			if asked != nil {
				h.askable.Add(1)
			}
			return hold(ctx, asked)
		}
		return join(ctx, env)
	}
}

// A fault can be aimed at a holder, and a client can be deaf, exactly in the recipes that declare it. Otherwise a variant would
// seem to survive a fault that did not happen.
func TestRecipesSayWhatCanFail(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	for _, recipe := range catalog.Recipes() {
		t.Run(recipe.Name, func(t *testing.T) {
			var h holds
			s := scenarios.Default()
			s.Name, s.Recipe, s.Clients, s.Operations, s.Repeats = "holds", recipe.Name, []int{3}, 2, 1
			for i := range recipe.Variants {
				recipe.Variants[i].Join = h.in(recipe.Variants[i].Join)
			}
			r := runner.Runner{Ensemble: server, Recipes: []variants.Recipe{recipe}, Run: "20260102T030405Z-ab12", Progress: func(int, int, string) {}, Save: func(*results.Document) error { return nil }}
			if err := r.RunScenario(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if held := h.all.Load() > 0; held == recipe.NeverHolds {
				t.Errorf("clients held %d times, but NeverHolds is %v", h.all.Load(), recipe.NeverHolds)
			}
			if asked := h.askable.Load() > 0; asked != recipe.Revocable {
				t.Errorf("clients that held could be asked %d times, but Revocable is %v", h.askable.Load(), recipe.Revocable)
			}
		})
	}
}
