package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
)

// defaultRuns is the folder that has a folder for each run.
const defaultRuns = "results/runs"

// runFlags are the flags of `zkbench run`. Flags that are named after a scenario's fields override them.
type runFlags struct {
	ensemble   ensembleFlags
	clients    []string
	mode       string
	rates      []string
	arrivals   string
	variants   []string
	repeats    int
	operations int
	size       int
	duration   time.Duration
	warmUp     time.Duration
	hold       time.Duration
	think      time.Duration
	stages     stageFlag
	background backgroundFlag
	atMost     time.Duration
	faults     faultFlags
	seed       uint64
	out        string
	prometheus string
	quick      bool
	drivers    []string
}

func runCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO…",
		Short: "Run scenarios and compare their variants",
		Long: `Run scenarios, by name or from a YAML file, and compare their variants; 'all'
runs every scenario that comes with zkbench, and 'fault-matrix' every variant
under every fault. The flags of the load (--clients, --duration, …) override the
scenario's fields. If the scenario runs unchanged, its claims (expect:) are
checked, too.

With --fault, something fails during the load: a server (kill, pause, partition:
leader, follower, any or zoo1), a session (expire), a connection (cut) or a
client (stop, deaf: any, holder, waiter, idle or client 0). It happens 'at' a
time after the warm-up, 'every' so often, and 'for' how long. A schedule that
cannot happen is refused before the run.

With --background, other sessions read and write at fixed rates, first alone and
then beside the load: the recipe runs on a busy ensemble, and the result shows
what it costs the others.

The variants run on the same ensemble, shuffled again in each repeat. Each
measurement is stored in a JSON file. 'zkbench plot' draws the results. If a run
is interrupted in a window of more than a minute, it stores what it has of it.

Without --servers, zkbench starts three servers and takes them down afterwards.
If 'zkbench ensemble up' has started an ensemble, it is used instead and stays
up. If neither containers nor local processes can be started, zkbench falls back
to a server of its own: its counts are exact, but its latencies are not those of
an ensemble.`,
		Example: `  zkbench run lock-contention
  zkbench run lock-contention --variants znode --clients 200 --hold 5ms
  zkbench run lock-drain --ensemble embedded
  zkbench run lock-contention --fault 'kill: leader, at: 1s, for: 1s'
  zkbench run lock-contention --fault 'cut: any, after: create, every: 100ms'
  zkbench run lock-contention --background 'reads: 500, writes: 100'
  zkbench run lock-contention --clients 50 --repeats 1 --duration 1h
  zkbench run all --quick
  zkbench run ./my-scenario.yaml --servers zk1:2181,zk2:2181,zk3:2181
  zkbench run lock-drain --servers zk1:2181,zk2:2181,zk3:2181/bench`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("which scenario? there are: all, %s, %s; or name a YAML file", scenarios.MatrixName, strings.Join(scenarios.Names(), ", "))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return append(scenarios.Names(), allScenarios, scenarios.MatrixName), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runScenarios(cmd, args, f) },
	}
	f.bindLoad(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.repeats, "repeats", 0, "measurements of each variant")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of the order of the variants")
	flags.StringVar(&f.out, "out", "", "folder for results (default: in "+defaultRuns+")")
	flags.StringVar(&f.prometheus, "prometheus", "", "serve live numbers in Prometheus' format at this\n`address`, such as 9464 (loopback) or 0.0.0.0:9464")
	flags.StringArrayVar(&f.drivers, "driver", nil, "compare a library of your own, too: a `program`\nwith its clients, and its arguments, such as\n'./my_lock.py fair'; see docs/drivers.md")
	flags.BoolVar(&f.quick, "quick", false, "a rehearsal: few clients, short loads")
	f.ensemble.bind(cmd)
	return cmd
}

