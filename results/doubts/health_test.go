package doubts_test

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
)

// Delays of latencies are reported, separately from a lack of CPU for zkbench itself.
func TestSaturatedAndDelayed(t *testing.T) {
	for _, tt := range []struct {
		name               string
		health             results.Health
		saturated, delayed int
	}{
		{"at ease", results.Health{ClientCPU: 0.5, MachineCPU: 0.9, SchedulerP99: ms, LatenessP99: ms}, 0, 0},
		{"unknown", results.Health{MachineCPU: -1}, 0, 0},
		{"out of CPU", results.Health{ClientCPU: 0.9}, 1, 1},
		{"throttled", results.Health{Throttled: 1}, 1, 1},
		{"a busy machine", results.Health{MachineCPU: 0.99}, 0, 1},
		{"late", results.Health{LatenessP99: 3 * ms, SchedulerP99: 3 * ms}, 0, 2},
	} {
		d := results.Document{Health: tt.health, Metrics: map[string]results.Metric{"bystander-p99-ns": {Value: float64(10 * ms)}}}
		if s, l := doubts.Saturated(&d), doubts.Delayed(&d); len(s) != tt.saturated || len(l) != tt.delayed {
			t.Errorf("%s: saturated %q, delayed %q", tt.name, s, l)
		}
	}
}

// The worker that disturbs a measurement is named, not those that are at ease.
func TestSaturatedWorker(t *testing.T) {
	d := results.Document{
		Health: results.Health{ClientCPU: 0.9, Throttled: 1},
		Workers: []results.Worker{
			{Host: "host0", Health: results.Health{ClientCPU: 0.3}},
			{Host: "host1", Health: results.Health{ClientCPU: 0.9}},
			{Host: "host2", Health: results.Health{Throttled: 1}},
		},
	}
	want := []string{"worker 2 on host1 used over 80% of the CPUs", "the control group of worker 3 on host2 was out of CPU"}
	if got := doubts.Saturated(&d); !slices.Equal(got, want) {
		t.Errorf("saturated %q, want %q", got, want)
	}
}
