package runner

import (
	"fmt"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
)

// LeftOut are scenarios that cannot run, for one reason.
type LeftOut struct {
	Why       string // a clause, such as "libraries are not installed"
	Scenarios []string
}

// Possible returns the scenarios of a group that can run here on an engine with an ability, and the others by the reasons.
func Possible(
	group []scenarios.Scenario, recipes []variants.Recipe, engine ensemble.Engine, ability faults.Ability,
) (can []scenarios.Scenario, refused []LeftOut) {
	undriven := LeftOut{Why: "libraries are not installed (`zkbench list variants` says which packages have them)"}
	large := LeftOut{Why: "they need more files or memory than zkbench may use"}
	unable := LeftOut{Why: fmt.Sprintf("the servers of engine %s cannot fail as they ask", engine)}
	for _, s := range group {
		switch {
		case CheckDrivers(s, recipes) != nil:
			undriven.Scenarios = append(undriven.Scenarios, s.Name)
		case s.Unable(ability) != nil:
			unable.Scenarios = append(unable.Scenarios, s.Name)
		case CheckResources(s, engine) != nil:
			large.Scenarios = append(large.Scenarios, s.Name)
		default:
			can = append(can, s)
		}
	}
	return can, list.Where([]LeftOut{undriven, large, unable}, func(l LeftOut) bool { return len(l.Scenarios) > 0 })
}
