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

// runFlags are the flags of `zkbench run`.
type runFlags struct {
	ensemble   ensembleFlags
	load       loadFlags
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
	f.load = bindLoad(cmd)
	f.load.bindSeries(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "folder for results (default: in "+defaultRuns+")")
	flags.StringVar(&f.prometheus, "prometheus", "", "serve live numbers in Prometheus' format at this\n`address`, such as 9464 (loopback) or 0.0.0.0:9464")
	flags.StringArrayVar(&f.drivers, "driver", nil, "compare a library of your own, too: a `program`\nwith its clients, and its arguments, such as\n'./my_lock.py fair'; see docs/drivers.md")
	flags.BoolVar(&f.quick, "quick", false, "a rehearsal: few clients, short loads")
	f.ensemble.bind(cmd)
	return cmd
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
	selected, err := a.selected(names, &f)
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
func (a *app) selected(names []string, f *runFlags) ([]scenarios.Scenario, error) {
	if slices.Equal(names, []string{scenarios.MatrixName}) {
		return f.matrix()
	}
	if slices.Equal(names, []string{allScenarios}) {
		names = scenarios.Names()
	}
	var selected []scenarios.Scenario
	var errs []error
	for _, name := range names {
		s, err := scenarios.Load(name, a.recipes())
		if err == nil {
			s, err = f.override(s, a.recipes())
		}
		if err == nil {
			err = a.addDrivers(&s)
		}
		errs = append(errs, err)
		selected = append(selected, s)
	}
	return selected, errors.Join(errs...)
}

// override changes a scenario by the flags that were given, and checks the result.
func (f *runFlags) override(s scenarios.Scenario, recipes []variants.Recipe) (scenarios.Scenario, error) {
	if f.quick {
		s.Quick()
	}
	return f.load.override(s, recipes)
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
		if err := errors.Join(s.Unable(scenarios.AbilityNow(e.Ensemble, engine)), runner.CheckConnections(s, e.Servers())); err != nil {
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
