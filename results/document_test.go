package results_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// What delays times is told, and whether it is zkbench itself that was short of CPU.
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
		if s, l := d.Saturated(), d.Delayed(); len(s) != tt.saturated || len(l) != tt.delayed {
			t.Errorf("%s: saturated %q, delayed %q", tt.name, s, l)
		}
	}
}

// The documents of two runs under different conditions are two groups, however their repeats are ordered.
func TestGroupRepeatsKeepsConditionsApart(t *testing.T) {
	var docs []*results.Document
	for repeat := 1; repeat <= 3; repeat++ {
		for _, kernel := range []string{"6.1", "6.12"} {
			d := &results.Document{Scenario: results.Scenario{Name: "s"}, Recipe: "lock", Variant: "znode", Clients: 10, Repeat: repeat}
			d.Environment.Kernel = kernel
			docs = append(docs, d)
		}
	}
	groups := results.GroupRepeats(docs)
	if len(groups) != 2 || len(groups[0]) != 3 || len(groups[1]) != 3 {
		t.Errorf("%d groups, want 2 of 3 repeats each", len(groups))
	}
}

func TestGroupKeyOrder(t *testing.T) {
	ordered := []results.GroupKey{
		{Scenario: "a", Size: 2, Clients: 20, Kind: "optimized", Variant: "z"},
		{Scenario: "b", Size: 1, Clients: 20, Kind: "optimized", Variant: "z"},
		{Scenario: "b", Size: 2, Clients: 10, Kind: "optimized", Variant: "a"},
		{Scenario: "b", Size: 2, Clients: 20, Kind: "naive", Variant: "z"},
		{Scenario: "b", Size: 2, Clients: 20, Kind: "optimized", Variant: "a"},
		{Scenario: "b", Size: 2, Clients: 20, Kind: "optimized", Variant: "b"},
	}
	for i := 1; i < len(ordered); i++ {
		if ordered[i-1].Compare(ordered[i]) >= 0 || ordered[i].Compare(ordered[i-1]) <= 0 {
			t.Errorf("%v does not stand before %v", ordered[i-1], ordered[i])
		}
	}
}

// Rows of two engines alternate in the order of tables, and stand in two tables all the same.
func TestOneTableForEachEngine(t *testing.T) {
	var rows []results.Row
	for _, clients := range []int{1, 10} {
		for _, engine := range []string{"container", "process"} {
			rows = append(rows, results.Row{Scenario: "s", Recipe: "lock", Variant: "znode", Clients: clients, Engine: engine, Repeats: 1})
		}
	}
	var out strings.Builder
	if err := (results.Summary{Rows: rows}).WriteTable(&out, 80); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "s on "); n != 2 {
		t.Errorf("%d tables, want 2:\n%s", n, out.String())
	}
}

// Every metric of a document is one that a recipe with its phases can have.
func TestMetricNames(t *testing.T) {
	d := whole(t)
	names := results.MetricNames(d.Phases, []results.Share{{Phase: "stale", Of: "read"}}, nil)
	for name := range d.Metrics {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing in %q", name, names)
		}
	}
	for _, want := range []string{"ops/s", "stale/read", "acquire-p99-ns", "bystander-service-max-ns", "heap-bytes/watch", "acquire-p50/floor", "floor-write-p50-ns"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
}
