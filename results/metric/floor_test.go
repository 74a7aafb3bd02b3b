package metric_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

const ms = time.Millisecond

// half is one half of a floor, each operation of which took the same time whenever it was done.
func half(t *testing.T, read, write, handoff time.Duration, rounds int) map[string]results.Histogram {
	t.Helper()
	out := map[string]results.Histogram{}
	for operation, took := range map[string]time.Duration{results.FloorRead: read, results.FloorWrite: write, results.FloorHandoff: handoff} {
		out[operation] = results.NewHistogram(slices.Repeat([]time.Duration{took}, rounds))
	}
	return out
}

func TestFloorMetrics(t *testing.T) {
	quiet := half(t, 200*time.Microsecond, ms, 2*ms, 100)
	slow := half(t, 200*time.Microsecond, 3*ms, 6*ms, 10)
	phases := map[string]string{"handoff": results.FloorHandoff, "release": results.FloorWrite, "open": results.FloorWrite}
	for _, tt := range []struct {
		name  string
		floor *results.Floor
		want  map[string]float64 // of the metrics that have to do with the floor, to three digits
	}{
		{"none", nil, nil},
		{"a reason", &results.Floor{Why: "no answer", Phases: phases}, nil},
		{"half of it", &results.Floor{Why: "no answer", Before: quiet, Phases: phases}, nil},
		{"both halves alike", &results.Floor{Before: quiet, After: quiet, Phases: phases}, map[string]float64{
			"floor-read-p50-ns": 0.2e6, "floor-write-p50-ns": 1e6, "floor-handoff-p50-ns": 2e6,
			"handoff-p50/floor": 3, "release-p50/floor": 4, // open was not measured
		}},
		// Ten slow rounds count as much as a hundred quick ones.
		{"a machine that moved", &results.Floor{Before: quiet, After: slow, Phases: phases}, map[string]float64{
			"floor-read-p50-ns": 0.2e6, "floor-write-p50-ns": 2e6, "floor-handoff-p50-ns": 4e6,
			"handoff-p50/floor": 1.5, "release-p50/floor": 2,
		}},
		{"no phase with a floor", &results.Floor{Before: quiet, After: quiet}, map[string]float64{
			"floor-read-p50-ns": 0.2e6, "floor-write-p50-ns": 1e6, "floor-handoff-p50-ns": 2e6,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &results.Document{Floor: tt.floor}
			recordertest.Measurement{Window: recordertest.Stretch{End: 100 * ms}, Spans: []recordertest.Span{
				{Phase: "handoff", Start: 10 * ms, End: 16 * ms}, {Phase: "release", Start: 10 * ms, End: 14 * ms},
			}}.Complete(d)
			got := map[string]float64{}
			for name, m := range d.Metrics {
				if is := metric.Named(name); is.Ensemble || is.OfFloor() {
					got[name] = m.Value
				}
			}
			if len(got) != len(tt.want) {
				t.Errorf("metrics %v, want %v", got, tt.want)
			}
			for name, want := range tt.want {
				if diff := got[name]/want - 1; diff < -0.002 || diff > 0.002 {
					t.Errorf("%s = %g, want %g", name, got[name], want)
				}
			}
		})
	}
}

func TestFloorMoved(t *testing.T) {
	quiet := half(t, ms, ms, 2*ms, 10)
	for _, tt := range []struct {
		name  string
		after map[string]results.Histogram
		want  string // in the text; empty for none
	}{
		{"not measured", nil, ""},
		{"alike", quiet, ""},
		{"less than twice", half(t, ms, 1900*time.Microsecond, 3900*time.Microsecond, 10), ""},
		{"reads alone", half(t, 9*ms, ms, 2*ms, 10), ""},
		{"handoffs slower", half(t, ms, ms, 5*ms, 10), "one handoff on the idle ensemble took 2.00 ms before the load and 5.00 ms after it"},
		{"handoffs faster", half(t, ms, ms, 900*time.Microsecond, 10), "one handoff"},
		{"writes slower", half(t, ms, 9*ms, 2*ms, 10), "one write on the idle ensemble took 1.00 ms before the load and 9.00 ms after it"},
	} {
		f := results.Floor{Before: quiet, After: tt.after}
		if got := doubts.Moved(&f); (got != "") != (tt.want != "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
