package paired_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/results/paired"
)

// TestDetectable plants the slowdown that is said to be detectable, and counts how often it is detected.
func TestDetectable(t *testing.T) {
	if raceDetector || testing.Short() {
		t.Skip("computes much and shares nothing")
	}
	random := rand.New(rand.NewPCG(17, 17))
	for _, deviation := range []float64{0.04, 0.14, 0.42} {
		rule := paired.DefaultRule()
		detectable := rule.Detectable(normals(random, 200, 0.5, deviation)) // many, so that the spread is known well
		detected := 0
		for range 1000 {
			screen, confirmation := normals(random, 10, math.Log(detectable), deviation), normals(random, 20, math.Log(detectable), deviation)
			if judge(t, rule, screen, confirmation).Verdict == paired.Regression {
				detected++
			}
		}
		if detected < 720 || detected > 880 {
			t.Errorf("spread %g: %.3f times is detected in %d of 1000 trials", deviation, detectable, detected)
		}
	}
}

func TestDetectableAtTheEdges(t *testing.T) {
	rule := paired.DefaultRule()
	if quiet := rule.Detectable(slices.Repeat([]float64{0.3}, 10)); !near(quiet, 1.1) {
		t.Errorf("without spread: %g", quiet)
	}
	rule.Resolution = 1.5
	if coarse := rule.Detectable(steady(10, 1)); coarse < 1.5 {
		t.Errorf("finer than the resolution: %g", coarse)
	}
	for _, few := range [][]float64{nil, steady(4, 1)} {
		if got := rule.Detectable(few); !math.IsInf(got, 1) {
			t.Errorf("%v: %g, although these do not show how much pairs vary", few, got)
		}
	}
}
