package load

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/scenarios"
)

// distances returns the times between the first n arrivals of a sequence, in seconds.
func distances(d *DueTimes, n int) []float64 {
	last, out := d.begun, make([]float64, 0, n)
	for range n {
		due := d.next()
		out = append(out, (due - last).Seconds())
		last = due
	}
	return out
}

// Constant arrivals are at equal distances to the nanosecond, and do not drift at rates whose distance is not a whole
// number of nanoseconds.
func TestConstantArrivals(t *testing.T) {
	for _, perSecond := range []float64{0.1, 1, 3, 7, 999, 5000, 99_991} {
		d := newDueTimes(time.Second, steady(perSecond), scenarios.Constant, 1, 1)
		n := int(perSecond*20) + 1
		var last time.Duration
		for range n {
			last = d.next()
		}
		want := time.Second + time.Duration(float64(n)/perSecond*float64(time.Second))
		if off := last - want; off < -time.Nanosecond || off > time.Nanosecond {
			t.Errorf("at %g/s, arrival %d is due %s off", perSecond, n, off)
		}
	}
}

// distance returns the statistic of the Kolmogorov-Smirnov test: the largest distance between the empirical distribution of
// samples and a cumulative distribution.
func distance(samples []float64, cdf func(float64) float64) float64 {
	slices.Sort(samples)
	largest, n := 0.0, float64(len(samples))
	for i, x := range samples {
		largest = max(largest, math.Abs(cdf(x)-float64(i)/n), math.Abs(cdf(x)-float64(i+1)/n))
	}
	return largest
}

// The distances of Poisson arrivals are exponentially distributed, and the numbers of arrivals in a second vary accordingly.
// Arrivals at equal or at uniformly distributed distances fail the same checks.
func TestPoissonArrivals(t *testing.T) {
	const perSecond, n = 200.0, 50_000
	exponential := func(x float64) float64 { return 1 - math.Exp(-perSecond*x) }
	critical := 1.63 / math.Sqrt(n) // at a level of 1 %
	for seed := range uint64(5) {
		poisson := distances(newDueTimes(0, steady(perSecond), scenarios.Poisson, seed, 1), n)
		if d := dispersion(poisson); d < 0.75 || d > 1.25 {
			t.Errorf("seed %d: the variance of arrivals in a second is %.2f of their mean, want about 1", seed, d)
		}
		if d := distance(poisson, exponential); d > critical {
			t.Errorf("seed %d: the distances are %.4f off an exponential distribution, want at most %.4f", seed, d, critical)
		}
	}
	constant := distances(newDueTimes(0, steady(perSecond), scenarios.Constant, 1, 1), n)
	if d := dispersion(constant); d > 0.1 {
		t.Errorf("constant arrivals: the variance of arrivals in a second is %.2f of their mean, want about 0", d)
	}
	if d := distance(constant, exponential); d <= critical {
		t.Errorf("constant arrivals pass for exponentially distributed (%.4f)", d)
	}
}

// dispersion returns the variance of the number of arrivals in a second, divided by its mean. It is 1 for a Poisson process.
func dispersion(distances []float64) float64 {
	counts := map[int]float64{}
	at, seconds := 0.0, 0
	for _, d := range distances {
		at += d
		seconds = int(at)
		counts[seconds]++
	}
	mean := float64(len(distances)) / float64(seconds+1)
	variance := 0.0
	for i := range seconds { // the last second is cut
		variance += (counts[i] - mean) * (counts[i] - mean) / float64(seconds)
	}
	return variance / mean
}

// Two sequences with the same parameters are equal, on which the backlog relies. Another seed or repeat makes another one.
func TestDueTimesRepeat(t *testing.T) {
	sequence := func(seed, repeat uint64) []float64 {
		return distances(newDueTimes(time.Second, steady(100), scenarios.Poisson, seed, repeat), 1000)
	}
	first := sequence(1, 1)
	if !slices.Equal(first, sequence(1, 1)) {
		t.Error("two sequences with the same parameters differ")
	}
	if slices.Equal(first, sequence(2, 1)) || slices.Equal(first, sequence(1, 2)) {
		t.Error("sequences of another seed or repeat are the same")
	}
}
