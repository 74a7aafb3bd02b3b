package machine

import (
	"runtime/metrics"
	"testing"
	"time"
)

func TestHistogramQuantile(t *testing.T) {
	at := func(counts ...uint64) *metrics.Float64Histogram {
		return &metrics.Float64Histogram{Counts: counts, Buckets: []float64{0, 0.001, 0.01, 0.1}}
	}
	before := at(5, 0, 0)
	for _, tt := range []struct {
		after *metrics.Float64Histogram
		q     float64
		want  time.Duration
	}{
		{at(5, 0, 0), 0.99, 0}, // nothing happened in between
		{at(104, 1, 0), 0.99, time.Millisecond},
		{at(104, 1, 0), 1, 10 * time.Millisecond},
		{at(5, 0, 3), 0.5, 100 * time.Millisecond},
	} {
		if got := histogramQuantile(before, tt.after, tt.q); got != tt.want {
			t.Errorf("%v, quantile %g = %s, want %s", tt.after.Counts, tt.q, got, tt.want)
		}
	}
}
