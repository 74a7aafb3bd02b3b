package paired

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Greater returns the p-value of the exact one-sided Wilcoxon signed-rank test: how probable a sum of positive ranks at
// least as large as that of diffs would be if every difference were as likely to have the other sign.
//
// Zeros are ranked and their ranks dropped (Pratt), so that a pair without a difference counts against one; equal
// distances from zero share the mean of their ranks. The null distribution is the one given these zeros and ties, by
// counting and without approximation. Without any difference, or any pair, p is 1; it is 1 with an error, too.
func Greater(diffs []float64) (float64, error) {
	if err := usable(diffs); err != nil {
		return 1, err
	}
	ranks, positive := signedRanks(diffs)
	return atLeast(nullDistribution(ranks), positive), nil
}

// signedRanks returns twice the rank of each difference that is not zero, and how much of that belongs to positive ones.
// Doubled, the mean rank of a tie is an integer.
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

// nullDistribution returns how probable each sum of ranks is if each of them is in it or not by the toss of a coin. The
// probabilities are multiples of 2^-n, hence exact up to 53 ranks, and beyond that to within rounding.
func nullDistribution(ranks []int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	chance := make([]float64, total+1)
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

// atLeast adds from the far end, the smallest probabilities first.
func atLeast(chance []float64, observed int) float64 {
	p := 0.0
	for sum := len(chance) - 1; sum >= observed; sum-- {
		p += chance[sum]
	}
	return min(p, 1)
}

// SmallestP returns the smallest p-value that so many pairs can have: 2^-n, when all of them point the same way.
func SmallestP(pairs int) float64 { return math.Ldexp(1, -pairs) }

// PairsNeeded returns how many pairs it takes at least until a p-value below alpha is possible, and math.MaxInt if that
// is never, or more than MaxPairs.
func PairsNeeded(alpha float64) int {
	for pairs := 1; pairs <= MaxPairs; pairs++ {
		if SmallestP(pairs) < alpha {
			return pairs
		}
	}
	return math.MaxInt
}

// CanReject returns an error with the arithmetic if so many pairs can never have a p-value below alpha: a gate of that
// design would be green whatever happens.
func CanReject(pairs int, alpha float64) error {
	needed := PairsNeeded(alpha)
	switch {
	case !(alpha > 0 && alpha <= 0.5) || needed > MaxPairs:
		return fmt.Errorf("alpha %g: wants more than %.2g, and at most 0.5", alpha, SmallestP(MaxPairs))
	case pairs > MaxPairs:
		return fmt.Errorf("%d pairs: at most %d can be tested", pairs, MaxPairs)
	case pairs < 1:
		return fmt.Errorf("%d pairs decide nothing: take at least %d", pairs, needed)
	case pairs < needed:
		return fmt.Errorf("%d pairs can reach p = %.2g at best, which is not below %g: take at least %d",
			pairs, SmallestP(pairs), alpha, needed)
	}
	return nil
}
