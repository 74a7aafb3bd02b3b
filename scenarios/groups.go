package scenarios

import (
	"errors"

	"github.com/zkbench/zkbench/variants"
)

// The groups of embedded scenarios, besides the fault matrix, whose scenarios are generated.
const (
	allGroup      = "all"
	lockstepGroup = "lockstep" // without heaps, which only real servers have
	// OverviewGroup is the name of the scenarios that `zkbench report --overview` shows.
	OverviewGroup = "overview"
)

// Groups returns the names of all groups of scenarios.
func Groups() []string { return []string{allGroup, lockstepGroup, OverviewGroup, MatrixName} }

// Group returns the scenarios of a group; none if there is no such group. The error lists the scenarios that have mistakes.
func Group(name string, recipes []variants.Recipe) (selected []Scenario, err error) {
	switch name {
	case allGroup, lockstepGroup, OverviewGroup:
	case MatrixName:
		return Matrix(recipes), nil
	default:
		return nil, nil
	}
	for _, one := range Names() {
		s, loadErr := Load(one, recipes)
		err = errors.Join(err, loadErr)
		lockstep, overview := s.Mode == Lockstep && !s.Heap, s.Overview != ""
		if loadErr == nil && (name == allGroup || name == lockstepGroup && lockstep || name == OverviewGroup && overview) {
			selected = append(selected, s)
		}
	}
	return selected, err
}
