package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// completions returns how shells complete flags that [allow] does not restrict, such as those that depend on the scenario, by their names.
func completions() map[string]cobra.CompletionFunc {
	variantNames := func(r variants.Recipe) []string {
		return list.Map(r.All(), func(v variants.Variant) string { return v.Name })
	}
	plain := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	return map[string]cobra.CompletionFunc{
		"variants":   ofRecipes(variantNames),
		"base":       ofRecipes(variantNames),
		"metrics":    ofRecipes(scenarios.MetricNames),
		"objective":  objectives,
		"fault":      plain(append(faultExamples(), scenarios.None)...),
		"background": plain("reads: 500", "writes: 100", "reads: 500, writes: 100", scenarios.None),
		"mode":       plain(list.Texts([]results.Mode{scenarios.Closed, scenarios.Open, scenarios.Lockstep})...),
		"arrivals":   plain(scenarios.Constant, scenarios.Poisson),
		"run":        plain(scenarios.Names()...),
		"require":    elements(append(scenarios.Groups(), scenarios.Names()...)),
	}
}

// elements completes the last element of a list that commas separate. A single value has no comma.
func elements(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		left := list.Where(words, func(word string) bool { return !slices.Contains(strings.Split(before, ","), word) })
		return list.Map(left, func(word string) string { return before + word }), cobra.ShellCompDirectiveNoFileComp
	}
}

// ofRecipes completes a list of names that the recipes of the command line have.
func ofRecipes(names func(variants.Recipe) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return elements(list.Distinct(slices.Concat(list.Map(recipesGiven(cmd, args), names)...)))(cmd, args, typed)
	}
}

// recipesGiven returns the recipes of the scenarios on a command line, or all without a known one. It reads no files, which may be pipes.
func recipesGiven(cmd *cobra.Command, args []string) []variants.Recipe {
	run, _ := cmd.Flags().GetString("run") // only a gate has the flag
	var recipes []string
	for _, name := range append(args, run) {
		if s, err := scenarios.Load(name, catalog.Recipes()); err == nil {
			recipes = append(recipes, s.Recipe)
		}
	}
	return list.Where(catalog.Recipes(), func(r variants.Recipe) bool { return recipes == nil || slices.Contains(recipes, r.Name) })
}

// objectives completes the metric and the operator of an objective; the limit is up to the user.
func objectives(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []string
	by, _ := cmd.Flags().GetString("by") // the flag of the same command
	for _, name := range list.Distinct(slices.Concat(list.Map(recipesGiven(cmd, args), scenarios.MetricNames)...)) {
		for _, op := range []string{"<", ">"} {
			if (capacity.Objective{Claim: claim.Claim{Metric: name, Op: op}}).Check(by) == nil {
				out = append(out, name+op)
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func faultExamples() (examples []string) {
	for _, kind := range faults.Kinds() {
		for _, whom := range faults.Whom(kind, nil) {
			examples = append(examples, fmt.Sprintf("%s: %s, at: 1s", kind, whom))
		}
	}
	return examples
}

// serverNames completes the server of a command. It asks no ensemble: all that zkbench starts have the same names.
func serverNames(roles ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return append(faults.Servers(), roles...), cobra.ShellCompDirectiveNoFileComp
	}
}

// runFolders completes the folders of runs that hold documents, the newest first. Where none of them fits, shells offer files.
func runFolders(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	folders, _ := filepath.Glob(filepath.Join(defaultRuns, "*"))     // the patterns are valid
	stamped, _ := filepath.Glob(filepath.Join(defaultRuns, runName)) // sorted, and so by time
	slices.Reverse(stamped)
	folders = list.Where(list.AppendNew(stamped, folders...), func(folder string) bool {
		documents, _ := store.Files(folder) // none if it is not a folder
		return len(documents) > 0 && !slices.Contains(args, folder)
	})
	return folders, cobra.ShellCompDirectiveKeepOrder
}
