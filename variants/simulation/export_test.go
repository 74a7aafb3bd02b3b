package simulation

import (
	"testing"

	"github.com/zkbench/zkbench/variants"
)

// PlayDealt is Play with events that are dealt to several workers.
func PlayDealt(t *testing.T, recipe func() variants.Recipe, plan Plan, deal func([]variants.Placed) [][]variants.Placed) Outcome {
	t.Helper()
	r := &run{plan: plan, deal: deal}
	r.play(t, recipe)
	return r.out
}
