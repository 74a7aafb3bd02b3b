package results_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestLists(t *testing.T) {
	if got := results.Map([]int{2, 1}, strconv.Itoa); !slices.Equal(got, []string{"2", "1"}) {
		t.Errorf("Map = %q", got)
	}
	if got := results.Map(nil, strconv.Itoa); got != nil {
		t.Errorf("Map of nothing = %#v, not nil", got)
	}
	if got := results.AppendNew([]int{3, 1}, 1, 2, 2); !slices.Equal(got, []int{3, 1, 2}) {
		t.Errorf("AppendNew = %v", got)
	}
	given := []int{3, 1, 3}
	if got := results.Distinct(given); !slices.Equal(got, []int{1, 3}) || !slices.Equal(given, []int{3, 1, 3}) {
		t.Errorf("Distinct = %v of what is now %v", got, given)
	}
}
