package catalog_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// Each recipe has a bound, for a phase of the recipe, and no variant costs less than it.
func TestBounds(t *testing.T) {
	for _, r := range catalog.Recipes() {
		b := r.Bound
		if b.Why == "" || strings.HasSuffix(b.Why, ".") {
			t.Errorf("%s: wants a sentence without its full stop for why the bound holds, not %q", r.Name, b.Why)
		}
		if !slices.ContainsFunc(r.Phases, func(p variants.Phase) bool { return p.Name == b.Phase }) {
			t.Errorf("%s: the bound is of phase %q, which the recipe does not have", r.Name, b.Phase)
		}
		for _, wrong := range belowBound(r) {
			t.Error(wrong)
		}
	}
}

// A bound that is larger than the cost of the recipe's best variant by one request or notification in ten operations is found.
func TestWrongBoundsAreFound(t *testing.T) {
	for _, r := range catalog.Recipes() {
		for _, too := range []func(b *variants.Bound){
			func(b *variants.Bound) { b.Writes = least(r, costWrites) },
			func(b *variants.Bound) { b.Reads = least(r, costRequests) },
			func(b *variants.Bound) { b.Notifications = least(r, costNotifications) },
		} {
			wrong := r
			if too(&wrong.Bound); len(belowBound(wrong)) == 0 {
				t.Errorf("%s: the bound %s is not found to be wrong", r.Name, wrong.Bound)
			}
		}
	}
}

func costRequests(c variants.Cost) variants.Formula      { return c.Requests }
func costWrites(c variants.Cost) variants.Formula        { return c.Writes }
func costNotifications(c variants.Cost) variants.Formula { return c.Notifications }

// least returns a tenth more than the least cost of the recipe's variants in a lockstep run of 50 clients.
func least(r variants.Recipe, of func(variants.Cost) variants.Formula) variants.Formula {
	found := math.Inf(1)
	for _, v := range r.All() {
		found = min(found, of(v.Lockstep).At(50))
	}
	return variants.Formula(fmt.Sprintf("%.6f", found+0.1))
}

// belowBound returns a message for each formula of a variant that is below the recipe's bound. Only in lockstep do all clients wait, without
// polling, so that the notifications can be compared.
func belowBound(r variants.Recipe) (wrong []string) {
	for _, v := range r.All() {
		for _, n := range []int{1, 2, 10, 50} {
			for _, size := range []int{1, r.UsualSize()} {
				bound := func(f variants.Formula) float64 { return f.AtSize(n, size) }
				check := func(mode string, f variants.Formula, least float64) {
					if cost := f.AtSize(n, size); !(cost > least-1e-9) {
						wrong = append(wrong, fmt.Sprintf("%s/%s, %d clients, %s: %q is %g, below the bound %g (%s)", r.Name, v.Name, n, mode, f, cost, least, r.Bound))
					}
				}
				writes, reads := bound(r.Bound.Writes), bound(r.Bound.Reads)
				check("free writes", v.Free.Writes, writes)
				check("free requests", v.Free.Requests, writes+reads)
				if v.HasLockstep() {
					check("lockstep writes", v.Lockstep.Writes, writes)
					check("lockstep requests", v.Lockstep.Requests, writes+reads)
					check("lockstep notifications", v.Lockstep.Notifications, bound(r.Bound.Notifications))
				}
			}
		}
	}
	return wrong
}
