package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
)

// backgroundFlag is the flag of `zkbench run` that adds reads and writes by other sessions.
type backgroundFlag struct{ text string }

// The name of the flag, and its value for a load without a background.
const (
	backgroundFlagName = "background"

	noBackground = "none"
)

func (f *backgroundFlag) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.text, backgroundFlagName, "", "a `load` beside the recipe, such as\n'reads: 500, writes: 100'; or none")
	if err := cmd.RegisterFlagCompletionFunc(backgroundFlagName, completeBackground); err != nil {
		panic(err) // the flag is bound above
	}
}

// completeBackground offers a background with all of its fields.
func completeBackground(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{noBackground, "reads: 500, writes: 100, bytes: 1024, znodes: 1000"}, cobra.ShellCompDirectiveNoFileComp
}

// override replaces a scenario's background if the flag was given.
func (f *backgroundFlag) override(s *scenarios.Scenario, given func(flag string) bool) error {
	if !given(backgroundFlagName) {
		return nil
	}
	if f.text == noBackground {
		f.replace(s, nil)
		return nil
	}
	load, err := scenarios.ParseBackground(f.text)
	if err != nil {
		return fmt.Errorf("--%s %q: %w", backgroundFlagName, f.text, err)
	}
	f.replace(s, load)
	return nil
}

// replace replaces a scenario's background, and removes an overview by a metric that only the former one has.
func (*backgroundFlag) replace(s *scenarios.Scenario, load *results.BackgroundLoad) {
	s.Background = load
	pair, err := results.ParsePair(s.Overview)
	missing := func(metric string) bool {
		return results.MetricNamed(metric).Part == results.BackgroundPart && (load == nil || !load.Measures(metric))
	}
	if err == nil && slices.ContainsFunc(pair.Metrics, missing) {
		s.Overview = ""
	}
}
