package scaling_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/zkbench/zkbench/results/scaling"
)

// points returns the values of a function, without repeats.
func points(clients []float64, value func(n float64) float64) []scaling.Point {
	var out []scaling.Point
	for _, n := range clients {
		out = append(out, scaling.Point{Clients: n, Value: value(n), Low: value(n), High: value(n)})
	}
	return out
}

// noisy multiplies values by log-normal noise.
func noisy(random *rand.Rand, deviation float64, exact []scaling.Point) []scaling.Point {
	out := slices.Clone(exact)
	for i := range out {
		out[i].Value *= math.Exp(deviation * random.NormFloat64())
	}
	return out
}

// law returns the throughput of the universal scalability law.
func law(lambda, sigma, kappa float64) func(n float64) float64 {
	return func(n float64) float64 { return lambda * n / (1 + sigma*(n-1) + kappa*n*(n-1)) }
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*max(math.Abs(want), 1)
}

func counts() []float64 { return []float64{1, 5, 10, 25, 50, 100} }

func TestPowerLawFindsKnownExponents(t *testing.T) {
	for _, exponent := range []float64{-1, -0.5, 0, 0.5, 1, 2, 3} {
		for _, clients := range [][]float64{{1, 2, 3}, counts(), {1000, 4000, 10000}} {
			got, err := scaling.FitPowerLaw(points(clients, func(n float64) float64 { return 7 * math.Pow(n, exponent) }))
			if err != nil {
				t.Fatal(err)
			}
			if !near(got.Exponent, exponent, 1e-9) || !near(got.Interval.Low, exponent, 1e-6) || !near(got.Interval.High, exponent, 1e-6) {
				t.Errorf("%g at %v: got %g in %v", exponent, clients, got.Exponent, got.Interval)
			}
			far := 10 * slices.Max(clients)
			if want := 7 * math.Pow(far, exponent); !near(got.At(far)/want, 1, 1e-6) || got.Worst.Share > 1e-9 {
				t.Errorf("%g at %v: %g at %g clients, want %g; largest residual %v", exponent, clients, got.At(far), far, want, got.Worst)
			}
		}
	}
}

// The slope is that of gonum's own regression, and the interval that of the textbook: Student's t times the residual deviation
// over the root of the sum of squares.
func TestPowerLawAgainstTheTextbook(t *testing.T) {
	measured := noisy(rand.New(rand.NewPCG(3, 3)), 0.2, points(counts(), func(n float64) float64 { return n }))
	got, err := scaling.FitPowerLaw(measured)
	if err != nil {
		t.Fatal(err)
	}
	var x, y []float64
	for _, p := range measured {
		x, y = append(x, math.Log(p.Clients)), append(y, math.Log(p.Value))
	}
	alpha, beta := stat.LinearRegression(x, y, nil, false)
	squares := 0.0
	for i := range x {
		residual := y[i] - alpha - beta*x[i]
		squares += residual * residual
	}
	const student = 2.7764451 // 97.5 % quantile with 4 degrees of freedom
	half := student * math.Sqrt(squares/4/(stat.Variance(x, nil)*5))
	if !near(got.Exponent, beta, 1e-9) || !near(got.Interval.High-got.Interval.Low, 2*half, 1e-6) {
		t.Errorf("got %g in %v, want %g ± %g", got.Exponent, got.Interval, beta, half)
	}
}

// Of many measurements with noise, the intervals of 95 % contain the truth. A fit to every other value does not pass: see the
// broken one below.
func TestIntervalsContainTheTruth(t *testing.T) {
	const trials = 2000
	random := rand.New(rand.NewPCG(1, 2))
	hits := map[string]int{}
	hit := func(name string, ok bool) {
		if ok {
			hits[name]++
		}
	}
	power := points(counts(), func(n float64) float64 { return 3 * math.Pow(n, 0.7) })
	usl := points(counts(), law(500, 0.3, 0.002))
	for range trials {
		p, err := scaling.FitPowerLaw(noisy(random, 0.1, power))
		if err != nil {
			t.Fatal(err)
		}
		hit("exponent", p.Interval.Contains(0.7))
		hit("broken", scaling.Interval{Low: p.Interval.Low + 0.03, High: p.Interval.High - 0.03}.Contains(0.7))
		hit("value at 1000", p.Band(1000).Contains(3*math.Pow(1000, 0.7)*math.Exp(0.1*random.NormFloat64())))
		u, err := scaling.FitUSL(noisy(random, 0.05, usl))
		if err != nil {
			t.Fatal(err)
		}
		hit("λ", u.LambdaInterval.Contains(500))
		hit("σ", u.SigmaInterval.Contains(0.3))
		hit("κ", u.KappaInterval.Contains(0.002))
		hit("peak", u.Peak.Interval.Contains(math.Sqrt(0.7/0.002)))
		hit("throughput at 1000", u.Band(1000).Contains(law(500, 0.3, 0.002)(1000)*math.Exp(0.05*random.NormFloat64())))
	}
	for name, n := range hits {
		share := float64(n) / trials
		if name == "broken" {
			if share > 0.92 {
				t.Errorf("an interval that is too narrow contains the truth in %.3f of the trials, which this test must notice", share)
			}
		} else if share < 0.935 || share > 0.975 {
			t.Errorf("%s: %.3f of the intervals contain the truth, want 0.95", name, share)
		}
	}
	if len(hits) != 8 {
		t.Errorf("some intervals never contain the truth: %v", hits)
	}
}

