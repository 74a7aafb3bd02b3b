package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
)

// stageFlag is the flag that lets the load change within the window.
type stageFlag struct{ texts []string }

// The name of the flag, and its value for a load that does not change.
const (
	stageFlagName = "stage"

	noStages = "none"
)

func (f *stageFlag) bind(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.texts, stageFlagName, nil, "a `stage` of a load that changes, such as\n'for: 10s, clients: 5' or, in open mode,\n'for: 10s, rate: 100'; repeatable; or none")
	if err := cmd.RegisterFlagCompletionFunc(stageFlagName, completeStage); err != nil {
		panic(err) // the flag is bound above
	}
}

// completeStage offers a stage of each mode.
func completeStage(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{noStages, "for: 10s, rate: 100, ramp: true", "for: 10s, clients: 10, ramp: true"}, cobra.ShellCompDirectiveNoFileComp
}

// override replaces a scenario's stages if the flag was given. What the other flags have set stays, and is checked beside the stages.
func (f *stageFlag) override(s *scenarios.Scenario, given func(flag string) bool) error {
	switch {
	case !given(stageFlagName):
		return nil
	case slices.Equal(f.texts, []string{noStages}):
		s.Stages = nil
		return nil
	}
	var stages []results.StageLoad
	var errs []error
	for _, text := range f.texts {
		stage, err := scenarios.ParseStage(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s %q: %w", stageFlagName, text, err))
		}
		stages = append(stages, stage)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	duration, operations, rate := s.Duration, s.Operations, s.Rate
	s.SetStages(stages, given("clients"))
	if !given("at-most") { // a limit of the operations that the stages replace
		s.AtMost = 0
	}
	if given("duration") {
		s.Duration = duration
	}
	if given("operations") {
		s.Operations, s.Duration = operations, 0
	}
	if given("rate") {
		s.Rate = rate
	}
	return nil
}
