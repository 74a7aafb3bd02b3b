package scenarios

import (
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants"
)

// Lockstep lets all clients line up and then leave one by one. Each step waits until every client has re-armed its watch,
// so that the counts are exact. The load ends when every client has had its turn.
const Lockstep = results.LockstepMode

type lockstepRules struct{}

func (lockstepRules) validate(s *Scenario, p *problems) {
	s.refuse(p, "means nothing in a lockstep run, which ends when all clients have had their turn",
		"operations", "duration", "warm-up", "think")
	s.refuse(p, "means nothing in a lockstep run, which needs every client and every server to work",
		faultsField, "roam", quorumLossField)
	s.withoutArrivals(p)
}

// takes reports whether a variant has exact formulas. One without them, such as one that polls, never comes to rest.
func (lockstepRules) takes(v variants.Variant) bool { return v.HasLockstep() }

func (lockstepRules) describe(*Scenario) string { return "in lockstep" }
