// Package paired decides from pairs of runs whether one side is slower than the other.
//
// It takes one position: a datum is the log-ratio of one pair, two runs that followed each other on one machine in random
// order. A verdict comes from an exact test over such data, and never from a single run or from an interval, which is for
// readers. The same test, inverted, rules out a slowdown.
//
// The caller orients ratios so that more than 1 is worse, for times and for rates.
package paired

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// MaxPairs is the most pairs of a test. The work grows with its cube, and a caller with more has probably mistaken operations for runs.
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

// Greater returns the p-value of the exact one-sided Wilcoxon signed-rank test: the probability of a sum of positive ranks at
// least as large as the observed one, if the sign of each difference is random.
//
// Zeros are ranked and their ranks dropped (Pratt), so that a pair without a difference counts against one. Equal distances
// from zero share the mean of their ranks. The null distribution is counted for these zeros and ties, without approximation.
// Without any difference or pair, p is 1.
func Greater(diffs []float64) float64 {
	ranks, positive := signedRanks(diffs)
	chance, p := nullDistribution(ranks), 0.0
	for sum := len(chance) - 1; sum >= positive; sum-- { // the smallest probabilities first
		p += chance[sum]
	}
	return min(p, 1)
}

// signedRanks returns twice the rank of each difference that is not zero, and the sum of these for the positive differences.
// The ranks are doubled because the mean rank of a tie may be a half.
func signedRanks(diffs []float64) (doubled []int, positive int) {
	byDistance := slices.Clone(diffs)
	slices.SortFunc(byDistance, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	for first := 0; first < len(byDistance); {
		end := first + 1
		for end < len(byDistance) && math.Abs(byDistance[end]) == math.Abs(byDistance[first]) {
			end++
		}
		rank := first + 1 + end // twice the mean of the ranks first+1 to end
		for _, d := range byDistance[first:end] {
			if d != 0 {
				doubled = append(doubled, rank)
			}
			if d > 0 {
				positive += rank
			}
		}
		first = end
	}
	return doubled, positive
}

// nullDistribution returns the probability of each sum of ranks if each rank is part of it with probability 1/2. The
// probabilities are multiples of 2^-n, and so are exact up to 53 ranks and rounded beyond.
func nullDistribution(ranks []int) []float64 {
	chance := make([]float64, list.Sum(ranks)+1)
	chance[0] = 1
	reached := 0
	for _, r := range ranks {
		reached += r
		for sum := reached; sum >= r; sum-- {
			chance[sum] = (chance[sum] + chance[sum-r]) / 2
		}
		for sum := min(r-1, reached); sum >= 0; sum-- {
			chance[sum] /= 2
		}
	}
	return chance
}

// SmallestP returns the smallest p-value of that many pairs: 2^-n, if all differences have the same sign.
func SmallestP(pairs int) float64 { return math.Ldexp(1, -pairs) }

// PairsNeeded returns the smallest number of pairs that can have a p-value below alpha; math.MaxInt if that is more than MaxPairs.
func PairsNeeded(alpha float64) int {
	for pairs := 1; pairs <= MaxPairs; pairs++ {
		if SmallestP(pairs) < alpha {
			return pairs
		}
	}
	return math.MaxInt
}

// CanReject returns an error with the arithmetic if so many pairs never have a p-value below alpha: a gate with such a rule cannot fail.
func CanReject(pairs int, alpha float64) error {
	needed := PairsNeeded(alpha)
	switch {
	case !(alpha > 0 && alpha <= 0.5) || needed > MaxPairs:
		return fmt.Errorf("alpha %g: wants more than %.2g, and at most 0.5", alpha, SmallestP(MaxPairs))
	case pairs > MaxPairs:
		return fmt.Errorf("%d pairs: at most %d can be tested", pairs, MaxPairs)
	case pairs < needed:
		return fmt.Errorf("%d %s can reach p = %.2g at best, which is not below %g: take at least %d",
			pairs, table.Plural(pairs, "pair"), SmallestP(max(pairs, 0)), alpha, needed)
	}
	return nil
}
