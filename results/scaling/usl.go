package scaling

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// poor is the largest residual, as a share of the throughput, with which the universal scalability law still explains the
// measurements.
const poor = 0.2

// Reach is how far a fit is extrapolated, in multiples of the largest measured number of clients.
const Reach = 10

// USL is the universal scalability law (N. Gunther): the throughput of N clients is
//
//	X(N) = λN / (1 + σ(N−1) + κN(N−1))
//
// λ is the throughput of one client, σ the share of the work that clients must do one after the other (contention), and κ the
// work that each pair of clients causes (coherency). With κ > 0, the throughput has a peak and then falls.
type USL struct {
	Lambda, Sigma, Kappa                         float64
	LambdaInterval, SigmaInterval, KappaInterval Interval
	Peak                                         Peak
	Worst                                        Residual

	fit regression
}

// Peak is the number of clients with the largest throughput, according to the law.
type Peak struct {
	// Exists is false if the throughput of the law does not fall: if κ is not above zero, or if σ is so far below zero that the
	// throughput becomes infinite instead.
	Exists bool
	// Clients is at least 1. With 1, the throughput falls from the first client on.
	Clients float64
	// Interval has an infinite upper bound if κ may be zero, or if the bound is beyond Limit.
	Interval Interval
	// Beyond reports whether the peak is further away than the law is extrapolated, and is therefore only known to be beyond
	// Limit.
	Beyond bool
	Limit  float64
}

// errNoUSL is the error of measurements for which the law needs a throughput that is not above zero.
var errNoUSL = errors.New("the law has no positive throughput")

// FitUSL fits the law to throughputs. It returns ErrTooFew unless there are at least four, each under another number of
// clients: the law has three parameters. As for [FitPowerLaw], each number of clients counts once, and residuals are those of
// logarithms: without this, the numbers of clients with the largest throughput would decide alone.
func FitUSL(points []Point) (USL, error) {
	fit, err := regressTimes(points)
	if err != nil {
		return USL{}, err
	}
	for _, clients := range append(clientsOf(points), 1) {
		if !(fit.at(uslTerms(clients)...) > 0) {
			return USL{}, errNoUSL
		}
	}
	u := USL{fit: fit}
	one, contention, coherency := []float64{1, 0, 0}, []float64{0, 1, 0}, []float64{0, 0, 1}
	a := fit.at(one...)
	u.Lambda, u.LambdaInterval = 1/a, inverse(fit.interval(one...))
	u.Sigma, u.SigmaInterval = fit.at(contention...)/a, fit.ratio(contention, one)
	u.Kappa, u.KappaInterval = fit.at(coherency...)/a, fit.ratio(coherency, one)
	u.Worst = worst(points, u.At)
	u.Peak = u.peak(Reach * slices.Max(clientsOf(points)))
	return u, nil
}

// steps is the largest number of steps of a fit. A few are enough where the law fits.
const steps = 100

// regressTimes fits the time N/X(N) = 1/λ + σ/λ·(N−1) + κ/λ·N(N−1) that each client takes for an operation.
//
// Note: this is linear in the three coefficients, so that only the logarithm makes the fit non-linear. Each step is a linear
// fit to the tangents of the logarithm (Gauss-Newton), halved until the model is closer to the measured times than before.
// The parameters of the law are ratios of coefficients, and so are their intervals.
func regressTimes(points []Point) (regression, error) {
	measured := make([]float64, len(points))
	for i, p := range points {
		measured[i] = p.Clients / p.Value
	}
	fit, err := tangents(points, measured, measured)
	if err != nil {
		return regression{}, err
	}
	model := timesOf(fit, points)
	if slices.Min(model) <= 0 { // begin with a constant time
		model = slices.Repeat([]float64{stat.GeometricMean(measured, nil)}, len(points))
	}
	for range steps {
		if fit, err = tangents(points, measured, model); err != nil {
			return regression{}, err
		}
		next, closer := approach(measured, model, timesOf(fit, points))
		if !closer {
			return fit, nil
		}
		model = next
	}
	return regression{}, fmt.Errorf("no fit after %d steps", steps)
}

// tangents fits the logarithms of the measured times, with log t replaced by its tangent at the model's times.
func tangents(points []Point, measured, model []float64) (regression, error) {
	var terms [][]float64
	var values []float64
	for i, p := range points {
		row := uslTerms(p.Clients)
		floats.Scale(1/model[i], row)
		terms, values = append(terms, row), append(values, math.Log(measured[i]/model[i])+1)
	}
	return regress(terms, values)
}

