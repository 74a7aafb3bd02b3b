package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// defaultRuns is where runs are kept, each in a folder of its own.
const defaultRuns = "results/runs"

// runFlags are the flags of `zkbench run`. Those of a scenario's fields override what its file says, if given.
type runFlags struct {
	ensemble   ensembleFlags
	clients    []string
	variants   []string
	repeats    int
	operations int
	duration   time.Duration
	warmUp     time.Duration
	hold       time.Duration
	think      time.Duration
	seed       uint64
	out        string
	summary    string
}

func runCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO…",
		Short: "Run scenarios and compare their variants",
		Long: `Run scenarios, by name or from a YAML file, and print how their variants
compare. The flags of the load (--clients, --duration, …) override what the
scenario says.

Variants run on the same ensemble, in an order that is shuffled anew in each
repeat. Every measurement is kept as one JSON file; 'zkbench plot' draws them.

Without --servers zkbench starts three servers of its own and takes them down
afterwards; an ensemble that 'zkbench ensemble up' has started is used instead,
and stays up.`,
		Example: `  zkbench run lock-contention
  zkbench run lock-drain --clients 50 --summary s.json
  zkbench run lock-contention --variants znode --clients 200 --hold 5ms
  zkbench run ./my-scenario.yaml --servers zk1:2181,zk2:2181,zk3:2181`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("which scenario? there are: %s; or give a YAML file", strings.Join(scenarios.Names(), ", "))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return scenarios.Names(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runScenarios(cmd, args, f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.clients, "clients", nil, "numbers of clients, such as 1,10,50")
	flags.StringSliceVar(&f.variants, "variants", nil, "variants to compare (default all of the recipe)")
	flags.IntVar(&f.repeats, "repeats", 0, "how often to measure each variant")
	flags.DurationVar(&f.duration, "duration", 0, "length of each measurement of a closed load")
	flags.IntVar(&f.operations, "operations", 0, "operations per client, instead of a duration")
	flags.DurationVar(&f.warmUp, "warm-up", 0, "load to run and discard before each measurement")
	flags.DurationVar(&f.hold, "hold", 0, "how long a holder holds")
	flags.DurationVar(&f.think, "think", 0, "pause between a client's operations")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of the order in which variants run")
	flags.StringVar(&f.out, "out", "", "folder for results (default: in "+defaultRuns+")")
	flags.StringVar(&f.summary, "summary", "", "write all metrics to this JSON `file` as well")
	f.ensemble.bind(cmd)
	return cmd
}

