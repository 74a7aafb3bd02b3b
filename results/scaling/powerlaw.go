package scaling

import (
	"math"

	"github.com/zkbench/zkbench/results"
)

// Point is a value under one number of clients: the median over the repeats, and their extremes.
type Point struct {
	Clients   float64
	Value     float64
	Low, High float64
}

// clientsOf returns the numbers of clients.
func clientsOf(points []Point) []float64 {
	return results.Map(points, func(p Point) float64 { return p.Clients })
}

// positive returns the points whose values have a logarithm.
func positive(points []Point) []Point {
	return results.Where(points, func(p Point) bool { return p.Value > 0 && !math.IsInf(p.Value, 1) })
}

// PowerLaw is a value that grows with a power of the number of clients. With an exponent of 0 the value is constant, and with 1
// it is proportional to the number of clients.
type PowerLaw struct {
	Exponent float64
	Interval Interval // of the exponent
	Worst    Residual
	fit      regression
}

// FitPowerLaw fits a line to the logarithms of the values and the numbers of clients. The values must be above zero, and there
// must be at least three of them, each under another number of clients; otherwise it returns ErrTooFew.
//
// Note: each number of clients counts once, with the median of its repeats. Repeats under the same number of clients show how
// much a value varies, but not whether the values follow a power law: a curve that bends would, with many repeats, get a
// narrow interval around a wrong exponent. With medians, the interval comes from the distances between the medians and the
// line, which contain both the variation and the bend, and its degrees of freedom are the numbers of clients minus two.
func FitPowerLaw(points []Point) (PowerLaw, error) {
	var terms [][]float64
	var values []float64
	for _, p := range points {
		terms = append(terms, []float64{1, math.Log(p.Clients)})
		values = append(values, math.Log(p.Value))
	}
	fit, err := regress(terms, values)
	if err != nil {
		return PowerLaw{}, err
	}
	law := PowerLaw{Exponent: fit.at(0, 1), Interval: fit.interval(0, 1), fit: fit}
	law.Worst = worst(points, law.At)
	return law, nil
}

// At returns the value of the law under a number of clients.
func (l PowerLaw) At(clients float64) float64 { return math.Exp(l.fit.at(1, math.Log(clients))) }

// Band returns the interval of the median that a measurement under a number of clients would have.
func (l PowerLaw) Band(clients float64) Interval {
	band := l.fit.prediction(1, math.Log(clients))
	return Interval{math.Exp(band.Low), math.Exp(band.High)}
}

// Residual is the distance between a point and a fit, as a share of the point's value.
type Residual struct {
	Share   float64
	Clients float64
}

// worst returns the largest residual of the points.
func worst(points []Point, at func(clients float64) float64) Residual {
	var out Residual
	for _, p := range points {
		if share := math.Abs(at(p.Clients)-p.Value) / p.Value; share > out.Share || out.Clients == 0 {
			out = Residual{share, p.Clients}
		}
	}
	return out
}
