package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/screen"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/scenarios/drivers"
)

type app struct {
	stdout, stderr io.Writer
	args           []string
	started        *started
	drivers        drivers.Given     // given on the command line
	everyLibrary   bool              // lists show all libraries as available, so that a test has the same text everywhere
	servers        ensemble.Ensemble // set by tests, in place of the servers that a run would start
}

func run(ctx context.Context, a app) int {
	accepted, stdout := false, screen.Of(a.stdout)
	a.stdout, a.stderr = stdout, screen.Of(a.stderr)
	root := rootCommand(&a) //nolint:contextcheck // each command takes its context from cobra
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		err := cmp.Or(takeEnvironment(cmd, a.stderr), cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups(), checkValues(cmd))
		accepted = err == nil
		return err
	}
	err := root.ExecuteContext(ctx)
	if err != nil && !accepted {
		err = usage(err)
	}
	if stdout.Failure != nil && !errors.Is(err, stdout.Failure) { // the command has printed on
		err = errors.Join(err, stdout.Failure)
	}
	code, text := exitCode(ctx, err), ""
	if slices.Contains(a.args, "--"+bisectFlag) || slices.Contains(a.args, "--"+bisectFlag+"=true") { // also if the flags have a mistake
		code = outcome.ForBisect(code)
	}
	if err != nil {
		text = strings.TrimSpace(err.Error()) // without the empty lines of joined errors that only have a code
		text = strings.ReplaceAll(text, "\n", "\n  ")
	}
	switch {
	case code == outcome.CodeInterrupted:
		fmt.Fprintf(a.stderr, "zkbench: interrupted (%s)\n", text)
	case text != "":
		fmt.Fprintf(a.stderr, "zkbench: %s\n", text)
	}
	return code
}

// addTemplates makes the functions of help texts known to cobra, which keeps them for the process. Call it once, before any command.
func addTemplates() { cobra.AddTemplateFunc("groupedFlags", groupedFlags) }

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use: "zkbench", Short: "Measure what ZooKeeper recipes really cost",
		Long: `zkbench runs naive and optimized variants of ZooKeeper recipes side by side,
under a chosen number of clients, against a real ensemble, and records three
things: latency, notifications, and herd spikes.

  zkbench run lock-contention      compare three locks under 1 to 100 clients
  zkbench capacity --help          find the largest rate that a lock can serve
  zkbench plot                     draw the results of the newest run
  zkbench gate                     check the newest run, such as in CI
  zkbench list                     list recipes, variants and scenarios
  zkbench explain lock/znode       explain an algorithm and its cost
  zkbench simulate lock            search for faults that break its promise

Exit codes: 0 pass; 1 could not run; 2 usage or invalid configuration;
3 regression; 4 a recipe broke its promise; 5 invalid or inconclusive run;
130 interrupted by Ctrl-C, SIGTERM or the end of the terminal. An interrupted
run keeps complete results, takes down the servers that it has started, and
restores those that it has broken. A second Ctrl-C exits at once, but restores
them, too, and prints what is left and how to remove it.`,
		Version: versionText(), SilenceErrors: true, SilenceUsage: true,
	}
	root.SetArgs(a.args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SuggestionsMinimumDistance = 3
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(),
		"Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{groupedFlags .}}", 1))
	a.addGroup(root, "Start here:", runCommand, listCommand, explainCommand)
	a.addGroup(root, "Results:", reportCommand, plotCommand, compareCommand, gateCommand, baselineCommand)
	a.addGroup(root, "More measurements:", capacityCommand, observeCommand, simulateCommand, calibrateCommand)
	a.addGroup(root, "Servers:", ensembleCommand, cleanCommand)
	root.AddCommand(workerCommand(a), versionCommand(a))
	finishFlags(root, completions())
	return root
}

// arguments checks the number of arguments. Its error names the arguments that the command takes; cobra's own only counts them.
func arguments(least, most int, takes string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch n := len(args); {
		case n >= least && n <= most:
			return nil
		case n == 0:
			return fmt.Errorf("%s: %s", cmd.CommandPath(), takes)
		default:
			return fmt.Errorf("%s got %q: %s", cmd.CommandPath(), args, takes)
		}
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	return arguments(0, 0, "it takes no arguments")(cmd, args)
}

func addCommands(cmd *cobra.Command, commands ...*cobra.Command) {
	cmd.AddCommand(commands...)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		names := list.Map(commands, (*cobra.Command).Name)
		if len(args) == 0 {
			return usage(fmt.Errorf("%s needs one of: %s", cmd.Name(), strings.Join(names, ", ")))
		}
		return oneOf(cmd.Name(), args[0], names)
	}
}

const allowed = "allowed"

func allow[T ~string](cmd *cobra.Command, flag string, values []T) {
	words := list.Texts(values)
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	if _, isList := cmd.Flags().Lookup(flag).Value.(pflag.SliceValue); isList { // the flag is bound where this is called
		complete = elements(words)
	}
	_ = cmd.Flags().SetAnnotation(flag, allowed, words)
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}

func oneOf(what, value string, values []string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return usage(fmt.Errorf("%s cannot be %q%s", what, value, strict.Nearest(value, values)))
}

func (a *app) width() int { return screen.Width(a.stdout) }

// number is the value of a flag that is read as in a scenario file: the flag library reads 010 as 8, and names no limits.
type number struct{ pflag.Value }

// Set implements pflag.Value.
func (n number) Set(text string) error {
	text = strings.ReplaceAll(text, ", ", ",")
	for one := range strings.SplitSeq(text, ",") {
		into := map[string]any{"int": new(int), "intSlice": new(int), "uint64": new(uint64), "duration": new(time.Duration)}[n.Type()]
		if err := strict.Decode(&yaml.Node{Kind: yaml.ScalarNode, Value: one}, into); err != nil {
			if _, noUnit := strconv.Atoi(one); noUnit == nil && n.Type() == "duration" {
				return errors.New("wants a duration with its unit, such as 30s or 500ms")
			}
			return err
		}
	}
	return n.Value.Set(text)
}

// finishFlags has the numbers among the flags of a command, and of those below it, read by [number], and the known ones completed.
func finishFlags(cmd *cobra.Command, known map[string]cobra.CompletionFunc) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains([]string{"int", "intSlice", "uint64", "duration"}, f.Value.Type()) {
			f.Value, f.DefValue = number{f.Value}, strings.TrimPrefix(strings.Trim(f.DefValue, "[]"), "0s") // not shown in a help text
		}
		if complete := known[f.Name]; complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the flag exists, and nothing else completes it
		}
	})
	for _, below := range cmd.Commands() {
		finishFlags(below, known)
	}
}

func given(cmd *cobra.Command, which func(*pflag.Flag) bool) (names []string) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if which(flag) {
			names = append(names, "--"+flag.Name)
		}
	})
	return names
}

// checkValues returns an error for a flag whose value is empty or not allowed. An empty value often comes from an unset variable in a
// script, which does not mean the default.
func checkValues(cmd *cobra.Command) (err error) {
	empty := given(cmd, func(flag *pflag.Flag) bool {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(interface{ GetSlice() []string }); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if words := flag.Annotations[allowed]; words != nil && value != "" {
				err = cmp.Or(err, oneOf("--"+flag.Name, value, words))
			}
		}
		return len(values) == 0 || slices.Contains(values, "")
	})
	if len(empty) > 0 {
		return fmt.Errorf("%s is empty: is a variable unset?", strings.Join(empty, ", "))
	}
	return err
}
