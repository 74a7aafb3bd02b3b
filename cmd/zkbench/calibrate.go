package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/campaign"
	"github.com/zkbench/zkbench/variants/catalog"
)

func calibrateCommand(a *app) *cobra.Command {
	var f pairFlags
	cmd := &cobra.Command{
		Use: "calibrate SCENARIO…", Short: "Measure this machine's run-to-run noise",
		Long: `Measure how much two runs of the same build differ on this machine, in pairs as
'zkbench gate --run' measures two builds. For 7 days, the gate then ignores
slowdowns within this resolution if scenario, load, machine and servers are the
same. On a noisy machine, small slowdowns therefore go undetected.`,
		Example: `  zkbench calibrate lock-contention --clients 20
  zkbench calibrate lock-contention queue-contention --ensemble process`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.calibrate(cmd, args, f) },
	}
	takeScenarios(cmd, math.MaxInt)
	f.bind(a, cmd, "metrics to calibrate\n(default: those of the gate)")
	return cmd
}

func (a *app) calibrate(cmd *cobra.Command, names []string, f pairFlags) error {
	f.timed = true
	switch err := f.complete(cmd.Context(), names...); {
	case err != nil:
		return usage(err)
	case f.rules.Rule.ScreenPairs < gate.CalibrationPairs:
		return usage(fmt.Errorf("--pairs %d gives no 95 %% interval: use at least %d, and preferably as many as `zkbench gate --run`",
			f.rules.Rule.ScreenPairs, gate.CalibrationPairs))
	case f.series.Folder != "" && len(names) > 1:
		return usage(errors.New("--out is for one scenario: pairs of several would be mixed"))
	}
	check := checkFile
	if _, err := os.Stat(filepath.Dir(f.cache)); errors.Is(err, fs.ErrNotExist) { // created when there is something to store
		check = checkFolder
	}
	if err := check("cache", f.cache); err != nil {
		return err
	}
	for _, name := range names {
		if err := a.calibrateOne(cmd, name, f); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stdout, "\nstored in %s, valid for %d days\n", f.cache, gate.CalibrationDays)
	return nil
}

func (a *app) calibrateOne(cmd *cobra.Command, name string, f pairFlags) error {
	var entries []gate.Resolution
	err := a.withSeries(cmd, name, f, func(ctx context.Context, s *campaign.Series) error {
		screen, err := s.Measure(ctx, f.rules.Rule.ScreenPairs, s.Load, f.rules.CheckPair)
		pairs := gate.Pairs{Screen: screen}
		if err == nil {
			f.rules.Now = time.Now()
			if entries, err = gate.Calibrate(pairs, f.rules); err != nil {
				err = outcome.With(outcome.CodeInvalid, errors.Join(append(s.Unreadable, err)...))
			}
		}
		return errors.Join(verdict(pairs.Documents()), err)
	})
	if err != nil {
		return err
	}
	known, err := gate.ReadCalibration(f.cache)
	if err != nil {
		return err
	}
	t := table.New(table.Left("scenario", "variant", "clients", "metric", "resolution")...)
	for _, e := range entries {
		t.Row(e.Scenario, e.Variant, e.Clients, e.Metric, fmt.Sprintf("%.3f", e.Resolution))
	}
	fmt.Fprintln(a.stdout, t)
	return known.Keep(f.cache, entries)
}

type pairFlags struct {
	series   campaign.Series // set by flags; prepareSeries sets the other fields
	rules    gate.PairRules
	timed    bool // whether the gate must compare a time
	cache    string
	ensemble ensembleFlags
}

const defaultCampaigns = "results/campaigns"

