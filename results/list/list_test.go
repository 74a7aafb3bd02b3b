package list_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/zkbench/zkbench/results/list"
)

func TestLists(t *testing.T) {
	if got := list.Map([]int{2, 1}, strconv.Itoa); !slices.Equal(got, []string{"2", "1"}) {
		t.Errorf("Map = %q", got)
	}
	if got := list.Map(nil, strconv.Itoa); got != nil {
		t.Errorf("Map of nothing = %#v, not nil", got)
	}
	if got := list.AppendNew([]int{3, 1}, 1, 2, 2); !slices.Equal(got, []int{3, 1, 2}) {
		t.Errorf("AppendNew = %v", got)
	}
	if got := list.Where([]int{3, 1, 2}, func(n int) bool { return n > 1 }); !slices.Equal(got, []int{3, 2}) {
		t.Errorf("Where = %v", got)
	}
	if sum, most := list.Sum([]float64{1, 2.5}), list.Largest([]int{2, 3, -1}); sum != 3.5 || most != 3 {
		t.Errorf("Sum = %g, and Largest = %d", sum, most)
	}
	if sum, most := list.Sum([]int(nil)), list.Largest([]int{-1}); sum != 0 || most != 0 {
		t.Errorf("of nothing, Sum = %d, and of a negative number, Largest = %d", sum, most)
	}
	groups := list.GroupBy([]int{3, 2, 1, 4}, func(n int) bool { return n%2 == 0 })
	if len(groups) != 2 || !slices.Equal(groups[0], []int{3, 1}) || !slices.Equal(groups[1], []int{2, 4}) {
		t.Errorf("GroupBy = %v", groups)
	}
	given := []int{3, 1, 3}
	if got := list.Distinct(given); !slices.Equal(got, []int{1, 3}) || !slices.Equal(given, []int{3, 1, 3}) {
		t.Errorf("Distinct = %v of what is now %v", got, given)
	}
}
