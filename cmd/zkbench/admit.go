package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// possible returns the scenarios of a group that an engine can run with these flags, and names the others on standard error.
func (a *app) possible(group []scenarios.Scenario, engine ensemble.Engine, f *ensembleFlags) []scenarios.Scenario {
	var can []scenarios.Scenario
	var cannot, large, undriven []string
	for _, s := range group {
		switch {
		case runner.CheckDrivers(s, a.recipes()) != nil:
			undriven = append(undriven, s.Name)
		case s.Unable(scenarios.AbilityOf(engine, f.voters)) != nil:
			cannot = append(cannot, s.Name)
		case a.admit([]scenarios.Scenario{s}, engine, f) != nil:
			large = append(large, s.Name)
		default:
			can = append(can, s)
		}
	}
	if len(undriven) > 0 {
		fmt.Fprintf(a.stderr, "left out, as libraries are not installed (`zkbench list variants` says which packages have them): %s\n", strings.Join(undriven, ", "))
	}
	if len(large) > 0 {
		fmt.Fprintf(a.stderr, "left out, as they need more files or memory than zkbench may use: %s\n", strings.Join(large, ", "))
	}
	if len(cannot) > 0 {
		fmt.Fprintf(a.stderr, "left out, as the servers of engine %s cannot fail as they ask: %s\n", engine, strings.Join(cannot, ", "))
	}
	return can
}

// admit returns an error if a scenario has faults that an engine cannot cause, or needs more files or memory on it than this
// process may use.
func (a *app) admit(selected []scenarios.Scenario, engine ensemble.Engine, f *ensembleFlags) error {
	for _, s := range selected {
		if err := s.Unable(scenarios.AbilityOf(engine, f.voters)); err != nil {
			return usage(err)
		}
		if err := runner.CheckDrivers(s, a.recipes()); err != nil {
			return err
		}
		if err := errors.Join(runner.CheckFileLimit(s, engine), runner.CheckMemory(s, engine)); err != nil {
			return usage(err)
		}
	}
	return nil
}
