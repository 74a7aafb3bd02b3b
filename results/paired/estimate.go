package paired

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zkbench/zkbench/results/table"
)

// Estimate describes the slowdown for readers; all fields but the number of pairs are ratios. The bounds invert the
// signed-rank test. They hold if log-ratios spread evenly to both sides, and ties make them wider than necessary. With too
// few pairs there is no bound: Low is 0, High and Upper are +Inf.
type Estimate struct {
	Pairs  int          `json:"pairs"`
	Median table.Number `json:"median_ratio"` // the ratio that a Rule compares with its limits
	Low    table.Number `json:"low"`          // of the two-sided 95 % interval, which needs 6 pairs
	High   table.Number `json:"high"`
	Upper  table.Number `json:"upper_bound"` // one-sided 95 % upper bound; needs 5 pairs
}

// Summarize estimates the ratio from log-ratios.
func Summarize(logRatios []float64) (Estimate, error) {
	if len(logRatios) == 0 {
		return Estimate{}, errors.New("an estimate needs at least one pair")
	}
	if err := usable(logRatios); err != nil {
		return Estimate{}, err
	}
	return estimate(logRatios), nil
}

func estimate(logRatios []float64) Estimate {
	means := walshAverages(logRatios)
	untied := untiedNull(len(logRatios))
	low, high := bounds(means, cut(untied, 0.025))
	_, upper := bounds(means, cut(untied, 0.05))
	return Estimate{
		Pairs:  len(logRatios),
		Median: ratio(Median(slices.Sorted(slices.Values(logRatios)))),
		Low:    ratio(low),
		High:   ratio(high),
		Upper:  ratio(upper),
	}
}

func ratio(logarithm float64) table.Number { return table.Number(math.Exp(logarithm)) }

// Resolution returns the machine's run-to-run noise as a ratio, from A/A pairs, whose sides are the same build. It is the end
// of the 95 % interval that is farther from 1, and at least the median, which shows a bias of the set-up. Take as many pairs
// as a screen has, because more pairs narrow the interval.
func Resolution(logRatios []float64) (float64, error) {
	if needed := PairsNeeded(0.025); len(logRatios) < needed {
		return math.Inf(1), fmt.Errorf("%d A/A pairs have no 95 %% interval: take at least %d", len(logRatios), needed)
	}
	e, err := Summarize(logRatios)
	if err != nil {
		return math.Inf(1), fmt.Errorf("calibrating: %w", err)
	}
	return float64(max(e.High, 1/e.Low, e.Median, 1/e.Median)), nil
}

// walshAverages returns the mean of every log-ratio with itself and with each other one, sorted.
func walshAverages(logRatios []float64) []float64 {
	means := make([]float64, 0, len(logRatios)*(len(logRatios)+1)/2)
	for i, a := range logRatios {
		for _, b := range logRatios[i:] {
			means = append(means, a/2+b/2) // not (a+b)/2, which can overflow
		}
	}
	slices.Sort(means)
	return means
}

// untiedNull returns the null distribution of the sum of the ranks 1 to pairs.
func untiedNull(pairs int) []float64 {
	ranks := make([]int, pairs)
	for i := range ranks {
		ranks[i] = i + 1
	}
	return nullDistribution(ranks)
}

// cut returns the number of Walsh averages outside a bound with error probability alpha. It is the number of sums of ranks,
// from 0 up, whose probabilities add up to less than alpha.
func cut(untied []float64, alpha float64) int {
	p, sums := 0.0, 0
	for _, chance := range untied {
		if p += chance; p >= alpha {
			break
		}
		sums++
	}
	return sums
}

// bounds returns the outermost Walsh averages that are not cut off; infinities if none is cut off.
func bounds(means []float64, outside int) (low, high float64) {
	if outside == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	return means[outside-1], means[len(means)-outside]
}

// Median returns the median of values in ascending order.
func Median(sorted []float64) float64 {
	n := len(sorted)
	return sorted[(n-1)/2]/2 + sorted[n/2]/2
}