func TestUSLFindsKnownParameters(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		lambda, sigma, kappa float64
		clients              []float64
		peak                 float64 // 0: none
		beyond               bool
	}{
		{"a peak that was measured", 500, 0.1, 0.001, counts(), 30, false},
		{"a peak beyond the measurements", 500, 0.02, 0.00001, counts(), 313.05, false},
		{"a peak too far away", 500, 0.02, 1e-8, counts(), 9899.5, true},
		{"falls from the start", 500, 1, 0.05, counts(), 1, false},
		{"contention over one", 500, 1.3, 0.05, counts(), 1, false},
		{"grows without an end", 500, 0.2, -1e-7, counts(), 0, false},
		{"thousands of clients", 100, 0.001, 1e-8, []float64{1, 100, 1000, 4000, 10000}, 9994.99, false},
		{"without one client", 100, 0.5, 1e-4, []float64{10, 20, 40, 80}, 70.71, false},
		{"barely enough", 100, 0.5, 1e-3, []float64{1, 10, 100, 1000}, 22.36, false},
	} {
		got, err := scaling.FitUSL(points(tt.clients, law(tt.lambda, tt.sigma, tt.kappa)))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if !near(got.Lambda, tt.lambda, 1e-6) || !near(got.Sigma, tt.sigma, 1e-6) || math.Abs(got.Kappa-tt.kappa) > 1e-5*math.Abs(tt.kappa)+1e-12 {
			t.Errorf("%s: λ %g, σ %g, κ %g", tt.name, got.Lambda, got.Sigma, got.Kappa)
		}
		if got.Peak.Exists != (tt.peak > 0) || !near(got.Peak.Clients, tt.peak, 1e-3) || got.Peak.Beyond != tt.beyond {
			t.Errorf("%s: peak %+v, want %g, beyond: %v", tt.name, got.Peak, tt.peak, tt.beyond)
		}
		if got.Poor() || got.Worst.Share > 1e-6 {
			t.Errorf("%s: largest residual %v", tt.name, got.Worst)
		}
	}
}

// The fit has the least squares of logarithms: no other parameters nearby are closer to the measurements.
func TestUSLIsTheClosest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	distance := func(measured []scaling.Point, at func(float64) float64) float64 {
		sum := 0.0
		for _, p := range measured {
			sum += math.Pow(math.Log(at(p.Clients)/p.Value), 2)
		}
		return sum
	}
	for range 200 {
		measured := noisy(random, 0.3, points(counts(), law(500, random.Float64(), 0.01*random.Float64())))
		got, err := scaling.FitUSL(measured)
		if err != nil {
			t.Fatal(err)
		}
		best := distance(measured, got.At)
		if again := distance(measured, law(got.Lambda, got.Sigma, got.Kappa)); !near(again, best, 1e-6) {
			t.Fatalf("the parameters give %g, and the fit %g", again, best)
		}
		for _, factor := range []float64{0.99, 1.01} {
			for _, other := range []func(float64) float64{
				law(got.Lambda*factor, got.Sigma, got.Kappa), law(got.Lambda, got.Sigma*factor, got.Kappa), law(got.Lambda, got.Sigma, got.Kappa*factor),
			} {
				if distance(measured, other) < best-1e-9 {
					t.Fatalf("%v: %g is not the least distance: %g", measured, best, distance(measured, other))
				}
			}
		}
	}
}

// Exponents do not depend on the unit of a value, and neither do σ, κ and the peak.
func TestUnitsMakeNoDifference(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for range 100 {
		measured := noisy(random, 0.1, points(counts(), law(500, 0.3, 0.002)))
		scaled := slices.Clone(measured)
		for i := range scaled {
			scaled[i].Value *= 1e6
		}
		p, _ := scaling.FitPowerLaw(measured)
		q, _ := scaling.FitPowerLaw(scaled)
		u, err := scaling.FitUSL(measured)
		v, scaledErr := scaling.FitUSL(scaled)
		if err != nil || scaledErr != nil {
			t.Fatal(err, scaledErr)
		}
		if !near(p.Exponent, q.Exponent, 1e-9) || !near(u.Sigma, v.Sigma, 1e-6) || !near(u.Kappa, v.Kappa, 1e-6) || !near(u.Lambda*1e6/v.Lambda, 1, 1e-6) {
			t.Fatalf("%v: %+v and %+v, %+v and %+v", measured, p, q, u, v)
		}
	}
}

