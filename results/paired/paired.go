// Package paired decides from pairs of runs whether one side is slower than the other.
//
// It takes one position: a datum is the log-ratio of one pair, two runs that followed each other on one machine in random
// order. A verdict comes from an exact test over such data, and never from a single run or from an interval, which is for
// readers. The same test, inverted, rules out a slowdown.
//
// The caller orients ratios so that more than 1 is worse, for times and for rates.
package paired

import (
	"fmt"
	"math"
)

// MaxPairs is the largest number of pairs of a test. The work grows with its cube, and a caller with more pairs has probably
// mistaken operations for runs.
const MaxPairs = 500

// LogRatio returns the datum of one pair: 0.0953 if head is 1.1 times base. It subtracts logarithms, so that swapping the
// sides changes only the sign, and equal distances stay tied. Where more is better, the caller swaps the sides. Both must be positive and
// finite: a test refuses the datum otherwise.
func LogRatio(head, base float64) float64 { return math.Log(head) - math.Log(base) }

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
