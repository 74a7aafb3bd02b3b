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

// Detectable returns the smallest slowdown, as a ratio, that the rule would call a REGRESSION in four of five trials if pairs
// spread as the given ones do around any median.
//
// It is a simulation with a fixed seed. It draws screens and confirmations from the distances of the given log-ratios to
// their median, to both sides alike, and computes for each the slowdown at which it would be flagged. It knows only the given
// spread: ten pairs without an outlier make the result a little too small.
func (r Rule) Detectable(logRatios []float64) (float64, error) {
	if err := errors.Join(r.Validate(), usable(logRatios)); err != nil {
		return math.Inf(1), fmt.Errorf("computing what is detectable: %w", err)
	}
	if needed := PairsNeeded(0.05); len(logRatios) < needed {
		return math.Inf(1), fmt.Errorf("%d pairs do not show how much pairs vary: take at least %d", len(logRatios), needed)
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

// flaggedFrom returns a function that draws a stage without a slowdown. The function returns the log-ratio that, added to
// every pair, would flag the stage: the lower confidence bound then exceeds zero, so that p is below alpha, and the median
// exceeds the threshold.
func (r Rule) flaggedFrom(pairs int, alpha float64) func(*rand.Rand, []float64) float64 {
	outside := cut(untiedNull(pairs), alpha)
	sample := make([]float64, pairs)
	return func(random *rand.Rand, distances []float64) float64 {
		for i := range sample {
			sample[i] = distances[random.IntN(len(distances))] * float64(1-2*random.IntN(2))
		}
		low, _ := bounds(walshAverages(sample), outside)
		slices.Sort(sample)
		return max(-low, math.Log(r.threshold())-Median(sample))
	}
}

func distancesToMedian(logRatios []float64) []float64 {
	middle := Median(slices.Sorted(slices.Values(logRatios)))
	distances := make([]float64, len(logRatios))
	for i, d := range logRatios {
		distances[i] = math.Abs(d - middle)
	}
	return distances
}
