package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
)

// faultFlags are the flags of `zkbench run` that make something fail.
type faultFlags struct {
	schedule       []string
	sessionTimeout time.Duration
	roam           bool
	quorumLoss     bool
}

// The flags of failure, and the value of the first for a schedule without faults.
const (
	faultFlag          = "fault"
	sessionTimeoutFlag = "session-timeout"
	roamFlag           = "roam"
	quorumLossFlag     = "quorum-loss"

	noFaults = "none"
)

func faultFlagNames() []string {
	return []string{faultFlag, sessionTimeoutFlag, roamFlag, quorumLossFlag}
}

func (f *faultFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.schedule, faultFlag, nil, "a `fault`, such as 'kill: leader, at: 1s', instead\nof the scenario's; repeatable; or none")
	flags.DurationVar(&f.sessionTimeout, sessionTimeoutFlag, 0, "`time` until a silent session ends (default 30s)")
	flags.BoolVar(&f.roam, roamFlag, false, "clients whose server fails connect to another")
	flags.BoolVar(&f.quorumLoss, quorumLossFlag, false, "faults may take the quorum away for longer than\na session lives")
	if err := cmd.RegisterFlagCompletionFunc(faultFlag, completeFault); err != nil {
		panic(err) // the flag is bound above
	}
}

// completeFault offers the beginnings of a fault: what fails, and whom.
func completeFault(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	out := []cobra.Completion{noFaults}
	for _, k := range faults.Kinds() {
		for _, whom := range k.Whom(nil) {
			out = append(out, fmt.Sprintf("%s: %s, at: 1s", k, whom))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// override replaces a scenario's fields with the flags that were given.
func (f *faultFlags) override(s *scenarios.Scenario, given func(flag string) bool) error {
	if given(faultFlag) {
		schedule, err := f.parse()
		if err != nil {
			return err
		}
		s.Faults, s.QuorumLoss = schedule, false
	}
	if given(sessionTimeoutFlag) {
		s.SessionTimeout = scenarios.Duration(f.sessionTimeout)
	}
	if given(roamFlag) {
		s.Roam = f.roam
	}
	if given(quorumLossFlag) {
		s.QuorumLoss = f.quorumLoss
	}
	return nil
}

// parse reads the schedule that the flags give.
func (f *faultFlags) parse() ([]faults.Fault, error) {
	if slices.Equal(f.schedule, []string{noFaults}) {
		return nil, nil
	}
	var schedule []faults.Fault
	var errs []error
	for _, text := range f.schedule {
		fault, err := faults.Parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s %q: %w", faultFlag, text, err))
		}
		schedule = append(schedule, fault)
	}
	return schedule, errors.Join(errs...)
}

// flagOf returns the flag that overrides the field of a problem. Each gives one of the field "faults".
func flagOf(p scenarios.Problem) string {
	for _, flag := range []string{faultFlag, stageFlagName} { // each gives one element of the field
		if p.Field == flag+"s" {
			return flag
		}
	}
	return p.Field
}

// ability returns what can fail on an engine, before it is started.
func (f *ensembleFlags) ability(engine ensemble.Engine) faults.Ability {
	const tick = 2 * time.Second // of the servers that zkbench starts; a session lives for 2 to 20 ticks
	a := faults.Ability{Engine: string(engine), Kinds: faults.ClientKinds(), MinSessionTimeout: 2 * tick, MaxSessionTimeout: 20 * tick}
	switch {
	case engine == ensemble.Container, engine == ensemble.Embedded && f.voters > 1:
		a.Kinds, a.Servers = faults.Kinds(), faults.Servers()
	case engine == ensemble.Process:
		a.Kinds, a.Servers = append([]faults.Kind{faults.Kill, faults.Pause}, a.Kinds...), faults.Servers()
	case engine == ensemble.External:
		a.MinSessionTimeout, a.MaxSessionTimeout = 0, 0 // unknown
	}
	return a
}

// abilityNow returns what can fail on an ensemble that is up. It may have been started by another version of zkbench.
func (f *ensembleFlags) abilityNow(e ensemble.Ensemble, engine ensemble.Engine) faults.Ability {
	a := f.ability(engine)
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

// unable returns what an ensemble cannot do of a scenario.
func unable(s scenarios.Scenario, can faults.Ability) error {
	if err := faults.Unable(s.Faults, s.EffectiveSessionTimeout(), can); err != nil {
		return usage(fmt.Errorf("%s: %w", s.Name, err))
	}
	return nil
}
