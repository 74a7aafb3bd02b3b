package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
)

// gateFlags are the flags of `zkbench gate`.
type gateFlags struct {
	rules, waivers, baseline          string
	json, junit, markdown, benchmarks string
	require                           []string
	selfTest                          bool
	scenario                          string
	pairs                             pairFlags
}

func gateCommand(a *app) *cobra.Command {
	f := gateFlags{}
	cmd := &cobra.Command{
		Use:   "gate [RESULT…]",
		Short: "Judge results: pass, regression, or no telling",
		Long: `Judge results, such as in CI. A RESULT is a run's folder or single files of it;
without one, the newest run in ` + defaultRuns + ` is judged. Where CI is set, name it.

Every result is held to what makes it one: a promise that was kept, valid
numbers, oracles that agree, nothing missing. What the scenario expects is
judged if it ran as it stands; --rules adds claims of your own, and --baseline
demands the counts that 'zkbench baseline save' has kept. --waivers lets single
regressions through, each up to a ceiling and until a day; one that has expired
is refused (exit code 2).

With --run, another build is measured beside this one: pairs of runs on one
ensemble, in an order that is drawn anew for each. What the first pairs flag is
measured again, and only what both stages show is a regression. How that is
decided, and what it can see: docs/statistics.md.

Exit codes, first that applies: 4 a recipe broke its promise; 1 could not run;
5 invalid, inconclusive, or nothing to judge; 3 regression; 0 pass. Mistakes in
flags and files are 2.`,
		Example: `  zkbench gate
  zkbench gate results/runs/20260102T030405Z-ab12 --baseline results/baselines
  zkbench gate --rules objectives.yaml --junit gate.xml --json gate.json
  zkbench gate --run lock-contention --base-binary ./zkbench-main --clients 20
  zkbench gate --self-test`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.gate(cmd, args, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.rules, "rules", "", "YAML `file` with claims that must hold")
	flags.StringVar(&f.waivers, "waivers", "", "YAML `file` with regressions to let through")
	flags.StringVar(&f.baseline, "baseline", "", "`folder` with baselines of counts")
	flags.StringSliceVar(&f.require, "require", nil, "scenarios that must have a result")
	flags.StringVar(&f.json, "json", "", "write the verdict to this JSON `file`")
	flags.StringVar(&f.junit, "junit", "", "write it to this JUnit XML `file`")
	flags.StringVar(&f.markdown, "markdown", "", "write it to this Markdown `file`")
	flags.StringVar(&f.benchmarks, "benchfmt", "", "write the metrics to this `file` for benchstat")
	flags.BoolVar(&f.selfTest, "self-test", false, "show the gate what it must catch")
	flags.StringVar(&f.scenario, "run", "", "measure this `scenario` with both builds")
	flags.StringVar(&f.pairs.base, "base-binary", "", "zkbench as it was, for --run")
	flags.StringVar(&f.pairs.head, "head-binary", "", "zkbench as it is (default this one)")
	flags.IntVar(&f.pairs.confirm, "confirm", 20, "pairs to confirm what is flagged")
	flags.StringSliceVar(&f.pairs.metrics, "metrics", nil, "metrics to compare (default throughput and,\nof the first phase, p50 and p90)")
	f.pairs.bind(cmd)
	return cmd
}

// check refuses flags that contradict each other, so that nothing is judged other than its caller thinks.
func (f gateFlags) check(cmd *cobra.Command, args []string) error {
	var pairsOnly []string
	for _, name := range slices.Concat(loadFlags(), []string{"base-binary", "head-binary", "pairs", "confirm", "metrics", "out", "order-seed", "cache",
		"ensemble", "servers", "name", "image", "zookeeper-home", "txn-log", "read-delay", "write-delay"}) {
		if cmd.Flags().Changed(name) {
			pairsOnly = append(pairsOnly, "--"+name)
		}
	}
	others := given(cmd, func(flag *pflag.Flag) bool { return flag.Name != "self-test" })
	switch {
	case f.selfTest && len(args)+len(others) > 0:
		return errors.New("--self-test judges its own plants: give neither results nor other flags")
	case f.scenario == "" && len(pairsOnly) > 0:
		return fmt.Errorf("%s: for --run only", strings.Join(pairsOnly, ", "))
	case f.scenario != "" && len(args) > 0:
		return errors.New("--run measures what it judges: give no results")
	case f.scenario != "" && f.pairs.base == "":
		return errors.New("--run needs --base-binary, the build to compare with")
	case f.scenario != "" && len(f.baseline+f.rules)+len(f.require) > 0:
		return errors.New("--run compares two builds: judge a result by --rules, --baseline and --require in a call of its own")
	case !f.selfTest && f.scenario == "" && len(args) == 0 && inCI():
		return errors.New("which RESULT? in CI ($CI, $GITHUB_ACTIONS) the newest run may be one that an earlier job left: name a folder or files")
	}
	return nil
}

// inCI tells whether nobody is there to see which run was the newest.
func inCI() bool {
	isSet := func(name string) bool { return os.Getenv(name) != "" && os.Getenv(name) != "false" }
	return isSet("CI") || isSet("GITHUB_ACTIONS")
}

// given returns those of the flags that were given, with their dashes.
func given(cmd *cobra.Command, which func(*pflag.Flag) bool) []string {
	var names []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if which(flag) {
			names = append(names, "--"+flag.Name)
		}
	})
	return names
}

// checkEmpty refuses flags that were given without a value: a script whose variable is unset means something else than
// the default.
func checkEmpty(cmd *cobra.Command) error {
	empty := given(cmd, func(flag *pflag.Flag) bool {
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			return len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")
		}
		return flag.Value.Type() == "string" && flag.Value.String() == ""
	})
	if len(empty) > 0 {
		return usage(fmt.Errorf("%s is empty: is a variable unset?", strings.Join(empty, ", ")))
	}
	return nil
}

