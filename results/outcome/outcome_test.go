package outcome_test

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results/outcome"
)

// Every set of exit codes, in either order: 4 > 2 > 1 > 5 > 3 > 0.
func TestDeciding(t *testing.T) {
	order := []int{4, 2, 1, 5, 3, 0}
	for set := 1; set < 1<<len(order); set++ {
		var codes []int
		for i, code := range order {
			if set&(1<<i) != 0 {
				codes = append(codes, code)
			}
		}
		want := codes[0]
		for range 2 {
			if got := outcome.Deciding(codes...); got != want {
				t.Errorf("Deciding(%v) = %d, want %d", codes, got, want)
			}
			slices.Reverse(codes)
		}
	}
	if got := outcome.Deciding(); got != outcome.CodePass {
		t.Errorf("Deciding() = %d, want %d", got, outcome.CodePass)
	}
	if got := outcome.Deciding(77); got != outcome.CodeFailed {
		t.Errorf("Deciding(77) = %d, want %d", got, outcome.CodeFailed)
	}
}

// A sorted list begins with an outcome whose code decides for the whole list.
func TestCompareAgreesWithDeciding(t *testing.T) {
	all := []outcome.Outcome{outcome.Pass, outcome.Regression, outcome.Inconclusive, outcome.Invalid, outcome.Error, outcome.Violation, "unknown"}
	for _, a := range all {
		for _, b := range all {
			pair := []outcome.Outcome{a, b}
			slices.SortStableFunc(pair, outcome.Compare)
			if got, want := pair[0].Code(), outcome.Deciding(a.Code(), b.Code()); got != want {
				t.Errorf("the worse of %s and %s has code %d, want %d", a, b, got, want)
			}
		}
	}
}
