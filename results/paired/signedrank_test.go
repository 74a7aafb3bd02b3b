package paired_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results/paired"
)

var greater = paired.Greater

// withNegativeSum returns 1 to n, of which the negative ones add up to sum.
func withNegativeSum(n, sum int) []float64 {
	diffs := make([]float64, n)
	for i := n; i >= 1; i-- {
		diffs[i-1] = float64(i)
		if i <= sum {
			diffs[i-1] = float64(-i)
			sum -= i
		}
	}
	return diffs
}

// TestCriticalValues holds the test to the table that textbooks print: the largest sum of negative ranks that is still
// significant at each one-sided level, or none (-1). Where some books round in favour of significance, this is the
// exact value.
func TestCriticalValues(t *testing.T) {
	alphas := [4]float64{0.05, 0.025, 0.01, 0.005}
	table := map[int][4]int{
		5: {0, -1, -1, -1}, 6: {2, 0, -1, -1}, 7: {3, 2, 0, -1}, 8: {5, 3, 1, 0}, 9: {8, 5, 3, 1},
		10: {10, 8, 5, 3}, 11: {13, 10, 7, 5}, 12: {17, 13, 9, 7}, 13: {21, 17, 12, 9}, 14: {25, 21, 15, 12},
		15: {30, 25, 19, 15}, 16: {35, 29, 23, 19}, 17: {41, 34, 27, 23}, 18: {47, 40, 32, 27}, 19: {53, 46, 37, 32},
		20: {60, 52, 43, 37}, 21: {67, 58, 49, 42}, 22: {75, 65, 55, 48}, 23: {83, 73, 62, 54}, 24: {91, 81, 69, 61},
		25: {100, 89, 76, 68},
	}
	for n, row := range table {
		for i, critical := range row {
			if critical >= 0 && greater(withNegativeSum(n, critical)) > alphas[i] {
				t.Errorf("n = %d: a negative sum of %d has p = %g, the table says at most %g", n, critical, greater(withNegativeSum(n, critical)), alphas[i])
			}
			if p := greater(withNegativeSum(n, critical+1)); p <= alphas[i] {
				t.Errorf("n = %d: a negative sum of %d has p = %g, the table says more than %g", n, critical+1, p, alphas[i])
			}
		}
	}
}

// TestPublishedExamples are worked examples of other implementations' documentation.
func TestPublishedExamples(t *testing.T) {
	for name, c := range map[string]struct {
		diffs []float64
		p     float64
		digit float64
	}{
		"SciPy's, of Darwin's plants": {[]float64{6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75}, 0.0206298828125, 0},
		"R's, of Hamilton's scale":    {[]float64{0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01}, 0.01953, 5e-6},
	} {
		if p := greater(c.diffs); math.Abs(p-c.p) > c.digit {
			t.Errorf("%s: p = %.13f instead of %.13f", name, p, c.p)
		}
	}
}

// byEnumeration tries all signs of the ranks, which it finds by counting who is nearer to zero.
func byEnumeration(diffs []float64) float64 {
	var ranks []int
	observed := 0
	for _, d := range diffs {
		rank := 1 // doubled: each nearer one counts two, each equally far one (itself, too) one
		for _, other := range diffs {
			rank += 1 + cmp.Compare(math.Abs(d), math.Abs(other))
		}
		if d != 0 {
			ranks = append(ranks, rank)
		}
		if d > 0 {
			observed += rank
		}
	}
	reached := 0
	for signs := range 1 << len(ranks) {
		sum := 0
		for i, r := range ranks {
			sum += r * (signs >> i & 1)
		}
		if sum >= observed {
			reached++
		}
	}
	return float64(reached) / float64(int(1)<<len(ranks))
}

// enumerated compares a test with all sign assignments, for small integers, among which there are many ties and zeros.
func enumerated(test func([]float64) float64) error {
	random := rand.New(rand.NewPCG(7, 7))
	for range 500 {
		diffs := make([]float64, random.IntN(13))
		for i := range diffs {
			diffs[i] = float64(random.IntN(10) - 4)
		}
		if got, want := test(diffs), byEnumeration(diffs); got != want {
			return fmt.Errorf("%v: p = %g instead of %g", diffs, got, want)
		}
	}
	return nil
}

func TestGreaterByEnumeration(t *testing.T) {
	if err := enumerated(greater); err != nil {
		t.Error(err)
	}
	for name, broken := range map[string]func([]float64) float64{
		"drops zeros before ranking": func(diffs []float64) float64 {
			return greater(slices.DeleteFunc(slices.Clone(diffs), func(d float64) bool { return d == 0 }))
		},
		"breaks ties by position": func(diffs []float64) float64 {
			apart := slices.Clone(diffs)
			for i, d := range apart {
				apart[i] = d * (1 + float64(i)*1e-9)
			}
			return greater(apart)
		},
		"leaves out the observed sum": func(diffs []float64) float64 { return 1 - greater(negated(diffs)) },
		"looks at the other side":     func(diffs []float64) float64 { return greater(negated(diffs)) },
	} {
		if enumerated(broken) == nil {
			t.Errorf("a test that %s is not noticed", name)
		}
	}
}

func negated(diffs []float64) []float64 {
	out := make([]float64, len(diffs))
	for i, d := range diffs {
		out[i] = -d
	}
	return out
}

func normals(random *rand.Rand, n int, mean, deviation float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = mean + deviation*random.NormFloat64()
	}
	return out
}

