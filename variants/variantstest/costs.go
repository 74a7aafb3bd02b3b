package variantstest

import (
	"math"
	"testing"

	"github.com/zkbench/zkbench/variants"
)

// Counts is what a whole stepped run costs.
type Counts struct {
	Operations    float64
	Requests      float64
	Writes        float64
	FailedWrites  float64
	Notifications float64
	HerdMax       float64
}

// Read counts so many reads.
func (c *Counts) Read(requests int) { c.Requests += float64(requests) }

// Write counts a write that so many watches notice.
func (c *Counts) Write(notified int) {
	c.Requests++
	c.Writes++
	c.Notifications += float64(notified)
	c.HerdMax = max(c.HerdMax, float64(notified))
}

// sizes are the numbers of clients for which formulas are held to something: all small ones, and a large one.
func sizes() []int {
	var out []int
	for n := range 60 {
		out = append(out, n+1)
	}
	return append(out, 200)
}

// SteppedCosts holds the formulas of all variants that can be stepped to a simulation, which walks through a run of n
// clients by the rules of one-shot watches and counts: a second derivation, independent of the algebra.
func SteppedCosts(t *testing.T, recipe variants.Recipe, simulate func(variant string, n int) Counts) {
	t.Helper()
	for _, v := range recipe.Variants {
		if !v.CanStep() {
			continue
		}
		for _, n := range sizes() {
			want := simulate(v.Name, n)
			for _, c := range []struct {
				what      string
				got, want float64
			}{
				{"requests", v.Stepped.Requests.At(n) * want.Operations, want.Requests},
				{"writes", v.Stepped.Writes.At(n) * want.Operations, want.Writes},
				{"failed writes", v.Stepped.FailedWrites.At(n) * want.Operations, want.FailedWrites},
				{"notifications", v.Stepped.Notifications.At(n) * want.Operations, want.Notifications},
				{"herd", v.Stepped.HerdMax.At(n), want.HerdMax},
			} {
				if math.Abs(c.got-c.want) > 1e-6 {
					t.Errorf("%s, N=%d: %s = %g by the formula, %g by simulation", v.Name, n, c.what, c.got, c.want)
				}
			}
		}
	}
}

// FreeCosts holds the formulas for clients that loop at their own pace to those for a stepped run: whoever is alone pays
// the same, and no bound is below what steps cost.
func FreeCosts(t *testing.T, recipe variants.Recipe) {
	t.Helper()
	for _, v := range recipe.Variants {
		if !v.CanStep() {
			continue
		}
		for _, n := range sizes() {
			for _, c := range []struct {
				what          string
				stepped, free variants.Formula
			}{
				{"requests", v.Stepped.Requests, v.Free.Requests},
				{"writes", v.Stepped.Writes, v.Free.Writes},
				{"failed writes", v.Stepped.FailedWrites, v.Free.FailedWrites},
				{"notifications", v.Stepped.Notifications, v.Free.Notifications},
				{"herd", v.Stepped.HerdMax, v.Free.HerdMax},
			} {
				if s, f := c.stepped.At(n), c.free.At(n); f < s || n == 1 && f != s {
					t.Errorf("%s, N=%d: %s cost %g in steps, %g at most", v.Name, n, c.what, s, f)
				}
			}
		}
	}
}
