package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
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
		return usage(fmt.Errorf("--pairs %d gives no 95 %% interval: use at least %d, and preferably as many as `zkbench gate --run`", f.pairs, gate.CalibrationPairs))
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
	err := a.withCampaign(cmd, name, &f, func(ctx context.Context, c *campaign) error {
		c.checkPair = rules.CheckPair
		pairs, err := c.measure(ctx, f.pairs, nil)
		if err != nil {
			return err
		}
		rules.Now = time.Now()
		if entries, err = gate.Calibrate(gate.Pairs{Screen: pairs}, rules); err != nil {
			return exitError{outcome.CodeInvalid, errors.Join(append(c.unreadable, err)...)}
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
