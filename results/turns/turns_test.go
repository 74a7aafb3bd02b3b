package turns_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/turns"
)

// doc is a sound measurement with a value for each metric.
func doc(t *testing.T, value float64) *results.Document {
	t.Helper()
	h := results.NewHistogram(slices.Repeat([]time.Duration{time.Millisecond}, 10_000))
	d := &results.Document{Phases: []string{"wait"}, Environment: results.Environment{Engine: "container"},
		Histograms: map[string]results.Histogram{"wait": h}, Metrics: map[string]results.Metric{}}
	measured := []string{metric.OpsPerSecond, "wait-p50-ns", "wait-p99-ns", metric.RecoveryP50, metric.RequestsPerOp, metric.Finished}
	for _, name := range measured {
		d.Metrics[name] = results.Metric{Value: value}
	}
	return d
}

// A ratio above 1 is worse, whichever values are better.
func TestLogRatios(t *testing.T) {
	pairs := turns.Pairs{{doc(t, 2), doc(t, 3)}, {doc(t, 3), doc(t, 2)}}
	for metric, want := range map[string]float64{"wait-p50-ns": 1.5, metric.OpsPerSecond: 1 / 1.5, "wait-p99.9-ns": 1} {
		ratios, doubt := pairs.LogRatios(metric, 0)
		if doubt != nil || len(ratios) != 2 || math.Abs(math.Exp(ratios[0])-want) > 1e-9 || math.Abs(ratios[0]+ratios[1]) > 1e-9 {
			t.Errorf("%s: %v, %+v; want the logarithm of %g and its opposite", metric, ratios, doubt, want)
		}
	}
}

// One measurement of one pair that cannot decide a metric is enough, on either side.
func TestDoubts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		spoil  func(d *results.Document)
		metric string
		want   string
	}{
		{"nothing", func(*results.Document) {}, "wait-p99-ns", ""},
		{"interrupted", func(d *results.Document) { d.Partial = true }, "wait-p50-ns", "interrupted"},
		{"ended by a breach", func(d *results.Document) { d.Unfinished = &results.Unfinished{Breach: "stuck"} }, "wait-p50-ns", "breach"},
		{"unfinished", func(d *results.Document) { d.Unfinished = &results.Unfinished{} }, "wait-p50-ns", "took too long"},
		{"how far an unfinished load came", func(d *results.Document) { d.Unfinished = &results.Unfinished{} }, metric.Finished, ""},
		{"beyond the capacity", func(d *results.Document) { d.Open = &results.Open{GivenUp: 1} }, "wait-p50-ns", "beyond the capacity"},
		{"out of CPU", func(d *results.Document) { d.Health.Throttled = 1 }, "wait-p50-ns", "out of CPU"},
		{"out of CPU, of a count", func(d *results.Document) { d.Health.Throttled = 1 }, metric.RequestsPerOp, "out of CPU"},
		{"a busy machine, to both alike", func(d *results.Document) { d.Health.MachineCPU = 1 }, "wait-p50-ns", ""},
		{"few samples", few(999), "wait-p99-ns", "each run needs 1000"},
		{"few samples for another percentile", few(999), "wait-p50-ns", ""},
		{"a value that was too long", func(d *results.Document) {
			d.Histograms["wait"] = results.Histogram{Samples: 5000, Dropped: 1}
		}, "wait-p50-ns", "too long"},
		{"clients that starve", func(d *results.Document) {
			d.Window.UnfinishedWaits, d.Window.StarvingWaits = 50, 49
		}, "wait-p99-ns", "clients starve"},
		{"a lower bound", func(d *results.Document) { d.Failure = &results.Failure{Unrecovered: 1} }, metric.RecoveryP50, "lower bound"},
		{"zero", func(d *results.Document) { d.Metrics["wait-p50-ns"] = results.Metric{} }, "wait-p50-ns", "0 has no ratio"},
		{"not measured", func(d *results.Document) { delete(d.Metrics, "wait-p50-ns") }, "wait-p50-ns", "was not measured"},
	} {
		for side := range 2 {
			pairs := turns.Pairs{{doc(t, 1), doc(t, 1)}, {doc(t, 1), doc(t, 1)}}
			tt.spoil(pairs[1][side])
			ratios, doubt := pairs.LogRatios(tt.metric, 0)
			switch {
			case tt.want == "" && (doubt != nil || len(ratios) != 2):
				t.Errorf("%s: %+v", tt.name, doubt)
			case tt.want == "":
			case doubt == nil || doubt.Pair != 1 || !strings.Contains(doubt.Why, tt.want) || len(ratios) > 0:
				t.Errorf("%s: %v, %+v; want %q of pair 1", tt.name, ratios, doubt, tt.want)
			case doubt.Side != side:
				t.Errorf("%s: side %d, want %d", tt.name, doubt.Side, side)
			}
		}
	}
	if _, doubt := (turns.Pairs{{nil, doc(t, 1)}}).LogRatios("wait-p50-ns", 0); doubt == nil || doubt.Why != "there is no result" {
		t.Errorf("without a base: %+v", doubt)
	}
}

func few(samples int64) func(d *results.Document) {
	return func(d *results.Document) { d.Histograms["wait"] = results.Histogram{Samples: samples} }
}
