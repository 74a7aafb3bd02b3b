package catalog_test

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// Every recipe names its events, each by a name of its own.
func TestRecipesNameTheirEvents(t *testing.T) {
	for _, recipe := range catalog.Recipes() {
		if len(recipe.Events) == 0 {
			t.Errorf("%s names no events", recipe.Name)
		}
		for kind, name := range recipe.Events {
			if name == "" || slices.Index(recipe.Events, name) < kind {
				t.Errorf("%s: event %d is named %q, which is empty or the name of another event", recipe.Name, kind, name)
			}
		}
	}
}

// No bound for clients that loop freely is below the cost in a lockstep run, in which nothing coalesces. The costs of a client that is
// alone are the same.
func TestFreeCostsBoundThoseInLockstep(t *testing.T) {
	for _, recipe := range catalog.Recipes() {
		for _, v := range recipe.All() {
			if v.HasLockstep() { // the others have bounds alone
				checkBounds(t, recipe, v)
			}
		}
	}
}

func checkBounds(t *testing.T, recipe variants.Recipe, v variants.Variant) {
	t.Helper()
	for what, c := range map[string]struct{ lockstep, free variants.Formula }{
		"requests":      {v.Lockstep.Requests, v.Free.Requests},
		"writes":        {v.Lockstep.Writes, v.Free.Writes},
		"failed writes": {v.Lockstep.FailedWrites, v.Free.FailedWrites},
		"notifications": {v.Lockstep.Notifications, v.Free.Notifications},
		"herd":          {v.Lockstep.HerdMax, v.Free.HerdMax},
	} {
		for _, size := range []int{1, 3, 20} {
			for n := 1; n <= 60; n++ {
				l, f := c.lockstep.AtSize(n, size), c.free.AtSize(n, size)
				if f < l || n == 1 && f != l {
					t.Errorf("%s/%s, N=%d, S=%d: %s cost %g in lockstep, %g at most", recipe.Name, v.Name, n, size, what, l, f)
				}
			}
		}
	}
}