func (f *pairFlags) bind(a *app, cmd *cobra.Command, metrics string) {
	f.series.Progress, f.rules = a.stderr, gate.DefaultPairRules(time.Now())
	flags := cmd.Flags()
	flags.IntVar(&f.rules.Rule.ScreenPairs, "pairs", 10, "pairs of runs to measure")
	flags.StringSliceVar(&f.rules.Metrics, "metrics", nil, metrics)
	flags.Uint64Var(&f.series.Seed, "order-seed", 0, "seed of the order within pairs (default random)")
	flags.StringVar(&f.series.Folder, "out", "", "folder for runs (default "+defaultCampaigns+"/…)")
	flags.StringVar(&f.cache, "cache", "", "`file` with calibrations\n(default in the user's cache folder)")
	putInGroup(cmd, pairedFlags)
	f.series.Load = bindLoad(cmd, false)
	f.ensemble.bind(a, cmd)
}

// complete checks the scenarios and the rules, and sets the flags that are the same for all scenarios and were not given.
func (f *pairFlags) complete(ctx context.Context, scenarios ...string) error {
	f.rules.Metrics = list.Map(f.rules.Metrics, metric.WithUnit)
	for _, name := range scenarios {
		if err := f.check(ctx, name); err != nil {
			return err
		}
	}
	if err := f.rules.Validate(); err != nil || f.cache != "" {
		return err
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("%w: name a file for calibrations with --cache", err)
	}
	f.cache = filepath.Join(dir, "zkbench", "calibration.json")
	return nil
}

func (f *pairFlags) check(ctx context.Context, scenario string) error {
	loaded, err := scenarios.Read(ctx, scenario, catalog.Recipes())
	if err == nil {
		err = override(&loaded, f.series.Load, catalog.Recipes())
	}
	if err != nil {
		return err
	}
	if err := loaded.CheckMetrics(*loaded.RecipeAmong(catalog.Recipes()), f.rules.Metrics); err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	onlyCounts := len(f.rules.Metrics) > 0 || loaded.Mode == scenarios.Lockstep || f.ensemble.Engine == string(ensemble.Embedded)
	if f.timed && onlyCounts && !f.rules.Timed() {
		return fmt.Errorf("%s: the gate compares only counts, which need no calibration: name a time with --metrics", scenario)
	}
	return nil
}

func (a *app) withSeries(cmd *cobra.Command, name string, f pairFlags, measure func(context.Context, *campaign.Series) error) (err error) {
	s, ctx := &f.series, cmd.Context()
	if err := prepareSeries(cmd, name, &f); err != nil {
		return err
	}
	starts := func(engine ensemble.Engine) (done func()) { return a.started.starts(engine, f.ensemble.Name) }
	where, down, err := campaign.Share(ctx, f.ensemble.Choice, f.ensemble.Options, starts)
	if err != nil {
		return asUsage(err)
	}
	defer func() { err = errors.Join(err, down(context.WithoutCancel(ctx))) }()
	if err := os.MkdirAll(s.Folder, 0o755); err != nil {
		return err
	}
	s.Where = where
	fmt.Fprintf(a.stderr, "results and logs are kept in %s; all runs have the flags %s\n", s.Folder, strings.Join(s.Arguments(), " "))
	return errors.Join(measure(ctx, s), s.Record())
}

// prepareSeries checks flags and files, and sets all fields of the series but its ensemble.
func prepareSeries(cmd *cobra.Command, scenario string, f *pairFlags) error {
	s := &f.series
	var errBase, errHead error
	s.Base, errBase = executable(s.Base)
	s.Head, errHead = executable(s.Head)
	if err := errors.Join(errBase, errHead); err != nil {
		return usage(err)
	}
	if !cmd.Flags().Changed("order-seed") {
		s.Seed = rand.Uint64()
	}
	if !cmd.Flags().Changed("name") {
		f.ensemble.Name = fmt.Sprintf("gate-%d", os.Getpid())
	}
	s.Scenario, s.Folder = scenario, cmp.Or(s.Folder, filepath.Join(defaultCampaigns, newRun()))
	if entries, err := os.ReadDir(s.Folder); err == nil && len(entries) > 0 {
		return usage(fmt.Errorf("--out %s is not empty: choose another folder", s.Folder))
	}
	return checkFolder("out", s.Folder)
}

func executable(name string) (string, error) {
	if name == "" {
		return os.Executable()
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: name an executable zkbench, such as ./old-zkbench", err)
	}
	return path, nil
}
