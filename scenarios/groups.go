package scenarios

import (
	"errors"

	"github.com/zkbench/zkbench/variants"
)

// group is a name that stands for several scenarios.
type group struct {
	name string
	has  func(Scenario) bool // of the embedded scenarios
}

// groups are those of embedded scenarios. The fault matrix is another one, whose scenarios are generated.
func groups() []group {
	return []group{
		{"all", func(Scenario) bool { return true }},
		{"lockstep", func(s Scenario) bool { return s.Mode == Lockstep && !s.Heap }}, // only real servers have heaps
		{"overview", func(s Scenario) bool { return s.Overview != "" }},
	}
}

// Groups returns the names that stand for several scenarios.
func Groups() []string {
	var names []string
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return append(names, MatrixName)
}

// Group returns the scenarios for which a name stands; none if it stands for a single one.
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
