// Package paired decides from paired, interleaved repeats whether one side is slower than the other.
//
// It takes one position: a datum is the log-ratio of one pair, two runs that followed each other on the same machine in
// random order; and a verdict comes from an exact test over such data, never from an interval that was made for looking
// at, or from a single run. That a slowdown is ruled out is the same test, inverted.
//
// Ratios are oriented by the caller so that more than 1 is worse, whether the metric is a time or a rate.
package paired

import (
	"fmt"
	"math"
)

// MaxPairs is the most pairs that a test takes: the work grows with the cube of their number, and whoever has so many has
// probably taken operations for runs.
const MaxPairs = 500

// LogRatio returns the datum of one pair: 0.0953 where head is 1.1 times base. It subtracts logarithms, so that swapping
// the sides changes the sign and nothing else, and pairs that are equally far apart stay tied. Where more is better,
// the caller swaps the two.
func LogRatio(head, base float64) (float64, error) {
	if !(head > 0 && base > 0) || math.IsInf(head, 0) || math.IsInf(base, 0) {
		return 0, fmt.Errorf("no ratio of %g to %g: both must be positive and finite", head, base)
	}
	return math.Log(head) - math.Log(base), nil
}

// usable refuses what cannot be ranked or would take forever.
func usable(diffs []float64) error {
	if len(diffs) > MaxPairs {
		return fmt.Errorf("%d pairs: at most %d can be tested", len(diffs), MaxPairs)
	}
	for i, d := range diffs {
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return fmt.Errorf("pair %d of %d differs by %g, which is not a finite number", i+1, len(diffs), d)
		}
	}
	return nil
}
