package results_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// The name of a metric decides how it is shown, claimed, compared and drawn.
func TestMetricNamed(t *testing.T) {
	type m = results.Descriptor
	for _, tt := range []struct {
		want  m      // its kind, direction, part, phase, percentile and marks
		shown string // of 1.5e6
		axis  string
	}{
		{m{Name: "acquire-p99-ns", Kind: results.KindTime, Phase: "acquire", Percentile: 99}, "1.50 ms", "acquire, p99, ms"},
		{m{Name: "acquire-max-ns", Kind: results.KindTime, Extreme: true, Phase: "acquire", Percentile: 100}, "1.50 ms", "acquire, max, ms"},
		{m{Name: "response-p50-ns", Kind: results.KindTime, Part: results.OpenLoad, Phase: "response", Percentile: 50}, "1.50 ms", "response, p50, ms"},
		{m{Name: "floor-write-p50-ns", Kind: results.KindTime, Worse: results.NeitherIsWorse, Ensemble: true, Phase: "floor-write", Percentile: 50}, "1.50 ms", "floor write, p50, ms"},
		{m{Name: "handoff-p50/floor", Kind: results.KindMultiple, Phase: "handoff", Percentile: 50}, "1500000×", "handoff, p50, multiples of its floor"},
		{m{Name: "stale/read", Kind: results.KindShare}, "1.5e+08%", "stale, % of read"},
		{m{Name: "requests/op", Exact: true, Formula: true}, "1500000", "requests per operation"},
		{m{Name: "time/op"}, "1500000", "time/op"}, // of no family
		{m{Name: "ops/s", Kind: results.KindRate, Worse: results.LessIsWorse}, "1500000", "operations per second"},
		{m{Name: "finished", Kind: results.KindShare, Worse: results.LessIsWorse, Part: results.LimitedLoad}, "1.5e+08%", "finished, %"},
		{m{Name: "blocked-ns", Kind: results.KindTime, Extreme: true, Part: results.FaultyLoad, Loss: "blocked-ns"}, "1.50 ms", "blocked, ms"},
		{m{Name: "herd-spread-p99-ns", Kind: results.KindTime, Worse: results.NeitherIsWorse, Phase: "herd-spread", Percentile: 99}, "1.50 ms", "herd spread, p99, ms"},
		{
			m{Name: "background-read-p99-slowdown", Kind: results.KindMultiple, Part: results.BackgroundPart, Percentile: 99}, "1500000×",
			"background read p99 slowdown",
		},
		{
			m{Name: "background-alone-reads/s", Kind: results.KindRate, Worse: results.NeitherIsWorse, Part: results.BackgroundPart, Ensemble: true}, "1500000",
			"background alone reads per second",
		},
		{
			m{Name: "background-backlog-max", Kind: results.KindBacklog, Extreme: true, Part: results.BackgroundPart}, "1500000", "background backlog max",
		},
	} {
		t.Run(tt.want.Name, func(t *testing.T) {
			got := results.MetricNamed(tt.want.Name)
			facts := m{
				Name: got.Name, Kind: got.Kind, Worse: got.Worse, Part: got.Part, Exact: got.Exact, Formula: got.Formula, Extreme: got.Extreme, Ensemble: got.Ensemble,
				Loss: got.Loss, Phase: got.Phase, Percentile: got.Percentile,
			}
			if want := tt.want; !same(facts, want) {
				t.Errorf("%+v, want %+v", facts, want)
			}
			if shown := got.Format(1.5e6); shown != tt.shown {
				t.Errorf("shown as %s, want %s", shown, tt.shown)
			}
			if label, _ := got.Axis(); label != tt.axis {
				t.Errorf("drawn as %q, want %q", label, tt.axis)
			}
		})
	}
}

// same compares descriptors, which have functions and therefore cannot be compared with ==.
func same(a, b results.Descriptor) bool {
	return a.Name == b.Name && a.Kind == b.Kind && a.Worse == b.Worse && a.Part == b.Part && a.Exact == b.Exact && a.Formula == b.Formula &&
		a.Extreme == b.Extreme && a.Ensemble == b.Ensemble && a.Loss == b.Loss && a.Phase == b.Phase && a.Percentile == b.Percentile
}

// Each metric says what it is, and has its line in the documentation.
func TestMetricsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	phases, shares := []string{"acquire"}, []results.Share{{Phase: "stale", Of: "read"}}
	names := results.MetricNames(phases, shares, []string{results.ItemsLost, results.ItemsDoubled, results.OutOfStep, results.Orphans, results.Blocked, results.TornReads, "fenced"})
	for _, name := range names {
		m := results.MetricNamed(name)
		if m.Name != name || m.Help == "" || !strings.HasSuffix(m.Help, ".") || m.Unit == "" || m.Title == "" {
			t.Errorf("%s is described by %+v", name, m)
		}
		family := m.Part == results.BackgroundPart || m.Phase != "" || m.Kind == results.KindShare
		if !family && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/metrics.md does not say what %s is", name)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Error("a metric is listed twice")
	}
}

// Names of times may lack their unit, and no other name gets one.
func TestWithUnit(t *testing.T) {
	for name, want := range map[string]string{
		"acquire-p99": "acquire-p99-ns", "acquire-max": "acquire-max-ns", "blocked": "blocked-ns", "acquire-p99-ns": "acquire-p99-ns",
		"herd-p99": "herd-p99", "backlog-max": "backlog-max", "violations": "violations", "requests/op": "requests/op", "handoff-p50/floor": "handoff-p50/floor",
	} {
		if got := results.WithUnit(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
