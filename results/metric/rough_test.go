package metric_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
)

// A percentile is rough if no sample need lie beyond it, or if zkbench itself has delayed what it times. Other metrics are not.
func TestRough(t *testing.T) {
	samples := func(n int) results.Histogram { return results.NewHistogram(make([]time.Duration, n)) }
	document := func(n int) *results.Document {
		return &results.Document{Phases: []string{"acquire"}, Histograms: map[string]results.Histogram{
			"acquire": samples(n), results.BystanderPhase: samples(n), results.ResponsePhase: samples(n),
		}}
	}
	for _, tt := range []struct {
		name    string
		metric  string
		samples int
		still   bool
		want    bool
	}{
		{"a p99 of 99", metric.Quantile("acquire", 99), 99, false, true},
		{"a p99 of 100", metric.Quantile("acquire", 99), 100, false, false},
		{"a p99 of bystanders of 40", metric.Quantile(results.BystanderPhase, 99), 40, false, true},
		{"a median of 2", metric.Quantile("acquire", 50), 2, false, false},
		{"a median of 1", metric.Quantile("acquire", 50), 1, false, true},
		{"a count", metric.RequestsPerOp, 1, true, false},
		{"bystanders while zkbench stood still", metric.Quantile(results.BystanderPhase, 50), 1000, true, true},
		{"responses while zkbench stood still", metric.Quantile(results.ResponsePhase, 99), 1000, true, true},
		{"a phase of clients while zkbench stood still", metric.Quantile("acquire", 99), 1000, true, false},
	} {
		d := document(tt.samples)
		if tt.still {
			d.Health.StoodStill = []results.Standstill{{Start: time.Second, Length: time.Second}}
		}
		if got := metric.Rough(d, tt.metric); got != tt.want {
			t.Errorf("%s: rough %t, want %t", tt.name, got, tt.want)
		}
	}
}
