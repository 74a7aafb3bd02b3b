package paired_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results/paired"
	"github.com/zkbench/zkbench/results/table"
)

// summarize is Summarize for log-ratios that are known to be fine; others yield no estimate.
func summarize(logRatios []float64) paired.Estimate {
	e, err := paired.Summarize(logRatios)
	if err != nil {
		return paired.Estimate{}
	}
	return e
}

func near[T ~float64](a, b T) bool {
	return a == b || math.Abs(float64(a-b)) < 1e-12*math.Abs(float64(b))
}

func logs(ratios ...float64) []float64 {
	out := make([]float64, len(ratios))
	for i, r := range ratios {
		out[i] = math.Log(r)
	}
	return out
}

// TestSummarizeByHand uses powers of two, whose means are seen at a glance.
func TestSummarizeByHand(t *testing.T) {
	infinite := table.Number(math.Inf(1))
	for name, c := range map[string]struct {
		ratios []float64
		want   paired.Estimate
	}{
		"one pair":    {[]float64{2}, paired.Estimate{Pairs: 1, Median: 2, Low: 0, High: infinite, Upper: infinite}},
		"three pairs": {[]float64{16, 2, 4}, paired.Estimate{Pairs: 3, Median: 4, Low: 0, High: infinite, Upper: infinite}},
		"even number": {[]float64{1, 4, 1, 4}, paired.Estimate{Pairs: 4, Median: 2, Low: 0, High: infinite, Upper: infinite}},
		"enough for one side": {[]float64{1, 2, 4, 8, 16},
			paired.Estimate{Pairs: 5, Median: 4, Low: 0, High: infinite, Upper: 16}},
		"enough for both": {[]float64{1, 2, 4, 8, 16, 32},
			paired.Estimate{Pairs: 6, Median: table.Number(math.Exp2(2.5)), Low: 1, High: 32, Upper: 16}},
		"all alike": {slices.Repeat([]float64{2}, 10),
			paired.Estimate{Pairs: 10, Median: 2, Low: 2, High: 2, Upper: 2}},
	} {
		got, w := summarize(logs(c.ratios...)), c.want
		if got.Pairs != w.Pairs || !near(got.Median, w.Median) || !near(got.Low, w.Low) || !near(got.High, w.High) || !near(got.Upper, w.Upper) {
			t.Errorf("%s: %+v instead of %+v", name, got, w)
		}
	}
	for _, bad := range [][]float64{nil, {math.NaN()}, {math.Inf(1), 1}} {
		if e, err := paired.Summarize(bad); err == nil {
			t.Errorf("%v: %+v without an error", bad, e)
		}
	}
}

// TestBoundsInvertTheTest moves pairs to both sides of each bound, and sees the test change its mind there.
func TestBoundsInvertTheTest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		ratios := normals(random, 6+random.IntN(30), 0.1, 0.2)
		e := summarize(ratios)
		for _, c := range []struct{ bound, side, alpha float64 }{{float64(e.Low), 1, 0.025}, {float64(e.High), -1, 0.025}, {float64(e.Upper), -1, 0.05}} {
			below := shifted(ratios, -math.Log(c.bound)+1e-9*c.side, c.side)
			above := shifted(ratios, -math.Log(c.bound)-1e-9*c.side, c.side)
			if !(greater(below) < c.alpha) || greater(above) < c.alpha {
				t.Errorf("%v: p = %g beyond the bound %g and %g within, at %g", ratios, greater(below), c.bound, greater(above), c.alpha)
			}
		}
	}
}

func shifted(diffs []float64, by, side float64) []float64 {
	out := make([]float64, len(diffs))
	for i, d := range diffs {
		out[i] = side * (d + by)
	}
	return out
}

