package scenarios

import (
	"fmt"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants"
)

// Closed lets every client loop at its own pace: it starts the next operation when the last one is done. The load ends after
// a duration or after a number of operations of each client.
const Closed = results.ClosedMode

type closedRules struct{}

func (closedRules) validate(s *Scenario, p *problems) {
	if (s.Operations > 0) == (s.Duration > 0) && len(s.Stages) == 0 {
		p.add("duration", "a closed load wants either a duration or a number of operations")
	}
	s.withoutArrivals(p)
	s.refuse(p, "can be measured in lockstep only, where all clients come to rest", "heap")
}

func (closedRules) takes(variants.Variant) bool { return true }

func (closedRules) describe(s *Scenario) string {
	if len(s.Stages) > 0 {
		return s.describeStages()
	}
	if s.Operations > 0 {
		return fmt.Sprintf("%d operations of each client", s.Operations)
	}
	return fmt.Sprintf("%s at the clients' own pace after %s of warm-up", s.Duration, s.WarmUp)
}
