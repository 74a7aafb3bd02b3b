package scaling

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// confidence is the share of intervals that contain the true value.
const confidence = 0.95

// ErrTooFew is the error of a fit to so few numbers of clients that no spread around it can be computed.
var ErrTooFew = errors.New("too few client counts")

// Interval is the range in which a value lies with a confidence of 95 %. A bound may be infinite.
type Interval struct{ Low, High float64 }

// Contains reports whether a value lies within the interval.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

// around returns the interval of a value and its distance to both bounds.
func around(value, distance float64) Interval { return Interval{value - distance, value + distance} }

// regression is a linear model that was fitted by least squares: a value is the sum of its terms, each times a coefficient.
type regression struct {
	coefficients *mat.VecDense
	covariance   *mat.SymDense // of the coefficients
	deviation    float64       // standard deviation of the values around the model
	quantile     float64       // of Student's t: half the width of an interval, in standard errors
}

// regress fits the model to values that have the given terms. It returns ErrTooFew unless there are more values than terms,
// because the spread of the values around the model is then unknown.
func regress(terms [][]float64, values []float64) (regression, error) {
	if len(terms) == 0 || len(terms) <= len(terms[0]) {
		return regression{}, ErrTooFew
	}
	rows, columns := len(terms), len(terms[0])
	design := mat.NewDense(rows, columns, nil)
	for i, t := range terms {
		design.SetRow(i, t)
	}
	ones := mat.NewDiagDense(rows, nil)
	for i := range rows {
		ones.SetDiag(i, 1)
	}
	var qr mat.QR
	qr.Factorize(design)
	var inverse mat.Dense // the pseudo-inverse, so that coefficients = inverse × values
	if err := qr.SolveTo(&inverse, false, ones); err != nil {
		return regression{}, fmt.Errorf("fit %d values: %w", rows, err)
	}
	observed := mat.NewVecDense(rows, values)
	r := regression{coefficients: mat.NewVecDense(columns, nil), covariance: mat.NewSymDense(columns, nil)}
	r.coefficients.MulVec(&inverse, observed)
	var residuals mat.VecDense
	residuals.MulVec(design, r.coefficients)
	residuals.SubVec(observed, &residuals)
	freedom := float64(rows - columns)
	r.deviation = mat.Norm(&residuals, 2) / math.Sqrt(freedom)
	r.covariance.SymOuterK(r.deviation*r.deviation, &inverse)
	r.quantile = distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile((1 + confidence) / 2)
	return r, nil
}

// at returns the model's value for the given terms.
func (r regression) at(terms ...float64) float64 {
	return mat.Dot(r.coefficients, mat.NewVecDense(len(terms), terms))
}

// standardError returns that of the model's value for the given terms.
func (r regression) standardError(terms ...float64) float64 {
	v := mat.NewVecDense(len(terms), terms)
	return math.Sqrt(max(mat.Inner(v, r.covariance, v), 0))
}

// interval returns the interval of the model's value for the given terms.
func (r regression) interval(terms ...float64) Interval {
	return around(r.at(terms...), r.quantile*r.standardError(terms...))
}

// prediction returns the interval of one more value with the given terms, which spreads around the model as the others do.
func (r regression) prediction(terms ...float64) Interval {
	return around(r.at(terms...), r.quantile*math.Hypot(r.standardError(terms...), r.deviation))
}

// ratio returns the interval of the quotient of two values of the model, by Fieller's theorem: all ratios ρ for which the
// interval of numerator − ρ·denominator contains zero. It is unbounded if the interval of the denominator contains zero.
func (r regression) ratio(numerator, denominator []float64) Interval {
	n, d := mat.NewVecDense(len(numerator), numerator), mat.NewVecDense(len(denominator), denominator)
	p, q := mat.Dot(r.coefficients, n), mat.Dot(r.coefficients, d)
	square := r.quantile * r.quantile
	a := q*q - square*mat.Inner(d, r.covariance, d)
	b := p*q - square*mat.Inner(n, r.covariance, d)
	c := p*p - square*mat.Inner(n, r.covariance, n)
	if !(a > 0) {
		return Interval{math.Inf(-1), math.Inf(1)}
	}
	return around(b/a, math.Sqrt(max(b*b-a*c, 0))/a)
}