// outputs returns the files to write, by their flags.
func (f gateFlags) outputs() map[string]string {
	return map[string]string{"json": f.json, "junit": f.junit, "markdown": f.markdown, "benchfmt": f.benchmarks}
}

// clearOutputs removes what an earlier gate has written: if this one does not get far enough to replace it, nobody must
// take it for its verdict.
func (f gateFlags) clearOutputs(inputs []string) error {
	for flag, path := range f.outputs() {
		if path != "" && slices.ContainsFunc(inputs, func(input string) bool { return sameFile(input, path) }) {
			return usage(fmt.Errorf("--%s %s is something to be read: choose another file", flag, path))
		}
		for other, same := range f.outputs() {
			if path != "" && flag < other && filepath.Clean(path) == filepath.Clean(same) {
				return usage(fmt.Errorf("--%s and --%s would write to one file: choose another for one of them", flag, other))
			}
		}
	}
	var errs []error
	for flag, path := range f.outputs() {
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := os.Remove(path); err != nil {
			errs = append(errs, usage(fmt.Errorf("--%s: remove what is there: %w", flag, err)))
		}
	}
	return errors.Join(errs...)
}

// sameFile tells whether two paths lead to one file that is there.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func (a *app) gate(cmd *cobra.Command, args []string, f gateFlags) error {
	inputs := []string{f.rules, f.waivers, f.pairs.base, f.pairs.head, f.pairs.cache}
	for _, arg := range args {
		files, _ := results.Files(arg) // of a folder; what cannot be read is told when it is judged
		inputs = append(append(inputs, arg), files...)
	}
	if err := errors.Join(f.clearOutputs(inputs), checkEmpty(cmd), usage(f.check(cmd, args))); err != nil {
		return err
	}
	if f.selfTest {
		return a.selfTest()
	}
	rules, err := f.read(time.Now())
	if err != nil {
		return usage(err)
	}
	var evidence gate.Evidence
	var notes []string
	if f.scenario != "" {
		evidence, notes, err = a.campaign(cmd, f.scenario, &f.pairs, &rules.Paired)
		if err != nil && len(evidence.Judged()) == 0 {
			return err
		}
	} else {
		evidence, notes = existing(args)
	}
	claims, told := expectations(evidence.Judged())
	rules.Claims = append(rules.Claims, claims...)
	report := gate.Judge(evidence, rules)
	report.Notes = slices.Concat(notes, report.Notes, told)
	return errors.Join(err, a.deliver(cutShort(report, err), evidence, f))
}

// cutShort adds to a report why there was no more to judge. What was found until then stands.
func cutShort(report gate.Report, err error) gate.Report {
	if err == nil {
		return report
	}
	c := gate.Check{Rule: "all pairs measured", Source: gate.FromPairs, Outcome: gate.Error, Why: err.Error()}
	switch codes := codesOf(err); {
	case errors.Is(err, context.Canceled):
		c.Why = "interrupted"
	case slices.Contains(codes, codeBroken):
		c.Outcome = gate.Violation
	case !slices.ContainsFunc(codes, func(code int) bool { return code != codeInvalid }):
		c.Outcome = gate.Inconclusive
	}
	cut := gate.NewReport(append(report.Checks, c), report.Notes)
	if errors.Is(err, context.Canceled) {
		cut.Code = codeInterrupted // whatever else is wrong
	}
	return cut
}

// existing reads results, those of the newest run if none are named, and says which that is. None at all is evidence of
// nothing.
func existing(paths []string) (gate.Evidence, []string) {
	if len(paths) > 0 {
		return gate.Read(paths), nil
	}
	newest, err := newestRun()
	if err != nil {
		return gate.Evidence{Unreadable: []error{err}}, nil
	}
	evidence := gate.Read([]string{newest})
	note := "judged " + newest
	if len(evidence.Documents) > 0 {
		note += ", measured at " + evidence.Documents[0].Started.UTC().Format(time.DateTime) + " UTC"
	}
	return evidence, []string{note}
}

// deliver prints the report, writes it wherever it was asked for, and returns the error with its exit code.
func (a *app) deliver(report gate.Report, evidence gate.Evidence, f gateFlags) error {
	errs := []error{report.WriteTable(a.stdout, width(a.stdout))}
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		errs = append(errs, report.WriteAnnotations(a.stdout))
	}
	for _, output := range []struct {
		path  string
		write func(path string) error
	}{{f.json, report.WriteJSON}, {f.junit, report.WriteJUnit}, {f.markdown, report.WriteMarkdown}, {f.benchmarks, evidence.WriteBenchfmt}} {
		if output.path != "" {
			errs = append(errs, output.write(output.path))
		}
	}
	if !report.Passed() {
		errs = append(errs, exitError{report.Code, nil}) // the table has said everything
	}
	return errors.Join(errs...)
}

// selfTest shows the gate its plants.
func (a *app) selfTest() error {
	t := results.NewTable()
	t.AppendHeader(table.Row{"plant", "must exit", "exits", "verdict", ""})
	missed := 0
	for _, p := range gate.SelfTest(time.Now()) {
		mark := "as it must"
		if !p.Caught() {
			mark = "WRONG"
			missed++
		}
		t.AppendRow(table.Row{p.Name, p.Want, p.Report.Code, p.Report.Verdict, mark})
	}
	fmt.Fprintln(a.stdout, t.Render())
	if missed > 0 {
		return fmt.Errorf("this gate got %d plants wrong: trust none of its verdicts", missed)
	}
	return nil
}
