package catalog_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// few and many are two numbers of clients. A cost that does not grow with N may still approach a limit, or be less for a few clients.
const (
	few  = 20
	many = 10 * few
)

// grows reports whether a cost grows with the number of clients, or has no bound.
func grows(f variants.Formula, size int) bool {
	return math.IsInf(f.AtSize(few, size), 1) || f.AtSize(many, size) > 2*f.AtSize(few, size)
}

// An optimized variant's requests and failed writes do not grow with the number of clients, unless the recipe's promise demands it. Then a
// paragraph of its comment that begins with "Grows:" says why. Where the promise does not demand it, the variant is naive.
func TestOptimizedCostsDoNotGrow(t *testing.T) {
	explained := 0
	for _, recipe := range catalog.Recipes() {
		for _, v := range recipe.Variants {
			growing := grows(v.Free.Requests, recipe.UsualSize()) || grows(v.Free.FailedWrites, recipe.UsualSize())
			reason := strings.Contains(commentOf(t, recipe, v), "\n//\n// Grows: ")
			switch {
			case reason && (!growing || v.Kind != variants.Optimized):
				t.Errorf("%s/%s (%s) says why its cost grows, but it need not", recipe.Name, v.Name, v.Kind)
			case growing && v.Kind == variants.Optimized && !reason:
				t.Errorf(`%s/%s is called optimized, but its requests (%s) or failed writes (%s) grow with N, and no paragraph "Grows:" says why`,
					recipe.Name, v.Name, v.Free.Requests, v.Free.FailedWrites)
			case reason:
				explained++
			}
		}
	}
	if explained == 0 {
		t.Error("no variant says why its cost grows, although each reader of a configuration must learn of each change")
	}
}

// commentOf returns the lines of the comment of a variant's type.
func commentOf(t *testing.T, r variants.Recipe, v variants.Variant) string {
	t.Helper()
	name := cmp.Or(v.Type, strings.ReplaceAll(v.Name, "-", ""))
	declared := regexp.MustCompile(fmt.Sprintf(`(?im)^((?://.*\n)+)(?:type|func) %s\b`, name))
	for _, file := range must.Get(fs.Glob(r.Code, "*.go"))(t) {
		if found := declared.FindSubmatch(must.Get(fs.ReadFile(r.Code, file))(t)); found != nil {
			return string(bytes.TrimSpace(found[1]))
		}
	}
	t.Fatalf("%s/%s: no comment of %s", r.Name, v.Name, name)
	return ""
}

func TestGrows(t *testing.T) {
	for formula, want := range map[variants.Formula]bool{
		"0": false, "9 (6 for N=1)": false, "(10N-4)/N": false, "3 + 2 min(2, N-1)": false, "no bound": true,
		"N": true, "2N+3": true, "1 + (S+1)(N-1)": true, "(2N²+3N-3)/N": true,
	} {
		if got := grows(formula, 3); got != want {
			t.Errorf("%s grows: %t, want %t", formula, got, want)
		}
	}
}
