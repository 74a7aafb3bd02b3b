package variantstest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants"
)

// Counts is the cost of a whole lockstep run.
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

// LockstepCosts holds the formulas of all variants that can run in lockstep to a simulation, which walks through a run of n
// clients by the rules of one-shot watches and counts: a second derivation, independent of the algebra. simulated names the
// variants that the simulation has a case for; it would take another one for one of these.
func LockstepCosts(t *testing.T, recipe variants.Recipe, simulate func(variant string, n int) Counts, simulated ...string) {
	t.Helper()
	LockstepCostsOfSize(t, recipe, 1, simulate, simulated...)
}

// LockstepCostsOfSize is LockstepCosts for a simulation of a size.
func LockstepCostsOfSize(t *testing.T, recipe variants.Recipe, size int, simulate func(variant string, n int) Counts, simulated ...string) {
	t.Helper()
	for _, problem := range unsimulated(recipe, simulated) {
		t.Error(problem)
	}
	for _, v := range recipe.All() {
		if !v.HasLockstep() || !slices.Contains(simulated, v.Name) {
			continue
		}
		for _, n := range sizes() {
			want := simulate(v.Name, n)
			for _, c := range []struct {
				what      string
				got, want float64
			}{
				{"requests", v.Lockstep.Requests.AtSize(n, size) * want.Operations, want.Requests},
				{"writes", v.Lockstep.Writes.AtSize(n, size) * want.Operations, want.Writes},
				{"failed writes", v.Lockstep.FailedWrites.AtSize(n, size) * want.Operations, want.FailedWrites},
				{"notifications", v.Lockstep.Notifications.AtSize(n, size) * want.Operations, want.Notifications},
				{"herd", v.Lockstep.HerdMax.AtSize(n, size), want.HerdMax},
			} {
				if math.Abs(c.got-c.want) > 1e-6 {
					t.Errorf("%s, N=%d, S=%d: %s = %g by the formula, %g by simulation", v.Name, n, size, c.what, c.got, c.want)
				}
			}
		}
	}
}

// unsimulated returns, with the step to take, what a simulation lacks of a recipe's variants or has too much.
func unsimulated(recipe variants.Recipe, simulated []string) []string {
	var problems, known []string
	for _, v := range recipe.All() {
		if known = append(known, v.Name); v.HasLockstep() && !slices.Contains(simulated, v.Name) {
			problems = append(problems, fmt.Sprintf("%s/%s is not simulated: add a case to the simulation in this test, and the variant's name to the call of LockstepCosts (CONTRIBUTING.md, Adding a variant)", recipe.Name, v.Name))
		}
	}
	for _, name := range simulated {
		if !slices.Contains(known, name) {
			problems = append(problems, fmt.Sprintf("%s is simulated, but recipe %s has no such variant: take it out of the simulation and of the call of LockstepCosts", name, recipe.Name))
		}
	}
	return problems
}

// FreeCosts holds the formulas for clients that loop freely to those for a lockstep run: a client that is alone pays the
// same, and no bound is below the cost in lockstep.
func FreeCosts(t *testing.T, recipe variants.Recipe) {
	t.Helper()
	FreeCostsOfSize(t, recipe, 1)
}

// FreeCostsOfSize is FreeCosts for a size.
func FreeCostsOfSize(t *testing.T, recipe variants.Recipe, size int) {
	t.Helper()
	for _, v := range recipe.Variants {
		if !v.HasLockstep() {
			continue
		}
		for _, n := range sizes() {
			for _, c := range []struct {
				what          string
				stepped, free variants.Formula
			}{
				{"requests", v.Lockstep.Requests, v.Free.Requests},
				{"writes", v.Lockstep.Writes, v.Free.Writes},
				{"failed writes", v.Lockstep.FailedWrites, v.Free.FailedWrites},
				{"notifications", v.Lockstep.Notifications, v.Free.Notifications},
				{"herd", v.Lockstep.HerdMax, v.Free.HerdMax},
			} {
				if s, f := c.stepped.AtSize(n, size), c.free.AtSize(n, size); f < s || n == 1 && f != s {
					t.Errorf("%s, N=%d, S=%d: %s cost %g in steps, %g at most", v.Name, n, size, c.what, s, f)
				}
			}
		}
	}
}
