package variants_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

func TestFormulaAt(t *testing.T) {
	for _, tt := range []struct {
		formula variants.Formula
		n       int
		want    float64
	}{
		{"", 5, math.Inf(1)},
		{"no bound", 5, math.Inf(1)},
		{"no bound: more with each poll (3 for N=1)", 5, math.Inf(1)},
		{"no bound: more with each poll (3 for N=1)", 1, 3},
		{"2", 5, 2},
		{"3.1", 5, 3.1},
		{"2N+1", 5, 11},
		{"10 - 3 - N", 5, 2},
		{"N/2/5", 5, 0.5},
		{"N/2*4·3", 5, 30},
		{"1/2N", 5, 0.1}, // the product binds tighter than the division
		{"(N-1)(N-2)/2N", 5, 1.2},
		{"(N + (N-1)²)/N", 5, 4.2},
		{"2N²+N³", 5, 175},
		{"1 + ⌈N/10⌉/N", 21, 1 + 3.0/21},
		{"⌊(N+1)/3⌋", 5, 2},
		{"3 + 2 min(2, N-1)", 5, 7},
		{"max(1, N-3) min(N, 3)", 5, 6},
		{"2N (4 for N=1)", 5, 10},
		{"2N (4 for N=1)", 1, 4},
		{"1/(N-1) (0.5 for N=1)", 1, 0.5},
		{"wr + w(r+1) with w=2, r=⌊N/3⌋", 10, 14},
		{"a with b=min(N, 4), a=2b (0 for N=1)", 10, 8},
		{"1+N, or 1 if w=2 with w=⌊N/2⌋", 5, 1},
		{"1+N, or 1 if w=2 with w=⌊N/2⌋", 6, 7},
		{"1.1 + 0.1/N", 1, 1.2}, // not 1.2000000000000002
		{"1 + (S+1)(N-1)", 5, 9},
	} {
		if got := tt.formula.At(tt.n); got != tt.want {
			t.Errorf("%q at N=%d is %v, want %v", tt.formula, tt.n, got, tt.want)
		}
	}
}

func TestFormulaAtSize(t *testing.T) {
	for _, tt := range []struct {
		formula variants.Formula
		size    int
		want    float64
		names   bool
	}{
		{"SN", 3, 15, true},
		{"1 + (SN/2+S-1)(N-1)", 3, 39, true},
		{"(N-1)/S", 2, 2, true},
		{"a with a=2S", 20, 40, true},
		{"2N+1", 3, 11, false},
	} {
		if got := tt.formula.AtSize(5, tt.size); got != tt.want {
			t.Errorf("%q at N=5, S=%d is %v, want %v", tt.formula, tt.size, got, tt.want)
		}
		if got := tt.formula.NamesSize(); got != tt.names {
			t.Errorf("%q names the size: %t, want %t", tt.formula, got, tt.names)
		}
	}
}

// mistake returns the text of the panic; empty without one.
func mistake(f variants.Formula, n int) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint(r)
		}
	}()
	f.At(n)
	return ""
}

func TestFormulaMistakes(t *testing.T) {
	for _, tt := range []struct {
		formula variants.Formula
		want    string
	}{
		{"2N+", "want a number, a name or a parenthesis at offset 3"},
		{" ", "want a number, a name or a parenthesis at offset 1"},
		{"-N", "want a number, a name or a parenthesis at offset 0"},
		{"(N+1", `want ")" at offset 4`},
		{"⌈N/2)", `want "⌉" at offset 6`},
		{"min(N)", `want "," at offset 5`},
		{"N 2", "want an operator or the end at offset 2"},
		{"1.2.3", "want a number at offset 0"},
		{"N+k", "want a name that is defined before this at offset 3"},
		{"k with k=", "want a number, a name or a parenthesis at offset 9"},
		{"k with k=2 3", "want an operator or the end at offset 11"},
		{"k with k+2", `want "=" at offset 8`},
		{"N, or 2", `want "if" at offset 7`},
		{"N (k for N=1)", "want a name that is defined before this at offset 4"},
		{" for N=1)", "want a name that is defined before this at offset 2"},
	} {
		want := fmt.Sprintf("formula %q: %s", tt.formula, tt.want)
		for _, n := range []int{1, 5} {
			if got := mistake(tt.formula, n); got != want {
				t.Errorf("panic at N=%d: %s, want %s", n, got, want)
			}
		}
	}
}

// Every formula of the catalog can be evaluated, and states a finite cost unless it says that there is no bound. A variant
// states all costs of free clients, and all or none of the lockstep costs.
func TestCatalogFormulas(t *testing.T) {
	for _, recipe := range catalog.Recipes() {
		for _, v := range recipe.All() {
			costs := []variants.Cost{v.Free}
			if v.HasLockstep() {
				costs = append(costs, v.Lockstep)
			} else if v.Lockstep != (variants.Cost{}) {
				t.Errorf("%s/%s states some of the lockstep costs: %+v", recipe.Name, v.Name, v.Lockstep)
			}
			for _, c := range costs {
				for _, f := range []variants.Formula{c.Requests, c.Writes, c.FailedWrites, c.Notifications, c.HerdMax} {
					checkFormula(t, recipe.Name+"/"+v.Name, f)
				}
			}
		}
	}
}

func checkFormula(t *testing.T, variant string, f variants.Formula) {
	t.Helper()
	for _, n := range []int{1, 2, 200} {
		if text := mistake(f, n); text != "" {
			t.Errorf("%s: %s", variant, text)
			return
		}
		value, bounded := f.At(n), !strings.HasPrefix(string(f), "no bound")
		if bounded && !(0 <= value && value < math.Inf(1)) || !bounded && n > 1 && !math.IsInf(value, 1) {
			t.Errorf("%s: formula %q is %v for N=%d", variant, f, value, n)
		}
	}
}

// FuzzFormula evaluates any text: it is a formula for each N, or the documented panic for each N.
func FuzzFormula(f *testing.F) {
	for _, recipe := range catalog.Recipes() {
		for _, v := range recipe.Variants {
			f.Add(string(v.Free.Requests))
			f.Add(string(v.Lockstep.HerdMax))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			t.Skip("the depth of the recursion is that of the parentheses")
		}
		alone, many := mistake(variants.Formula(text), 1), mistake(variants.Formula(text), 5)
		if alone != many || many != "" && !strings.HasPrefix(many, fmt.Sprintf("formula %q: want ", text)) {
			t.Errorf("%q for N=1, %q for N=5", alone, many)
		}
	})
}
