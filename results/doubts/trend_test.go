package doubts_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
)

// course makes the series of a window of a minute after a warm-up of 2 s: the mean latency and the memory at each share of the
// window, 0 to 1. Latencies of one bin are 20 log-normal ones around the mean. A disturbance of a bin also affects the next
// ones.
type course struct {
	latency   func(share float64) time.Duration
	memory    func(share float64) int64
	inherited float64 // share of the disturbance that is left in the next bin
}

func flat[T any](value T) func(float64) T { return func(float64) T { return value } }

// document returns a document that has nothing but this course.
func (c course) document(seed uint64) *results.Document {
	const bins, warmUp = 620, 20
	random := rand.New(rand.NewPCG(seed, 0))
	d := &results.Document{
		Phases: []string{"acquire", "release"}, Series: &results.Series{Start: time.Second, Bin: results.FirstBin},
		Window: results.Window{Start: 3*time.Second + 33*time.Millisecond, End: 63*time.Second + 40*time.Millisecond},
	}
	disturbance := 0.0
	for i := range bins + 10 {
		share := min(max(float64(i-warmUp)/(bins-warmUp), 0), 1)
		disturbance = c.inherited*disturbance + 0.3*random.NormFloat64()
		var total time.Duration
		for range 20 {
			total += time.Duration(float64(c.latency(share)) * math.Exp(disturbance+0.5*random.NormFloat64()))
		}
		s := d.Series
		s.Operations, s.Samples, s.Time = append(s.Operations, 20), append(s.Samples, 20), append(s.Time, total)
		s.Memory = append(s.Memory, int64(float64(c.memory(share))*(1+0.05*random.Float64())))
	}
	return d
}

func trends(d *results.Document) []string {
	return slices.DeleteFunc(doubts.Warnings(d), func(w string) bool { return !strings.Contains(w, "rises steadily") })
}

// warned returns the number of seeds, from 0 to seeds, for which there is a warning.
func (c course) warned(seeds uint64) int {
	var n int
	for seed := range seeds {
		if len(trends(c.document(seed))) > 0 {
			n++
		}
	}
	return n
}

const (
	quick = 2 * time.Millisecond
	small = 200 << 20
)

func rising[T int64 | time.Duration](from, to T) func(float64) T {
	return func(share float64) T { return from + T(share*float64(to-from)) }
}

// Noise alone is a trend in less than one of 200 windows, also if a disturbance lasts for several bins.
func TestNoiseIsNoTrend(t *testing.T) {
	const seeds, most = 2000, 10
	for _, inherited := range []float64{0, 0.5, 0.9} {
		n := course{flat(quick), flat[int64](small), inherited}.warned(seeds)
		t.Logf("with %g of each disturbance left in the next bin: %d of %d", inherited, n, seeds)
		if n > most {
			t.Errorf("with %g of each disturbance left in the next bin: %d of %d windows without a trend have a warning, want at most %d", inherited, n, seeds, most)
		}
	}
}

// A rise during the whole window is found beside the same noise.
func TestRiseIsFound(t *testing.T) {
	const seeds, least = 200, 195
	for _, tt := range []struct {
		name string
		course
		want string
	}{
		{"latency doubles", course{rising(quick, 2*quick), flat[int64](small), 0.5}, "latency rises steadily: acquire takes "},
		{"latency rises by a half", course{rising(quick, quick*3/2), flat[int64](small), 0}, "latency rises steadily: acquire takes "},
		{"memory doubles", course{flat(quick), rising[int64](small, 2*small), 0.5}, "the memory of zkbench rises steadily: "},
	} {
		if n := tt.warned(seeds); n < least {
			t.Errorf("%s: %d of %d have a warning, want at least %d", tt.name, n, seeds, least)
		}
		if got := trends(tt.document(1)); len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
			t.Errorf("%s: %q, want one that begins with %q", tt.name, got, tt.want)
		}
	}
}

// There is no warning about a rise that is not steady, is too small, or follows from the load.
func TestNoTrend(t *testing.T) {
	twice := course{rising(quick, 2*quick), rising[int64](small, 2*small), 0}
	if n := len(trends(twice.document(1))); n != 2 {
		t.Fatalf("%d warnings of a document with two trends", n)
	}
	for _, tt := range []struct {
		name string
		course
		change func(d *results.Document)
	}{
		{"falling", course{rising(2*quick, quick), rising[int64](2*small, small), 0}, nil},
		{"the first seconds", course{func(share float64) time.Duration {
			return quick + time.Duration(min(share*10, 1)*float64(quick))
		}, flat[int64](small), 0}, nil},
		{"less than a tenth", course{rising(quick, quick*106/100), flat[int64](small), 0}, nil},
		{"little memory", course{flat(quick), rising[int64](40<<20, 80<<20), 0}, nil},
		{"a small share of the memory", course{flat(quick), rising[int64](2000<<20, 2200<<20), 0}, nil},
		{"lockstep", twice, func(d *results.Document) { d.Scenario.Mode = results.LockstepMode }},
		{"faults", twice, func(d *results.Document) { d.Scenario.Faults = []results.FaultLoad{{Kind: "kill", Whom: "leader"}} }},
		{"a short window", twice, func(d *results.Document) { d.Window.Start = d.Window.End - 29*time.Second }},
		{"no series", twice, func(d *results.Document) { d.Series = nil }},
		{"blocks without an operation", course{twice.latency, flat[int64](small), 0}, func(d *results.Document) {
			for i := range 100 {
				d.Series.Samples[100+i], d.Series.Time[100+i] = 0, 0
			}
		}},
	} {
		d := tt.document(1)
		if tt.change != nil {
			tt.change(d)
		}
		if got := trends(d); len(got) > 0 {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

// A trend is found again after the bins of the series have doubled in width.
func TestTrendInWideBins(t *testing.T) {
	d := course{rising(quick, 2*quick), rising[int64](small, 2*small), 0}.document(1)
	want := trends(d)
	s, wide := d.Series, results.Series{Start: d.Series.Start, Bin: 4 * d.Series.Bin}
	for i := 0; i+4 <= len(s.Operations); i += 4 {
		wide.Operations = append(wide.Operations, 80)
		wide.Samples = append(wide.Samples, 80)
		wide.Time = append(wide.Time, s.Time[i]+s.Time[i+1]+s.Time[i+2]+s.Time[i+3])
		wide.Memory = append(wide.Memory, slices.Max(s.Memory[i:i+4]))
	}
	d.Series = &wide
	if got := trends(d); len(got) != 2 || len(want) != 2 {
		t.Errorf("in bins of %s: %q; in bins of %s: %q", wide.Bin, got, s.Bin, want)
	}
}