func (a *app) runScenarios(cmd *cobra.Command, names []string, f runFlags) error {
	var selected []scenarios.Scenario
	var errs []error
	for _, name := range names {
		s, err := f.scenario(cmd, name)
		errs = append(errs, err)
		selected = append(selected, s)
	}
	for i, s := range selected {
		if slices.ContainsFunc(selected[:i], func(o scenarios.Scenario) bool { return o.Name == s.Name && s.Name != "" }) {
			errs = append(errs, fmt.Errorf("scenario %s is given twice: its results would overwrite each other", s.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return usage(err)
	}
	if err := f.ensemble.check(); err != nil {
		return err
	}
	run := newRun()
	if f.out == "" {
		f.out = filepath.Join(defaultRuns, run)
	}
	if err := checkSummary(f.summary); err != nil {
		return err
	}
	if err := checkOut(f.out); err != nil {
		return err
	}
	docs, err := a.measure(cmd.Context(), selected, f, run)
	return errors.Join(a.report(docs, f, err), err)
}

// scenario loads a scenario and lets the flags that were given override its fields.
func (f *runFlags) scenario(cmd *cobra.Command, name string) (scenarios.Scenario, error) {
	recipes := catalog.Recipes()
	s, err := scenarios.Load(name, recipes)
	if err != nil {
		return s, err
	}
	if cmd.Flags().Changed("clients") {
		if s.Clients, err = numbers("clients", f.clients); err != nil {
			return s, err
		}
	}
	given := cmd.Flags().Changed
	if given("variants") {
		s.Variants = f.variants
	}
	if given("repeats") {
		s.Repeats = f.repeats
	}
	if given("seed") {
		s.Seed = f.seed
	}
	// A load has either a duration or a number of operations; the one that is given takes the other's place.
	if given("duration") {
		s.Duration, s.Operations = scenarios.Duration(f.duration), 0
	}
	if given("duration") && given("operations") {
		return s, errors.New("--duration and --operations exclude each other")
	}
	if given("operations") {
		s.Operations, s.Duration = f.operations, 0
	}
	for flag, override := range map[string]struct {
		to   *scenarios.Duration
		from time.Duration
	}{"warm-up": {&s.WarmUp, f.warmUp}, "hold": {&s.Hold, f.hold}, "think": {&s.Think, f.think}} {
		if given(flag) {
			*override.to = scenarios.Duration(override.from)
		}
	}
	var errs []error
	for _, p := range s.Validate(recipes) {
		errs = append(errs, fmt.Errorf("%s, --%s: %s", s.Name, p.Field, p.Text))
	}
	if len(errs) == 0 {
		errs = append(errs, scenarios.CheckFileLimit(s))
	}
	return s, errors.Join(errs...)
}

// newRun names an invocation: when it was, and something that tells it from another one in the same second.
func newRun() string {
	var tail [2]byte
	_, _ = rand.Read(tail[:]) // never fails
	return time.Now().UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(tail[:])
}

// checkOut refuses a folder in which results would be overwritten or mixed up.
func checkOut(dir string) error {
	old, err := results.Files(dir)
	if err != nil {
		return usage(fmt.Errorf("--out %s: %w", dir, err))
	}
	if len(old) > 0 {
		return usage(fmt.Errorf("--out %s holds results already: choose another folder", dir))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// checkSummary notices before the run that its summary could not be written after it.
func checkSummary(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usage(fmt.Errorf("--summary %s: there is no folder %s", path, filepath.Dir(path)))
	}
	return nil
}

// measure runs the scenarios and returns the measurements that are whole, even if it fails.
func (a *app) measure(ctx context.Context, selected []scenarios.Scenario, f runFlags, run string) (docs []*results.Document, err error) {
	e, err := auto.Open(ctx, f.ensemble.choice(), f.ensemble.options(a.stderr))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	if !e.Owned() {
		fmt.Fprintf(a.stderr, "all znodes stand below /zkbench-%s, which is removed at the end\n", run)
	}
	progress := newProgress(a.stderr)
	defer progress.close()
	runner := scenarios.Runner{
		Ensemble:    e,
		Recipes:     catalog.Recipes(),
		Environment: results.DescribeMachine(versionText()),
		Run:         run,
		Progress:    progress.step,
		Save: func(d *results.Document) error {
			docs = append(docs, d)
			return d.Write(f.out)
		},
	}
	for _, s := range selected {
		progress.begin(s.Name)
		err := runner.RunScenario(ctx, s)
		if errors.Is(err, scenarios.ErrStuck) {
			err = exitError{codeBroken, err}
		}
		if err != nil {
			return docs, err
		}
	}
	return docs, nil
}

// report prints the comparison and returns what is wrong with it. runErr is how the run ended.
func (a *app) report(docs []*results.Document, f runFlags, runErr error) error {
	if len(docs) == 0 {
		_ = os.Remove(f.out) // an empty folder would only puzzle
		return nil
	}
	summary := results.Summarize(docs)
	fmt.Fprintln(a.stdout)
	tableErr := summary.WriteTable(a.stdout, width(a.stdout))
	fmt.Fprintln(a.stdout)
	var findings strings.Builder
	results.WriteVerdict(&findings, docs)
	fmt.Fprintln(a.stdout, results.Wrap(strings.TrimSpace(findings.String()), width(a.stdout)))
	partial := ""
	if runErr != nil {
		partial = "partial "
	}
	fmt.Fprintf(a.stdout, "\n%sresults in %s; `zkbench plot %s` draws them\n", partial, f.out, f.out)
	var summaryErr error
	if f.summary != "" {
		summaryErr = results.WriteJSON(f.summary, summary)
	}
	return errors.Join(verdict(docs), tableErr, summaryErr)
}

// verdict returns the error whose exit code the measurements deserve; the reasons have been printed.
func verdict(docs []*results.Document) error {
	switch {
	case slices.ContainsFunc(docs, func(d *results.Document) bool { return len(d.Violations) > 0 }):
		return exitError{codeBroken, errors.New("a recipe broke its promise")}
	case slices.ContainsFunc(docs, func(d *results.Document) bool { return len(d.Invalid) > 0 }):
		return exitError{codeInvalid, errors.New("the run is invalid: its numbers must not be used")}
	default:
		return nil
	}
}
