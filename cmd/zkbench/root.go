package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/zkbench/zkbench/scenarios"
)

// app is everything a command may touch of the process that it runs in.
type app struct {
	stdout, stderr io.Writer
	args           []string
	started        *started // what a second signal would leave behind
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
	switch text := said(err); {
	case code == codeInterrupted:
		fmt.Fprintf(a.stderr, "zkbench: interrupted (%s)\n", text)
	case text != "":
		fmt.Fprintf(a.stderr, "zkbench: %s\n", text)
	}
	return code
}

// said is an error's text. Of several errors that were joined, one that only has a code is an empty line.
func said(err error) string {
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
  zkbench plot                     draw what the last run measured
  zkbench gate                     judge the last run, such as in CI
  zkbench list                     what there is to run
  zkbench explain lock/znode       how it works, and what it costs

Exit codes: 0 pass; 1 could not run; 2 usage or invalid configuration;
3 regression; 4 a recipe broke its promise; 5 invalid or inconclusive run;
130 interrupted by Ctrl-C, SIGTERM or the end of the terminal: whole results are
kept, and what was started is taken down. A second Ctrl-C leaves at once, and
says what is left and which command removes it.`,
		Version:       versionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetArgs(a.args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SuggestionsMinimumDistance = 3
	for _, command := range []func(*app) *cobra.Command{
		runCommand, listCommand, explainCommand, plotCommand, reportCommand, compareCommand, gateCommand, baselineCommand,
		calibrateCommand, ensembleCommand, cleanCommand, versionCommand,
	} {
		root.AddCommand(command(a))
	}
	onlyDecimals(root)
	return root
}

// noArguments refuses arguments with a hint, where cobra would only count them.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but got %q", cmd.CommandPath(), args)
	}
	return nil
}

// oneOf checks a flag's or argument's value against those it may have.
func oneOf(what, value string, values []string) error {
	for _, v := range values {
		if v == value {
			return nil
		}
	}
	return usage(fmt.Errorf("%s cannot be %q%s", what, value, scenarios.Nearest(value, values)))
}

// defaultWidth is for output that goes to a file or a pipe.
const defaultWidth = 120

// width returns how many columns a writer's terminal has.
func width(w io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return defaultWidth
}

// isTerminal tells whether somebody is watching.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// numbers parses "1,10,50", saying all that is wrong with it.
func numbers(flag string, values []string) ([]int, error) {
	if len(values) == 0 {
		return nil, usage(fmt.Errorf("--%s is empty", flag))
	}
	var out []int
	var bad []string
	for _, text := range values {
		text = strings.TrimSpace(text)
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || text != strconv.Itoa(n) { // which leaves out 010, that others would read as 8
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