// timesOf returns the model's times at the numbers of clients of the points.
func timesOf(fit regression, points []Point) []float64 {
	out := make([]float64, len(points))
	for i, p := range points {
		out[i] = fit.at(uslTerms(p.Clients)...)
	}
	return out
}

// approach returns the model's times after a step towards a target. The step is halved until it comes closer to the measured
// times; closer is false if no step does.
func approach(measured, model, target []float64) (next []float64, closer bool) {
	before := distance(measured, model)
	for share := 1.0; share > 1e-6; share /= 2 {
		next = make([]float64, len(model))
		floats.AddScaledTo(next, model, share, floats.SubTo(make([]float64, len(model)), target, model))
		if distance(measured, next) < before*(1-1e-9) {
			return next, true
		}
	}
	return nil, false
}

// distance returns the distance between the logarithms of two lists of times. It is infinite if a time is not above zero.
func distance(measured, model []float64) float64 {
	logs := make([]float64, len(model))
	for i, t := range model {
		if t <= 0 {
			return math.Inf(1)
		}
		logs[i] = math.Log(measured[i] / t)
	}
	return floats.Norm(logs, 2)
}

// uslTerms returns the terms of N/X(N).
func uslTerms(clients float64) []float64 { return []float64{1, clients - 1, clients * (clients - 1)} }

// inverse returns the interval of the reciprocal of a value that is above zero.
func inverse(i Interval) Interval {
	if i.Low <= 0 {
		return Interval{1 / i.High, math.Inf(1)}
	}
	return Interval{1 / i.High, 1 / i.Low}
}

// peak returns where the derivative of X is zero: at N² = (1−σ)/κ.
func (u USL) peak(limit float64) Peak {
	if u.Kappa <= 0 {
		return Peak{}
	}
	p := Peak{Exists: true, Clients: atLeastOne((1 - u.Sigma) / u.Kappa), Limit: limit, Interval: Interval{1, math.Inf(1)}}
	coherency, parallel := []float64{0, 0, 1}, []float64{1, -1, 0} // κ/λ and (1−σ)/λ
	if squares := u.fit.ratio(parallel, coherency); !math.IsInf(squares.High, 1) {
		p.Interval = Interval{atLeastOne(squares.Low), atLeastOne(squares.High)}
	} else if inverses := u.fit.ratio(coherency, parallel); u.Sigma < 1 && !math.IsInf(inverses.High, 1) { // κ may be zero
		p.Interval.Low = atLeastOne(1 / inverses.High)
	}
	if u.timeAt(p.Clients) <= 0 { // the time of one operation is the shortest there
		return Peak{}
	}
	if p.Interval.High > limit {
		p.Interval.High = math.Inf(1)
	}
	p.Beyond = p.Clients > limit
	return p
}

// atLeastOne returns the root of a square number of clients. Below one client, throughput falls from the first one on.
func atLeastOne(square float64) float64 { return math.Sqrt(max(square, 1)) }

// Poor reports whether the law explains the measurements so poorly that it must not be drawn.
func (u USL) Poor() bool { return u.Worst.Share > poor }

// Extends reports whether the law may be extrapolated. Without a peak it may not: with κ below zero, each pair of clients saves work,
// until so many of them have an infinite throughput.
func (u USL) Extends() bool { return !u.Poor() && u.Peak.Exists }

// timeAt returns the time that each client takes for an operation, according to the law.
func (u USL) timeAt(clients float64) float64 { return u.fit.at(uslTerms(clients)...) }

// At returns the throughput of the law. It is infinite where the law has none, which can happen beyond the measured numbers
// of clients if the law does not extend.
func (u USL) At(clients float64) float64 { return throughput(clients, u.timeAt(clients)) }

// Band returns the interval of the median that a measurement under a number of clients would have.
func (u USL) Band(clients float64) Interval {
	terms := uslTerms(clients)
	time := u.fit.at(terms...)
	floats.Scale(1/time, terms) // the tangent of the logarithm
	band := u.fit.prediction(terms...)
	return Interval{throughput(clients, time*math.Exp(band.High-1)), throughput(clients, time*math.Exp(band.Low-1))}
}

// throughput returns the operations per second of clients that take a time in seconds for each.
func throughput(clients, time float64) float64 {
	if time <= 0 {
		return math.Inf(1)
	}
	return clients / time
}
