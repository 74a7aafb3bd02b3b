package paired

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	power       = 0.8
	simulations = 1000
)

// Detectable returns the smallest slowdown, as a ratio, that the rule would call a REGRESSION four times in five if pairs
// went on to spread as these do, whatever their median is.
//
// It is a simulation with a fixed seed and no formula: screens and confirmations are drawn from the distances of the given
// log-ratios to their median, to both sides alike, and for each the slowdown is computed from which on it is flagged. It
// knows only the spread that it is shown: ten pairs without a hiccup say nothing about hiccups, and tend to a result that
// is a little too small.
func (r Rule) Detectable(logRatios []float64) (float64, error) {
	if err := errors.Join(r.Validate(), usable(logRatios)); err != nil {
		return math.Inf(1), fmt.Errorf("computing what is detectable: %w", err)
	}
	if needed := PairsNeeded(0.05); len(logRatios) < needed {
		return math.Inf(1), fmt.Errorf("%d pairs do not show how pairs spread: take at least %d", len(logRatios), needed)
	}
	distances := distancesToMedian(logRatios)
	random := rand.New(rand.NewPCG(1, 1))
	screen := r.flaggedFrom(r.ScreenPairs, r.ScreenAlpha)
	confirm := r.flaggedFrom(r.ConfirmPairs, r.ConfirmAlpha)
	slowdowns := make([]float64, simulations)
	for i := range slowdowns {
		slowdowns[i] = max(screen(random, distances), confirm(random, distances))
	}
	slices.Sort(slowdowns)
	return math.Exp(slowdowns[int(math.Ceil(power*simulations))-1]), nil
}

// flaggedFrom returns a function that draws a stage in which nothing is slower, and tells from which log-ratio on it would
// be flagged if that were added to every pair: once the lower confidence bound exceeds zero, which is when p falls
// below alpha, and the median exceeds the threshold.
func (r Rule) flaggedFrom(pairs int, alpha float64) func(*rand.Rand, []float64) float64 {
	outside := cut(untiedNull(pairs), alpha)
	sample := make([]float64, pairs)
	return func(random *rand.Rand, distances []float64) float64 {
		for i := range sample {
			sample[i] = distances[random.IntN(len(distances))] * float64(1-2*random.IntN(2))
		}
		low, _ := bounds(walshAverages(sample), outside)
		slices.Sort(sample)
		return max(-low, math.Log(r.threshold())-median(sample))
	}
}

func distancesToMedian(logRatios []float64) []float64 {
	middle := median(slices.Sorted(slices.Values(logRatios)))
	distances := make([]float64, len(logRatios))
	for i, d := range logRatios {
		distances[i] = math.Abs(d - middle)
	}
	return distances
}
