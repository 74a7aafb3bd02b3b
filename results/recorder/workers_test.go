package recorder_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

// measuredAcross returns a document of two workers: of handoffs that alternate between them, and whose times contain the difference
// of their clocks, and of as many within one.
func measuredAcross(t *testing.T, bound, off time.Duration) *results.Document {
	t.Helper()
	d := recordertest.Described()
	d.Scenario.Mode, d.UntimedPhases, d.Scenario.Duration = results.ClosedMode, nil, time.Second
	d.Workers = []results.Worker{{Host: "a", ClockBound: bound}, {Host: "b", ClockBound: bound / 2}}
	r := recorder.New(recorder.Config{Workers: 2, Operation: "release"})
	r.OpenWindow(0)
	for i := range 200 {
		end := time.Duration(i+1) * 10 * time.Millisecond
		r.SpanAcross("handoff", i%2, end-2*time.Millisecond+off, end)
		r.Span("handoff", i%2, end-4*time.Millisecond, end)
		r.Span("release", i%2, end-time.Millisecond, end)
		off = -off
	}
	r.CloseWindow(3 * time.Second)
	r.Close(d, recorder.Unserved{})
	return d
}

func TestSpansAcrossWorkers(t *testing.T) {
	for _, tt := range []struct {
		bound, off time.Duration
		p50        bool
		warning    string
	}{
		{50 * time.Microsecond, 50 * time.Microsecond, true, ""},
		{200 * time.Microsecond, 200 * time.Microsecond, true, "may differ by up to 300 µs: handoff p50 ±"},
		{4 * time.Millisecond, 3 * time.Millisecond, false, "which are left out: handoff p50"},
	} {
		d := measuredAcross(t, tt.bound, tt.off)
		a := d.Across["handoff"]
		if _, also := d.Across["release"]; also || a.Spans != 200 || a.Sum != 1200*time.Millisecond || a.Within.Samples != 200 {
			t.Errorf("off by %s: across workers %+v", tt.off, d.Across)
		}
		if mean := d.Metrics["handoff-mean-ns"]; mean.Value != 3e6 || mean.Unit != "ns" {
			t.Errorf("off by %s: the mean is %v, want 3 ms", tt.off, mean)
		}
		within, release := d.Metrics[metric.Quantile("handoff-within", 50)].Value, d.Metrics[metric.Quantile("release", 99)].Value
		if int(within/1e5) != 40 || int(release/1e5) != 10 {
			t.Errorf("off by %s: within workers, half took %g, and a release %g", tt.off, within, release)
		}
		if _, there := d.Metrics[metric.Quantile("handoff", 50)]; there != tt.p50 {
			t.Errorf("bound %s: a median: %t, want %t", tt.bound, there, tt.p50)
		}
		found := slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, cmp.Or(tt.warning, "clocks")) })
		if found != (tt.warning != "") {
			t.Errorf("bound %s: warnings %q, want %q", tt.bound, d.Warnings, tt.warning)
		}
	}
}

// Without workers, a document has no part for them.
func TestDocumentsWithoutWorkers(t *testing.T) {
	d := recordertest.Whole()
	recordertest.Sound(t, d)
	if len(d.Across) > 0 || d.Workers != nil {
		t.Errorf("across %v, workers %v", d.Across, d.Workers)
	}
	for name := range d.Metrics {
		if strings.HasSuffix(name, "-mean-ns") || strings.Contains(name, "-within") {
			t.Errorf("metric %s", name)
		}
	}
}

func BenchmarkSpanOfWorkers(b *testing.B) {
	for _, workers := range []int{0, 2} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			r := recorder.New(recorder.Config{Workers: workers, Phase: "acquire", Operation: "release", Waiting: []string{"acquire"}})
			r.OpenWindow(0)
			b.ReportAllocs()
			var at time.Duration
			for b.Loop() {
				at += 10 * time.Microsecond
				r.Span("acquire", 1, at-time.Millisecond, at)
			}
		})
	}
}
