package scenarios

import "github.com/zkbench/zkbench/variants"

// Lockstep lets all clients line up and then leave one by one. Each step waits until every client has re-armed its watch,
// so that the counts are exact. The load ends when every client has had its turn.
const Lockstep Mode = "lockstep"

type lockstepRules struct{}

func (lockstepRules) validate(s *Scenario, p *problems) {
	for _, f := range []struct {
		name  string
		given bool
	}{{"operations", s.Operations != 0}, {"duration", s.Duration != 0}, {"warm-up", s.WarmUp != 0}, {"think", s.Think != 0}} {
		if f.given {
			p.add(f.name, "means nothing in a lockstep run, which ends when all clients have had their turn")
		}
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{faultsField, len(s.Faults) > 0}, {"roam", s.Roam}, {quorumLossField, s.QuorumLoss}} {
		if f.given {
			p.add(f.name, "means nothing in a lockstep run, which needs every client and every server to work")
		}
	}
	s.withoutArrivals(p)
}

// takes reports whether a variant has exact formulas. One without them, such as one that polls, never comes to rest.
func (lockstepRules) takes(v variants.Variant) bool { return v.HasLockstep() }

func (lockstepRules) describe(*Scenario) string { return "in lockstep" }
