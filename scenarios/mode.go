package scenarios

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants"
)

// Mode is how a load is paced.
type Mode = results.Mode

// modeRules is what a mode asks of a scenario. Each mode has a file of its own.
type modeRules interface {
	// validate adds mistakes in the fields that pace the load, and the fields that mean nothing in this mode.
	validate(s *Scenario, p *problems)
	// takes reports whether a variant can run in this mode.
	takes(v variants.Variant) bool
	// describe says in words how the load of a valid scenario is paced.
	describe(s *Scenario) string
}

// namedRules are the rules of the mode of that name.
type namedRules struct {
	name Mode
	modeRules
}

// modes returns all modes. The first one is the default.
func modes() []namedRules {
	return []namedRules{{Closed, closedRules{}}, {Lockstep, lockstepRules{}}, {Open, openRules{}}}
}

// rulesOf returns the rules of a mode, and whether it exists. Those of the default stand in for a mode that does not.
func rulesOf(m Mode) (rules modeRules, exists bool) {
	all := modes()
	i := slices.IndexFunc(all, func(r namedRules) bool { return r.name == m })
	return all[max(i, 0)], i >= 0
}

// modeNames lists the modes for a message.
func modeNames() string {
	names := list.Map(modes(), func(r namedRules) string { return string(r.name) })
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