func TestGreaterSymmetries(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		diffs := normals(random, 1+random.IntN(60), 0.3, 1)
		p, opposite := greater(diffs), greater(negated(diffs))
		if sum := p + opposite; sum < 1-1e-12 || sum > 2 {
			t.Errorf("%v: %g one way and %g the other: what was observed lies on neither side", diffs, p, opposite)
		}
		other := slices.Clone(diffs)
		random.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		for i := range other {
			other[i] *= 4 // exact, so that nothing but the scale changes
		}
		if got := greater(other); got != p {
			t.Errorf("%v: p = %g, but %g in another order and unit", diffs, p, got)
		}
		for i := range other {
			other[i]++
		}
		if got := greater(other); got > p {
			t.Errorf("%v: p = %g, but %g when every pair is worse", diffs, p, got)
		}
	}
}

func TestGreaterAtTheEdges(t *testing.T) {
	for _, n := range []int{1, 5, 53, 200, paired.MaxPairs} {
		same := slices.Repeat([]float64{0.1}, n)
		if p := greater(same); p != paired.SmallestP(n) {
			t.Errorf("%d pairs that all agree: p = %g instead of %g", n, p, paired.SmallestP(n))
		}
		if p := greater(negated(same)); math.Abs(p-1) > 1e-12 {
			t.Errorf("%d pairs that all disagree: p = %g", n, p)
		}
		if p := greater(make([]float64, n)); p != 1 {
			t.Errorf("%d zeros: p = %g", n, p)
		}
	}
	if p := greater(nil); p != 1 {
		t.Errorf("no pairs: p = %g", p)
	}
	for _, bad := range [][]float64{{1, math.NaN()}, {math.Inf(1)}, {math.Inf(-1), 0}, make([]float64, paired.MaxPairs+1)} {
		if e, err := paired.Summarize(bad); err == nil {
			t.Errorf("%v: %+v without an error", bad[:min(len(bad), 3)], e)
		}
	}
}

func TestDesignsThatCannotReject(t *testing.T) {
	for alpha, want := range map[float64]int{0.5: 2, 0.05: 5, 0.025: 6, 0.01: 7, 0.00125: 10, 0: math.MaxInt, -1: math.MaxInt} {
		if got := paired.PairsNeeded(alpha); got != want {
			t.Errorf("alpha %g needs %d pairs instead of %d", alpha, got, want)
		}
	}
	err := paired.CanReject(5, 0.01)
	if err == nil || err.Error() != "5 pairs can reach p = 0.031 at best, which is not below 0.01: take at least 7" {
		t.Errorf("5 pairs at 0.01: %v", err)
	}
	for n := range 12 {
		unanimous := greater(slices.Repeat([]float64{1}, n)) < 0.01
		if accepted := paired.CanReject(n, 0.01) == nil; accepted != unanimous {
			t.Errorf("%d pairs: accepted %t, but unanimous pairs reject %t", n, accepted, unanimous)
		}
	}
	if err := errors.Join(paired.CanReject(7, 0.01), paired.CanReject(paired.MaxPairs, 1e-9)); err != nil {
		t.Error(err)
	}
	for _, alpha := range []float64{0, -0.1, 0.6, 1, 1e-300, math.NaN(), math.Inf(1)} {
		if paired.CanReject(20, alpha) == nil {
			t.Errorf("alpha %g is accepted", alpha)
		}
	}
	if paired.CanReject(paired.MaxPairs+1, 0.05) == nil || paired.CanReject(-3, 0.05) == nil {
		t.Error("a number of pairs that nothing can test is accepted")
	}
}

func TestLogRatio(t *testing.T) {
	up, down := paired.LogRatio(110, 100), paired.LogRatio(100, 110)
	if up != -down || math.Abs(math.Exp(up)-1.1) > 1e-12 {
		t.Errorf("110 to 100 is %g, 100 to 110 is %g", up, down)
	}
	for _, bad := range [][2]float64{{0, 1}, {1, 0}, {-1, 1}, {-1, -1}, {0, 0}, {math.NaN(), 1}, {1, math.NaN()}, {math.Inf(1), 1}, {1, math.Inf(1)}} {
		if e, err := paired.Summarize([]float64{paired.LogRatio(bad[0], bad[1])}); err == nil {
			t.Errorf("the ratio of %g to %g is estimated: %+v", bad[0], bad[1], e)
		}
	}
}

// edges are differences at the limits of a float64.
func edges() [][]float64 {
	return [][]float64{{}, {0}, {1, -1, 0}, {math.MaxFloat64, -math.MaxFloat64}, {math.NaN()}, {math.Inf(1)}, {5e-324, -5e-324}}
}

func encode(diffs []float64) []byte {
	var data []byte
	for _, d := range diffs {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(d))
	}
	return data
}

// decode reads at most 100 numbers, so that the fuzzer does not spend its time on the cube of their number.
func decode(data []byte) []float64 {
	var diffs []float64
	for ; len(data) >= 8 && len(diffs) < 100; data = data[8:] {
		diffs = append(diffs, math.Float64frombits(binary.LittleEndian.Uint64(data)))
	}
	return diffs
}

func FuzzGreater(f *testing.F) {
	for _, diffs := range edges() {
		f.Add(encode(diffs))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		diffs := decode(data)
		if p := greater(diffs); !(p >= 0 && p <= 1) {
			t.Errorf("%v: p = %g", diffs, p)
		}
	})
}