// The interval of any fit contains its estimate.
func TestAnyMeasurements(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	fitted := 0
	for range 3000 {
		clients := counts()[:4+random.IntN(3)]
		measured := noisy(random, 3*random.Float64(), points(clients, func(float64) float64 { return 1e3 }))
		p, err := scaling.FitPowerLaw(measured)
		if err != nil || !p.Interval.Contains(p.Exponent) || !p.Band(500).Contains(p.At(500)) {
			t.Fatalf("%v: exponent %g in %v (%v)", measured, p.Exponent, p.Interval, err)
		}
		u, err := scaling.FitUSL(measured)
		if err != nil {
			continue
		}
		fitted++
		if !u.LambdaInterval.Contains(u.Lambda) || !u.SigmaInterval.Contains(u.Sigma) || !u.KappaInterval.Contains(u.Kappa) || u.Lambda <= 0 {
			t.Fatalf("%v: %+v", measured, u)
		}
		if u.Peak.Exists && (!u.Peak.Interval.Contains(u.Peak.Clients) || u.Peak.Clients < 1) {
			t.Fatalf("%v: peak %+v", measured, u.Peak)
		}
		for _, m := range measured {
			if at := u.At(m.Clients); !(at > 0) || math.IsInf(at, 0) || !u.Band(m.Clients).Contains(at) {
				t.Fatalf("%v: throughput %g at %g", measured, at, m.Clients)
			}
		}
	}
	if fitted < 1000 {
		t.Errorf("only %d of 3000 were fitted", fitted)
	}
}

// Without degrees of freedom there is no interval, and therefore no number.
func TestTooFew(t *testing.T) {
	for n := range 6 {
		measured := points(counts()[:n], law(500, 0.3, 0.002))
		if _, err := scaling.FitPowerLaw(measured); errors.Is(err, scaling.ErrTooFew) != (n < 3) {
			t.Errorf("an exponent of %d client counts: %v", n, err)
		}
		if _, err := scaling.FitUSL(measured); errors.Is(err, scaling.ErrTooFew) != (n < 4) {
			t.Errorf("a law of %d client counts: %v", n, err)
		}
	}
}

// A law that does not explain the measurements is poor: here, a throughput that falls much faster than with the square of the
// number of clients.
func TestPoorFit(t *testing.T) {
	got, err := scaling.FitUSL(points(counts(), func(n float64) float64 { return 500 * math.Exp(-n/20) }))
	if err == nil && !got.Poor() {
		t.Errorf("an exponential decline passes as a good fit: %+v", got)
	}
	good, err := scaling.FitUSL(noisy(rand.New(rand.NewPCG(1, 1)), 0.03, points(counts(), law(500, 0.3, 0.002))))
	if err != nil || good.Poor() {
		t.Errorf("3 %% of noise make the fit poor: %+v (%v)", good, err)
	}
}

// A law whose throughput does not fall is not extrapolated: it has a pole.
func TestExtends(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		lambda, sigma, kappa float64
		want                 bool
	}{
		{"a peak", 500, 0.1, 0.001, true},
		{"a peak too far away", 500, 0.02, 1e-8, true},
		{"κ below zero", 500, 0.9, -0.005, false},
		{"κ above zero, and σ so far below that a pole comes before the peak", 500, -0.009, 1e-6, false},
		{"a little below zero, with a peak", 500, -0.001, 1e-4, true},
	} {
		got, err := scaling.FitUSL(points(counts(), law(tt.lambda, tt.sigma, tt.kappa)))
		if err != nil || got.Poor() || got.Extends() != tt.want || got.Peak.Exists != tt.want {
			t.Errorf("%s: extends: %t, %+v (%v), want %t", tt.name, got.Extends(), got, err, tt.want)
		}
	}
}

// Nothing is said of the peak beyond ten times the measurements: neither where it is, nor how far away it may be.
func TestPeakIntervalEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	endless := 0
	for range 200 {
		u, err := scaling.FitUSL(noisy(random, 0.002, points(counts(), law(500, 0.05, 4e-6))))
		if err != nil || !u.Peak.Exists {
			continue
		}
		high := u.Peak.Interval.High
		if high > 10*100 && !math.IsInf(high, 1) || !u.Peak.Interval.Contains(u.Peak.Clients) {
			t.Errorf("peak at %g in %v", u.Peak.Clients, u.Peak.Interval)
		}
		if math.IsInf(high, 1) && u.KappaInterval.Low > 0 {
			endless++
		}
	}
	if endless == 0 {
		t.Error("no such case")
	}
}

// If κ may be zero, the interval of the peak has no upper bound.
func TestPeakThatMayNotExist(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	seen := 0
	for range 200 {
		u, err := scaling.FitUSL(noisy(random, 0.1, points(counts(), law(500, 0.05, 1e-5))))
		if err != nil {
			t.Fatal(err)
		}
		if u.Peak.Exists && u.KappaInterval.Low < 0 {
			seen++
			if !math.IsInf(u.Peak.Interval.High, 1) {
				t.Errorf("κ in %v, and the peak in %v", u.KappaInterval, u.Peak.Interval)
			}
		}
		if !u.Peak.Exists && u.Kappa > 0 {
			t.Errorf("κ = %g without a peak", u.Kappa)
		}
	}
	if seen == 0 {
		t.Error("no such case")
	}
}
