package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/scenarios/drivers"
)

// app is what commands use of the process that they run in.
type app struct {
	stdout, stderr io.Writer
	args           []string
	started        *started
	drivers        []drivers.Own     // that the command line gives
	everyLibrary   bool              // lists show all libraries as available, so that a test has the same text everywhere
	servers        ensemble.Ensemble // of a test, in place of those that a run would start
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, a app) int {
	started := false
	root := rootCommand(&a)
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	err := root.ExecuteContext(ctx)
	if err != nil && !started { // cobra refused the command line
		err = usage(err)
	}
	code := exitCode(ctx, err)
	switch text := textOf(err); {
	case code == outcome.CodeInterrupted:
		fmt.Fprintf(a.stderr, "zkbench: interrupted (%s)\n", text)
	case text != "":
		fmt.Fprintf(a.stderr, "zkbench: %s\n", text)
	}
	return code
}

// textOf returns an error's text, without the empty lines of joined errors that only have a code.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimSpace(err.Error())
}

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "zkbench",
		Short: "Measure what ZooKeeper recipes really cost",
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
		Version:       versionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetArgs(a.args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SuggestionsMinimumDistance = 3
	for _, command := range []func(*app) *cobra.Command{
		runCommand, capacityCommand, observeCommand, listCommand, explainCommand, plotCommand, reportCommand, compareCommand, gateCommand, baselineCommand,
		calibrateCommand, simulateCommand, ensembleCommand, cleanCommand, versionCommand,
	} {
		root.AddCommand(command(a))
	}
	onlyDecimals(root)
	return root
}

// noArguments returns an error that names the arguments, which cobra's own would only count.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but got %q", cmd.CommandPath(), args)
	}
	return nil
}

// addCommands adds commands to one that does nothing itself.
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

// texts returns typed words as strings.
func texts[T ~string](words []T) []string {
	return list.Map(words, func(word T) string { return string(word) })
}

// oneOf checks the value of a flag or argument.
func oneOf(what, value string, values []string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return usage(fmt.Errorf("%s cannot be %q%s", what, value, strict.Nearest(value, values)))
}

// defaultWidth is the width of output to a file or a pipe.
const defaultWidth = 120

// width returns the number of columns of a writer's terminal.
func width(w io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if f := fileOf(w); f != nil {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return defaultWidth
}

// height returns the number of rows of a terminal; 0 if it is not known.
func height(w io.Writer) int {
	if f := fileOf(w); f != nil {
		if _, rows, err := term.GetSize(int(f.Fd())); err == nil {
			return rows
		}
	}
	return 0
}

// isTerminal reports whether a writer is a terminal.
func isTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// numbers parses the values of a flag such as "1,10,50". The error names all mistakes.
func numbers(flag string, values []string) ([]int, error) {
	if len(values) == 0 {
		return nil, usage(fmt.Errorf("--%s is empty", flag))
	}
	var out []int
	var bad []string
	for _, text := range values {
		text = strings.TrimSpace(text)
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || text != strconv.Itoa(n) { // 010 is refused: other tools read it as 8
			bad = append(bad, strconv.Quote(text))
			continue
		}
		out = append(out, n)
	}
	if len(bad) > 0 {
		return nil, usage(fmt.Errorf("--%s wants whole numbers of at least 1, separated by commas, not %s", flag, strings.Join(bad, ", ")))
	}
	return out, nil
}
