package gate

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
)

// planted returns a document as a drain leaves it, in which each operation takes so many notifications.
func planted(notifications float64) *results.Document {
	d := &results.Document{
		Schema: results.Schema, Run: "self-test", Recipe: "planted", Variant: "planted", Clients: 50, Repeat: 1,
		Scenario: results.Scenario{Name: "self-test", Mode: "drain", Size: 1, ClientCounts: "[50]", Repeats: 1},
		Phases:   []string{"wait"},
		Window:   results.Window{End: time.Second, Operations: 50, Paced: true},
		Metrics:  map[string]results.Metric{},
	}
	d.Metrics[results.NotificationsPerOp] = results.Metric{Value: notifications, Unit: "per op"}
	for _, name := range slices.Concat(due(d), results.CountMetrics()) {
		if _, known := d.Metrics[name]; !known {
			d.Metrics[name] = results.Metric{}
		}
	}
	d.Expected = results.Expected{Exact: true, Equal: true, Costs: map[string]results.Cost{
		results.NotificationsPerOp: {Formula: "planted", Value: notifications},
	}}
	return d
}

// plantedPairs returns pairs of which the head takes slowdown times as long, give or take what a quiet machine does. If
// the screen flags that, there is a confirmation.
func plantedPairs(slowdown float64, r PairRules) Pairs {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a plant has to be the same each time
	stage := func(n int) [][2][]*results.Document {
		var pairs [][2][]*results.Document
		for range n {
			noise := func() float64 { return math.Exp(0.027 * random.NormFloat64()) }
			pairs = append(pairs, [2][]*results.Document{{timed(noise())}, {timed(slowdown * noise())}})
		}
		return pairs
	}
	p := Pairs{Screen: stage(r.Rule.ScreenPairs)}
	if variants, _ := p.Flagged(r); len(variants) > 0 {
		p.Confirm = stage(r.Rule.ConfirmPairs)
	}
	return p
}

// timed returns a document whose operations took so many milliseconds.
func timed(ms float64) *results.Document {
	d := planted(1)
	d.Scenario.Mode, d.Window.Paced = "closed", false
	d.Histograms = map[string]results.Histogram{"wait": {Samples: 5000}}
	for _, p := range []string{"-p50-ns", "-p90-ns", "-p99-ns", "-max-ns"} {
		d.Metrics["wait"+p] = results.Metric{Value: ms * 1e6, Unit: "ns"}
	}
	d.Metrics[results.OpsPerSecond] = results.Metric{Value: 1000 / ms, Unit: "1/s"}
	return d
}