// covers holds intervals to the coverage that they must have exactly, as it does not depend on how log-ratios are
// distributed if they are symmetric about the truth, here a ratio of 1.
func covers(estimate func([]float64) paired.Estimate) error {
	draws := map[string]func(*rand.Rand) float64{
		"normal":  (*rand.Rand).NormFloat64,
		"uniform": func(r *rand.Rand) float64 { return r.Float64() - 0.5 },
		"Laplace": func(r *rand.Rand) float64 { return r.ExpFloat64() * float64(1-2*r.IntN(2)) },
	}
	for _, c := range []struct {
		pairs      int
		both, side float64
	}{{6, 1 - 2.0/64, 1 - 3.0/64}, {10, 1 - 2*25.0/1024, 1 - 43.0/1024}, {20, 0.952, 0.951}} {
		for name, draw := range draws {
			both, side := coverage(estimate, c.pairs, draw)
			if math.Abs(both-c.both) > 0.012 || math.Abs(side-c.side) > 0.012 { // over three standard errors
				return fmt.Errorf("%d pairs, %s: covered %.3f and %.3f instead of %.3f and %.3f", c.pairs, name, both, side, c.both, c.side)
			}
		}
	}
	return nil
}

func coverage(estimate func([]float64) paired.Estimate, pairs int, draw func(*rand.Rand) float64) (both, side float64) {
	const trials = 4000
	random := rand.New(rand.NewPCG(11, 11))
	ratios := make([]float64, pairs)
	for range trials {
		for i := range ratios {
			ratios[i] = draw(random)
		}
		e := estimate(ratios)
		if e.Low <= 1 && 1 <= e.High {
			both += 1.0 / trials
		}
		if 1 <= e.Upper {
			side += 1.0 / trials
		}
	}
	return both, side
}

func TestCoverage(t *testing.T) {
	if raceDetector || testing.Short() {
		t.Skip("computes much and shares nothing")
	}
	if err := covers(summarize); err != nil {
		t.Error(err)
	}
	for name, broken := range map[string]func([]float64) paired.Estimate{
		"ends a little early": func(ratios []float64) paired.Estimate {
			e := summarize(ratios)
			e.Low *= 1.05
			return e
		},
		"swaps the confidences": func(ratios []float64) paired.Estimate {
			e := summarize(ratios)
			e.Upper, e.High = e.High, e.Upper
			return e
		},
		"takes the spread of the data for the interval": func(ratios []float64) paired.Estimate {
			e := summarize(ratios)
			e.Low, e.High = table.Number(math.Exp(slices.Min(ratios))), table.Number(math.Exp(slices.Max(ratios)))
			return e
		},
	} {
		if covers(broken) == nil {
			t.Errorf("an estimate that %s is not noticed", name)
		}
	}
}

func TestResolution(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 13))
	for range 100 {
		alike := normals(random, 10, 0, 0.1)
		e := summarize(alike)
		got, err := paired.Resolution(alike)
		swapped, swappedErr := paired.Resolution(negated(alike))
		if err != nil || swappedErr != nil || !near(got, swapped) {
			t.Errorf("%v: %g, but %g with the sides swapped (%v, %v)", alike, got, swapped, err, swappedErr)
		}
		for _, moved := range []float64{float64(e.High), float64(e.Low), float64(e.Median)} {
			if moved > got+1e-12 || 1/moved > got+1e-12 {
				t.Errorf("%v: resolution %g, although it moved to %g by itself", alike, got, moved)
			}
		}
	}
	halves := slices.Concat(slices.Repeat([]float64{0.3}, 26), slices.Repeat([]float64{-0.31}, 24))
	if got, err := paired.Resolution(halves); err != nil || got < math.Exp(0.3) {
		t.Errorf("pairs of which more than half moved to %g: %g (%v)", math.Exp(0.3), got, err)
	}
	if got, err := paired.Resolution(make([]float64, 10)); got != 1 || err != nil {
		t.Errorf("a machine without noise: %g (%v)", got, err)
	}
	for _, bad := range [][]float64{nil, make([]float64, 5), {1, 2, 3, 4, 5, math.NaN()}} {
		if got, err := paired.Resolution(bad); err == nil || !math.IsInf(got, 1) {
			t.Errorf("%v: %g without an error", bad, got)
		}
	}
}

func FuzzSummarize(f *testing.F) {
	for _, ratios := range edges() {
		f.Add(encode(ratios))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ratios := decode(data)
		e, err := paired.Summarize(ratios)
		if err == nil && !(e.Low <= e.Upper && e.Upper <= e.High) {
			t.Errorf("%v: %+v is out of order", ratios, e)
		}
	})
}
