package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/paired"
	"github.com/zkbench/zkbench/results/table"
)

// Estimate says how many times the value of the base the other side has. Numbers that are not known are missing.
type Estimate struct {
	Ratio table.Number `json:"ratio"` // the median over the pairs if there are any, else the ratio of the values
	Low   table.Number `json:"low"`   // 95 % interval of the ratio, which needs 6 pairs
	High  table.Number `json:"high"`
	Least table.Number `json:"least"` // over the pairs if there are any, else of any two repeats
	Most  table.Number `json:"most"`
	Pairs int          `json:"pairs"` // 0 if the ratio does not come from pairs
}

func missing() table.Number { return table.Number(math.NaN()) }

func noEstimate() Estimate { return Estimate{missing(), missing(), missing(), missing(), missing(), 0} }

// ofValues estimates the ratio of measurements without pairs. It is infinite or missing if the base is 0.
func ofValues(base, other metric.Aggregated) Estimate {
	over := func(a, b float64) table.Number { return table.Number(a / b) }
	return Estimate{over(other.Value, base.Value), missing(), missing(), over(other.Min, base.Max), over(other.Max, base.Min), 0}
}

func ofPairs(e paired.Estimate, logRatios []float64) Estimate {
	exp := func(logRatio float64) table.Number { return table.Number(math.Exp(logRatio)) }
	return Estimate{e.Median, e.Low, e.High, exp(slices.Min(logRatios)), exp(slices.Max(logRatios)), e.Pairs}
}

func (e Estimate) inverse() Estimate {
	return Estimate{1 / e.Ratio, 1 / e.High, 1 / e.Low, 1 / e.Most, 1 / e.Least, e.Pairs}
}

// HasInterval reports whether there were enough pairs.
func (e Estimate) HasInterval() bool { return e.Low > 0 && e.High.Finite() }

// TimesBetter returns how many times better the other side is, which is the inverse of the ratio where less is better.
func (r Row) TimesBetter() Estimate {
	if metric.Named(r.Metric).MoreIsBetter() {
		return r.Estimate
	}
	return r.inverse()
}

// RatioText shows the ratio with its 95 % interval, such as "0.72× [0.71, 0.73]". Without an interval, a single number would promise too
// much: it shows the range over the repeats, such as "2.10–3.40×".
func (r Row) RatioText() string {
	least, most := r.times(r.Least), r.times(r.Most)
	switch {
	case !r.Ratio.Finite():
		return table.Missing
	case r.HasInterval():
		return fmt.Sprintf("%s× [%s, %s]", r.times(r.Ratio), r.times(r.Low), r.times(r.High))
	case least == most:
		return r.times(r.Ratio) + "×"
	default:
		return least + "–" + most + "×"
	}
}

// Speed says how the speeds of the two sides differ, such as "4.00 times as fast", and the 95 % interval, such as "3.71 to 4.31".
// The factor is never below 1: the word says which side it favors.
func (r Row) Speed() (times, interval string) {
	e, word := r.TimesBetter(), "fast"
	if e.Ratio < 1 {
		e, word = e.inverse(), "slow"
	}
	return r.times(e.Ratio) + " times as " + word, r.times(e.Low) + " to " + r.times(e.High)
}

// times shows a ratio with about three digits, or with enough to show a difference that the verdict claims.
func (r Row) times(ratio table.Number) string {
	v := float64(ratio)
	switch short := table.Count(v); {
	case math.IsInf(v, 1): // a repeat of the base is 0
		return "∞"
	case short == "0.00":
		return fmt.Sprintf("%.2g", v)
	case short == "1.00" && v != 1 && r.Verdict.Claimed():
		digits := math.Ceil(-math.Log10(math.Abs(v - 1)))
		return strconv.FormatFloat(v, 'f', int(min(9, digits)), 64)
	default:
		return short
	}
}
