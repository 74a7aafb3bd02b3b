package grouping_test

import (
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/grouping"
)

// The documents of two runs under different conditions are two groups, however their repeats are ordered.
func TestGroupRepeatsKeepsConditionsApart(t *testing.T) {
	var docs []*results.Document
	for repeat := 1; repeat <= 3; repeat++ {
		for _, kernel := range []string{"6.1", "6.12"} {
			d := &results.Document{Scenario: results.Scenario{Name: "s"}, Recipe: "lock", Variant: "znode", Clients: 10, Repeat: repeat}
			d.Environment.Kernel = kernel
			docs = append(docs, d)
		}
	}
	groups := grouping.Repeats(docs)
	if len(groups) != 2 || len(groups[0]) != 3 || len(groups[1]) != 3 {
		t.Errorf("%d groups, want 2 of 3 repeats each", len(groups))
	}
}

func TestGroupKeyOrder(t *testing.T) {
	ordered := []grouping.Key{
		{Scenario: "a", Size: 2, Clients: 20, Kind: "optimized", Variant: "z"},
		{Scenario: "b", Size: 1, Clients: 20, Kind: "optimized", Variant: "z"},
		{Scenario: "b", Size: 2, Clients: 10, Kind: "optimized", Variant: "a"},
		{Scenario: "b", Size: 2, Clients: 20, Kind: "naive", Variant: "z"},
		{Scenario: "b", Size: 2, Clients: 20, Kind: "optimized", Variant: "a"},
		{Scenario: "b", Size: 2, Clients: 20, Kind: "optimized", Variant: "b"},
	}
	for i := 1; i < len(ordered); i++ {
		if ordered[i-1].Compare(ordered[i]) >= 0 || ordered[i].Compare(ordered[i-1]) <= 0 {
			t.Errorf("%v does not stand before %v", ordered[i-1], ordered[i])
		}
	}
}
