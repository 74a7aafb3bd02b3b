package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/campaign"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

func calibrateCommand(a *app) *cobra.Command {
	var f pairFlags
	cmd := &cobra.Command{
		Use:   "calibrate SCENARIO…",
		Short: "Measure this machine's run-to-run noise",
		Long: `Measure how much two runs of the same build differ on this machine, in pairs as
'zkbench gate --run' measures two builds. For 7 days, the gate then ignores
slowdowns within this resolution if scenario, load, machine and servers are the
same. On a noisy machine, small slowdowns therefore go undetected.`,
		Example: `  zkbench calibrate lock-contention --clients 20
  zkbench calibrate lock-contention queue-contention --ensemble process`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("which scenario? there are: %s", strings.Join(scenarios.Names(), ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.calibrate(cmd, args, f) },
	}
	f.bind(cmd)
	cmd.Flags().StringSliceVar(&f.metrics, "metrics", nil, "metrics to calibrate\n(default: those of the gate)")
	return cmd
}

func (a *app) calibrate(cmd *cobra.Command, names []string, f pairFlags) error {
	if err := checkEmpty(cmd); err != nil {
		return err
	}
	rules := gate.DefaultPairRules(time.Now())
	rules.Rule.ScreenPairs, rules.Metrics = f.pairs, list.Map(f.metrics, metric.WithUnit)
	if err := rules.Validate(); err != nil {
		return usage(err)
	}
	if f.pairs < gate.CalibrationPairs {
		return usage(fmt.Errorf("--pairs %d gives no 95 %% interval: use at least %d, and preferably as many as `zkbench gate --run`",
			f.pairs, gate.CalibrationPairs))
	}
	if f.out != "" && len(names) > 1 {
		return usage(errors.New("--out is for one scenario: pairs of several would be mixed"))
	}
	cache, err := f.cacheFile()
	if err != nil {
		return err
	}
	if err := checkReplaceable("cache", cache); err != nil {
		return err
	}
	for _, name := range names {
		if err := a.calibrateOne(cmd, name, f, rules, cache); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stdout, "\nstored in %s, valid for %d days\n", cache, gate.CalibrationDays)
	return nil
}

// calibrateOne measures one scenario, prints its resolution and stores it.
func (a *app) calibrateOne(cmd *cobra.Command, name string, f pairFlags, rules gate.PairRules, cache string) error {
	var entries []gate.Resolution
	err := a.withSeries(cmd, name, &f, func(ctx context.Context, s *campaign.Series) error {
		pairs, err := s.Measure(ctx, f.pairs, rules.CheckPair)
		if err != nil {
			return err
		}
		rules.Now = time.Now()
		if entries, err = gate.Calibrate(gate.Pairs{Screen: pairs}, rules); err != nil {
			return exitError{outcome.CodeInvalid, errors.Join(append(s.Unreadable, err)...)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	known, err := gate.ReadCalibration(cache)
	if err != nil {
		return err
	}
	t := table.New(table.Left("scenario", "variant", "clients", "metric", "resolution")...)
	for _, e := range entries {
		t.Row(e.Scenario, e.Variant, e.Clients, e.Metric, fmt.Sprintf("%.3f", e.Resolution))
	}
	fmt.Fprintln(a.stdout, t)
	return known.Keep(cache, entries)
}

// pairFlags are the flags of `zkbench gate --run` and `zkbench calibrate`.
type pairFlags struct {
	base, head     string
	pairs, confirm int
	metrics        []string
	seed           uint64
	out            string
	cache          string
	load           scenarios.Overrides
	ensemble       ensembleFlags
}

// defaultCampaigns is the folder for pairs of runs.
const defaultCampaigns = "results/campaigns"

func (f *pairFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.pairs, "pairs", 10, "pairs of runs to measure")
	flags.Uint64Var(&f.seed, "order-seed", 0, "seed of the order within pairs (default random)")
	flags.StringVar(&f.out, "out", "", "folder for runs (default "+defaultCampaigns+"/…)")
	flags.StringVar(&f.cache, "cache", "", "`file` with calibrations\n(default in the user's cache folder)")
	f.load = bindLoad(cmd)
	f.ensemble.bind(cmd)
}

// cacheFile returns the path of the file with calibrations.
func (f *pairFlags) cacheFile() (string, error) {
	if f.cache != "" {
		return f.cache, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", usage(fmt.Errorf("%w: name a file for calibrations with --cache", err))
	}
	return filepath.Join(dir, "zkbench", "calibration.json"), nil
}

// withSeries prepares a series of pairs and its ensemble, calls measure, and takes the ensemble down.
func (a *app) withSeries(
	cmd *cobra.Command, scenario string, f *pairFlags, measure func(context.Context, *campaign.Series) error,
) (err error) {
	s, err := a.newSeries(cmd, scenario, f)
	if err != nil {
		return err
	}
	ctx, opts := cmd.Context(), f.ensemble.options(a.stderr)
	if !cmd.Flags().Changed("name") {
		opts.Name = fmt.Sprintf("gate-%d", os.Getpid())
	}
	starts := func(engine ensemble.Engine) (done func()) { return a.started.starts(engine, opts.Name) }
	where, down, err := campaign.Share(ctx, f.ensemble.choice(), opts, starts)
	if errors.Is(err, campaign.ErrNoEnsemble) {
		return usage(err)
	}
	if err != nil {
		return asUsage(err)
	}
	defer func() { err = errors.Join(err, down(context.WithoutCancel(ctx))) }()
	if err := os.MkdirAll(s.Folder, 0o755); err != nil {
		return err
	}
	s.Where = where
	fmt.Fprintf(a.stderr, "results and logs are kept in %s; all runs have the flags %s\n", s.Folder, strings.Join(s.Arguments(), " "))
	err = failedSeries(measure(ctx, s))
	return errors.Join(err, s.Record())
}

// failedSeries adds the exit code to the error of a series in which a recipe broke its promise, or that could not decide anything.
func failedSeries(err error) error {
	switch {
	case errors.Is(err, campaign.ErrBroken):
		return exitError{outcome.CodeBroken, err}
	case errors.Is(err, campaign.ErrHopeless):
		return exitError{outcome.CodeInvalid, err}
	default:
		return err
	}
}

// newSeries checks flags and files, and returns a series without an ensemble.
func (a *app) newSeries(cmd *cobra.Command, scenario string, f *pairFlags) (*campaign.Series, error) {
	if err := f.ensemble.check(); err != nil {
		return nil, err
	}
	loaded, err := scenarios.Load(scenario, catalog.Recipes())
	if err == nil {
		loaded, err = override(loaded, f.load, catalog.Recipes())
	}
	if err == nil {
		err = checkMetrics(*loaded.RecipeAmong(catalog.Recipes()), f.metrics)
	}
	if err != nil {
		return nil, usage(err)
	}
	if !cmd.Flags().Changed("order-seed") {
		f.seed = rand.Uint64()
	}
	folder := cmp.Or(f.out, filepath.Join(defaultCampaigns, newRun()))
	s := &campaign.Series{Scenario: scenario, Load: f.load, Folder: folder, Seed: f.seed, Progress: a.stderr}
	if s.Base, err = executable(f.base); err == nil {
		s.Head, err = executable(f.head)
	}
	if err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(s.Folder); err == nil && len(entries) > 0 {
		return nil, usage(fmt.Errorf("--out %s is not empty: choose another folder", s.Folder))
	}
	return s, checkFolder("out", s.Folder)
}

// executable returns the path of a build of zkbench; this one if it is empty.
func executable(name string) (string, error) {
	if name == "" {
		return os.Executable()
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", usage(fmt.Errorf("%w: name an executable zkbench, such as ./old-zkbench", err))
	}
	return path, nil
}

// checkMetrics returns an error for a metric that no measurement of the recipe has. Those of percentiles that documents do not list,
// such as acquire-p99.9, are computed from histograms.
func checkMetrics(recipe variants.Recipe, metrics []string) error {
	known := scenarios.MetricNames(recipe)
	for _, name := range metrics {
		m := metric.Named(metric.WithUnit(name))
		ofTimes := m.Kind == metric.KindTime && slices.Contains(known, metric.Quantile(m.Phase, 99))
		if !slices.Contains(known, m.Name) && !ofTimes {
			return fmt.Errorf("--metrics: recipe %s has no metric %q%s", recipe.Name, name, strict.Nearest(m.Name, known))
		}
	}
	return nil
}
