package scenarios

import (
	"errors"

	"github.com/zkbench/zkbench/variants"
)

type group struct {
	name string
	has  func(Scenario) bool // of the embedded scenarios
}

// OverviewGroup is the name of the scenarios that `zkbench report --overview` shows.
const OverviewGroup = "overview"

// groups returns the groups of embedded scenarios. The fault matrix is a further group, whose scenarios are generated.
func groups() []group {
	return []group{
		{"all", func(Scenario) bool { return true }},
		{"lockstep", func(s Scenario) bool { return s.Mode == Lockstep && !s.Heap }}, // only real servers have heaps
		{OverviewGroup, func(s Scenario) bool { return s.Overview != "" }},
	}
}

// Groups returns the names of all groups of scenarios.
func Groups() []string {
	var names []string
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return append(names, MatrixName)
}

// Group returns the scenarios of a group; none if there is no such group. The error lists the scenarios that have mistakes.
func Group(name string, recipes []variants.Recipe) (selected []Scenario, err error) {
	if name == MatrixName {
		return Matrix(recipes), nil
	}
	for _, g := range groups() {
		if g.name != name {
			continue
		}
		for _, one := range Names() {
			s, loadErr := Load(one, recipes)
			if err = errors.Join(err, loadErr); loadErr == nil && g.has(s) {
				selected = append(selected, s)
			}
		}
	}
	return selected, err
}
