package runner

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
)

// mode applies the load of a scenario. Everything in this package that depends on a scenario's mode is behind it.
type mode interface {
	// run applies the load. It opens and closes the window of the measurement's stream.
	run(ctx context.Context, m *measurement) (observation, error)
	// cost returns the formulas that hold for this load.
	cost(v variants.Variant) variants.Cost
	// rehearsal shortens the load of a measurement so that it only warms up the servers. It reports whether the mode needs
	// a rehearsal.
	rehearsal(m *measurement) bool
}

// modeOf returns the mode of a valid scenario.
func modeOf(s scenarios.Scenario) mode {
	switch s.Mode {
	case scenarios.Lockstep:
		return lockstepMode{}
	case scenarios.Open:
		return openMode{}
	default:
		return closedMode(s)
	}
}

// observation is the outcome of a load: the counts of the sessions in the window, and the accounts at rest before and after.
type observation struct {
	counts     wire.Counts
	begin, end snapshot
	givenUp    int64         // arrivals of an open load that were due in the window and that no client began
	unserved   int64         // those that a client began and never completed
	heap       *results.Heap // nil if the scenario does not ask for it
	health     results.Health
	unfinished *results.Unfinished // nil for a load that was finished
	partial    bool                // the load or the run has failed
}

// whole reports whether the load was finished, so that the servers' accounts are known.
func (o observation) whole() bool { return o.unfinished == nil && !o.partial }

// between returns the observation of everything that happened between two snapshots.
func between(begin, end snapshot) observation {
	counts := end.client
	counts.Sub(begin.client)
	return observation{counts: counts, begin: begin, end: end}
}

// rehearsalLength is the longest that the load of a rehearsal lasts. It allows for some thousand requests, after which
// servers have compiled the code that they use most.
const rehearsalLength = time.Second
