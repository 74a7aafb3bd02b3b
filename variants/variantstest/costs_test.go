package variantstest

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants"
)

// A variant that a simulation does not know is one failure that names the step to take, and not one for each count of
// another variant that it differs in.
func TestUnsimulated(t *testing.T) {
	stepped := variants.Cost{Requests: "0", Writes: "0", FailedWrites: "0", Notifications: "0", HerdMax: "0"}
	recipe := variants.Recipe{Name: "lock", Variants: []variants.Variant{
		{Name: "znode", Lockstep: stepped}, {Name: "two-predecessors", Lockstep: stepped}, {Name: "poll"},
	}}
	got := unsimulated(recipe, []string{"znode", "gone"})
	want := []string{
		"lock/two-predecessors is not simulated: add a case to the simulation in this test, and the variant's name to the call of LockstepCosts (CONTRIBUTING.md, Adding a variant)",
		"gone is simulated, but recipe lock has no such variant: take it out of the simulation and of the call of LockstepCosts",
	}
	if !slices.Equal(got, want) {
		t.Errorf("problems:\n%q, want\n%q", got, want)
	}
}