// bindLoad declares the flags that change a scenario's load.
func (f *runFlags) bindLoad(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.clients, "clients", nil, "numbers of clients, such as 1,10,50")
	flags.StringSliceVar(&f.variants, "variants", nil, "variants to compare (default: the scenario's)")
	flags.StringVar(&f.mode, "mode", "", "closed (clients loop), open (operations arrive\nat a rate) or lockstep (exact counts)")
	flags.StringSliceVar(&f.rates, "rate", nil, "operations per second in open mode,\nsuch as 100,200")
	flags.StringVar(&f.arrivals, "arrivals", "", "constant or poisson, in open mode")
	flags.DurationVar(&f.duration, "duration", 0, "length of a measurement in closed and open mode")
	flags.IntVar(&f.operations, "operations", 0, "operations per client, instead of a duration")
	flags.IntVar(&f.size, "size", 0, "amount of work for each client, such as items")
	flags.DurationVar(&f.warmUp, "warm-up", 0, "load before each measurement, not counted")
	flags.DurationVar(&f.hold, "hold", 0, "time for which a client holds a lock")
	flags.DurationVar(&f.think, "think", 0, "pause between a client's operations")
	f.stages.bind(cmd)
	f.background.bind(cmd)
	flags.DurationVar(&f.atMost, "at-most", 0, "longest time of a load of a number of operations")
	f.faults.bind(cmd)
}

// allScenarios is the argument that selects every embedded scenario.
const allScenarios = "all"

func (a *app) runScenarios(cmd *cobra.Command, names []string, f runFlags) error {
	if err := checkEmpty(cmd); err != nil {
		return err
	}
	if err := a.useDrivers(f.drivers, names); err != nil {
		return usage(err)
	}
	var errs []error
	selected, err := a.selected(cmd, names, &f)
	errs = append(errs, err)
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
	engine, err := auto.Resolve(cmd.Context(), f.ensemble.choice(), f.ensemble.options(a.stderr))
	if err != nil {
		return err
	}
	if isGroup(names) {
		selected = a.possible(selected, engine, &f.ensemble)
	}
	if err := a.admit(selected, engine, &f.ensemble); err != nil {
		return err
	}
	run := newRun()
	if f.out == "" {
		f.out = filepath.Join(defaultRuns, run)
	}
	if err := checkOut(f.out); err != nil {
		return err
	}
	exporter, err := a.export(cmd.Context(), f.prometheus)
	if err != nil {
		return err
	}
	defer exporter.close()
	docs, err := a.measure(cmd.Context(), selected, f, engine, run, exporter)
	if reportErr := a.report(docs, f, err); err != nil || reportErr != nil {
		return errors.Join(reportErr, err)
	}
	return a.checkClaims(docs, selected)
}

// selected loads scenarios by their names.
func (a *app) selected(cmd *cobra.Command, names []string, f *runFlags) ([]scenarios.Scenario, error) {
	if slices.Equal(names, []string{scenarios.MatrixName}) {
		return f.matrix(cmd)
	}
	if slices.Equal(names, []string{allScenarios}) {
		names = scenarios.Names()
	}
	var selected []scenarios.Scenario
	var errs []error
	for _, name := range names {
		s, err := f.scenario(cmd, name, a.recipes())
		if err == nil {
			err = a.addDrivers(&s)
		}
		errs = append(errs, err)
		selected = append(selected, s)
	}
	return selected, errors.Join(errs...)
}

// scenario loads a scenario and overrides its fields with the flags that were given.
func (f *runFlags) scenario(cmd *cobra.Command, name string, recipes []variants.Recipe) (scenarios.Scenario, error) {
	s, err := scenarios.Load(name, recipes)
	if err != nil {
		return s, err
	}
	return f.override(cmd, s, recipes)
}

