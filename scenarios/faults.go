package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
)

// The session timeouts that a scenario can have. Servers with the usual tick of 2 s grant 4 s to 40 s, see [faults.Unable].
// Servers with a shorter tick, such as an embedded server in a test, grant shorter ones.
const (
	minSessionTimeout = 100 * time.Millisecond
	maxSessionTimeout = 40 * time.Second
)

// EffectiveSessionTimeout returns the session timeout that servers have granted. While that is unknown, it is the one to ask for.
func (s *Scenario) EffectiveSessionTimeout() time.Duration {
	return cmp.Or(s.Granted, s.SessionTimeout, ensemble.SessionTimeout)
}

// validateFaults checks the fields about failure as far as they do not depend on the engine; for that, see [faults.Unable].
func (s *Scenario) validateFaults(p *problems, recipe *variants.Recipe) {
	limit(p, "session-timeout", cmp.Or(s.SessionTimeout, ensemble.SessionTimeout), minSessionTimeout, maxSessionTimeout)
	if s.Mode == Lockstep || recipe == nil || len(s.Clients) == 0 {
		return // the mistakes in these fields are reported first: the faults depend on them
	}
	if s.Size > 1 && recipe.SizeIsBatch && recipe.Collective && !recipe.Fixed && len(s.Faults) > 0 {
		p.add("size", "wants 1 in a load with faults: a client that joins again cannot know how far the others "+
			"have come in a step of several operations")
	}
	if s.QuorumLoss && !faults.OfServers(s.Faults) {
		p.add("quorum-loss", "means nothing without faults of servers")
	}
	terms := faults.Terms{
		Window:         s.Duration,
		SessionTimeout: s.EffectiveSessionTimeout(),
		Clients:        slices.Min(s.Clients),
		Roles:          recipe.Roles,
		Holds:          !recipe.NeverHolds,
		Asks:           recipe.Revocable,
		Fixed:          recipe.Fixed || slices.ContainsFunc(s.Selected(*recipe), recipe.IsFixed),
		Roam:           s.Roam,
		QuorumLoss:     s.QuorumLoss,
	}
	for _, f := range faults.Check(s.Faults, terms) {
		*p = append(*p, Problem{Field: "faults", Fault: f.Index + 1, Text: fmt.Sprintf("`%s`: %s", s.Faults[f.Index], f.Text)})
	}
}

// AbilityOf returns what can fail on an engine, before it is started. voters is the number of servers of an embedded ensemble.
func AbilityOf(engine ensemble.Engine, voters int) faults.Ability {
	const tick = 2 * time.Second // of the servers that zkbench starts; a session lives for 2 to 20 ticks
	a := faults.Ability{Engine: string(engine), Kinds: faults.KindsOn(engine), MinSessionTimeout: 2 * tick, MaxSessionTimeout: 20 * tick}
	switch {
	case engine == ensemble.Embedded && voters <= 1:
		a.Kinds = faults.ClientKinds()
	case engine == ensemble.Container, engine == ensemble.Process, engine == ensemble.Embedded:
		a.Servers = faults.Servers()
	default:
		a.MinSessionTimeout, a.MaxSessionTimeout = 0, 0 // unknown
	}
	return a
}

// Unable returns the faults and the session timeout of a scenario that an ensemble does not allow, as one error.
func (s *Scenario) Unable(can faults.Ability) error {
	if err := faults.Unable(s.Faults, s.EffectiveSessionTimeout(), can); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}
