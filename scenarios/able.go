package scenarios

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios/faults"
)

// AbilityOf returns what can fail on an engine, before it is started. voters are the servers of an embedded one.
func AbilityOf(engine ensemble.Engine, voters int) faults.Ability {
	const tick = 2 * time.Second // of the servers that zkbench starts; a session lives for 2 to 20 ticks
	a := faults.Ability{Engine: string(engine), Kinds: faults.ClientKinds(), MinSessionTimeout: 2 * tick, MaxSessionTimeout: 20 * tick}
	switch {
	case engine == ensemble.Container, engine == ensemble.Embedded && voters > 1:
		a.Kinds, a.Servers = faults.Kinds(), faults.Servers()
	case engine == ensemble.Process:
		a.Kinds, a.Servers = append([]faults.Kind{faults.Kill, faults.Pause}, a.Kinds...), faults.Servers()
	case engine == ensemble.External:
		a.MinSessionTimeout, a.MaxSessionTimeout = 0, 0 // unknown
	}
	return a
}

// AbilityNow returns what can fail on an ensemble that is up. It may have been started by another version of zkbench.
func AbilityNow(e ensemble.Ensemble, engine ensemble.Engine) faults.Ability {
	a := AbilityOf(engine, 1)
	a.Kinds, a.Servers = nil, nil
	for _, fault := range ensemble.ServerFaultsOf(e) {
		a.Kinds = append(a.Kinds, faults.Kind(fault))
	}
	a.Kinds = append(a.Kinds, faults.ClientKinds()...)
	for _, s := range e.Servers() {
		a.Servers = append(a.Servers, s.Name)
	}
	return a
}

// Unable returns what an ensemble cannot do of a scenario.
func (s *Scenario) Unable(can faults.Ability) error {
	if err := faults.Unable(s.Faults, s.EffectiveSessionTimeout(), can); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}