// override changes a scenario by the flags that were given, and checks the result.
func (f *runFlags) override(cmd *cobra.Command, s scenarios.Scenario, recipes []variants.Recipe) (_ scenarios.Scenario, err error) {
	if f.quick {
		s.Quick()
	}
	given := cmd.Flags().Changed
	if slices.ContainsFunc(loadFlags(), given) {
		s.Expect = nil // claims are about the scenario's own load
	}
	if given("clients") {
		if s.Clients, err = numbers("clients", f.clients); err != nil {
			return s, err
		}
	}
	if given("rate") {
		if s.Rate, err = numbers("rate", f.rates); err != nil {
			return s, err
		}
	}
	for flag, override := range map[string]func(){
		"mode":     func() { s.SetMode(scenarios.Mode(f.mode), given("rate"), given("arrivals")) },
		"arrivals": func() { s.Arrivals = scenarios.Arrivals(f.arrivals) },
		"variants": func() { s.Variants = f.variants },
		"repeats":  func() { s.Repeats = f.repeats },
		"size":     func() { s.Size = f.size },
		"seed":     func() { s.Seed = f.seed },
		"warm-up":  func() { s.WarmUp = scenarios.Duration(f.warmUp) },
		"hold":     func() { s.Hold = scenarios.Duration(f.hold) },
		"think":    func() { s.Think = scenarios.Duration(f.think) },
		"at-most":  func() { s.AtMost = scenarios.Duration(f.atMost) },
	} {
		if given(flag) {
			override()
		}
	}
	// A load has either a duration or a number of operations.
	switch {
	case given("duration") && given("operations"):
		return s, errors.New("--duration and --operations exclude each other")
	case given("duration"):
		s.Duration, s.Operations = scenarios.Duration(f.duration), 0
		if !given("at-most") { // a limit of the operations that the flag replaces
			s.AtMost = 0
		}
	case given("operations"):
		s.Operations, s.Duration = f.operations, 0
	}
	if err := errors.Join(f.stages.override(&s, given), f.background.override(&s, given), f.faults.override(&s, given)); err != nil {
		return s, err
	}
	return s, checked(s, recipes)
}

// checked returns every mistake in a scenario, by the flags that change its fields.
func checked(s scenarios.Scenario, recipes []variants.Recipe) error {
	return errors.Join(results.Map(s.Validate(recipes), func(p scenarios.Problem) error {
		return fmt.Errorf("%s, --%s: %s", s.Name, flagOf(p), p.Text)
	})...)
}

// loadFlags returns the names of the flags that change a scenario's load.
func loadFlags() []string {
	return append([]string{"clients", "mode", "rate", "arrivals", "variants", "size", "duration", "operations", "warm-up", "hold", "think", "at-most", stageFlagName, backgroundFlagName}, faultFlagNames()...)
}

// newRun returns a name for a run: the time and a random suffix.
func newRun() string {
	var tail [2]byte
	_, _ = rand.Read(tail[:]) // never fails
	return time.Now().UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(tail[:])
}

// isGroup reports whether the names on the command line stand for a group of scenarios.
func isGroup(names []string) bool {
	return slices.Equal(names, []string{allScenarios}) || slices.Equal(names, []string{scenarios.MatrixName})
}

// measure runs the scenarios. Also if it fails, it returns the complete measurements, and the part of the one that was under way.
func (a *app) measure(ctx context.Context, selected []scenarios.Scenario, f runFlags, engine ensemble.Engine, run string, exporter *exporter) (docs []*results.Document, err error) {
	e, err := a.openTarget(ctx, selected, f.ensemble, engine, run)
	if err != nil {
		return nil, asUsage(err)
	}
	defer func() { err = errors.Join(err, e.close(context.WithoutCancel(ctx))) }()
	for _, s := range selected {
		if err := unable(s, f.ensemble.abilityNow(e.Ensemble, engine)); err != nil {
			return nil, err
		}
		if err := runner.CheckConnections(s, e.Servers()); err != nil {
			return nil, usage(err)
		}
	}
	progress := newProgress(a.stderr)
	defer progress.close()
	runner := newRunner(e, run, progress, exporter)
	runner.Recipes = a.recipes()
	runner.Partial = func(d *results.Document) error {
		docs = append(docs, d)
		return save(d, f.out)
	}
	for _, s := range selected {
		runner.Save = func(d *results.Document) error {
			docs = append(docs, d)
			if err := save(d, f.out); err != nil {
				return err
			}
			a.soFar(docs, s, progress)
			return nil
		}
		progress.begin(s.Name)
		if err := runner.RunScenario(ctx, s); err != nil {
			return docs, e.explain(failedRun(err))
		}
	}
	return docs, nil
}

// failedRun adds the exit code for a broken recipe to the error of a scenario in which no operation completed any more, or
// in which a promise was broken before the load failed for another reason.
func failedRun(err error) error {
	if broken := new(runner.BrokenError); errors.Is(err, runner.ErrStuck) || errors.As(err, &broken) {
		return exitError{outcome.CodeBroken, err}
	}
	return err
}
