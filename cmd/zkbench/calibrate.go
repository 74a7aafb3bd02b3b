package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/scenarios"
)

func calibrateCommand(a *app) *cobra.Command {
	var f pairFlags
	cmd := &cobra.Command{
		Use:   "calibrate SCENARIO…",
		Short: "Measure what this machine moves by itself",
		Long: `Measure how far two runs of the same build are apart on this machine, in pairs
as 'zkbench gate --run' measures two builds. The gate then believes no slowdown
that is within this resolution, of the same scenario, load, machine and servers,
for 7 days. On a noisy machine that costs power: what it moves by itself, it
cannot see.`,
		Example: `  zkbench calibrate lock-contention --clients 20
  zkbench calibrate lock-contention queue-contention --ensemble process`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("which scenario? there are: %v", scenarios.Names())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.calibrate(cmd, args, f) },
	}
	f.bind(cmd)
	cmd.Flags().StringSliceVar(&f.metrics, "metrics", nil, "metrics to calibrate (default as the gate has)")
	return cmd
}

func (a *app) calibrate(cmd *cobra.Command, names []string, f pairFlags) error {
	if err := checkEmpty(cmd); err != nil {
		return err
	}
	rules := gate.DefaultPairRules(time.Now())
	rules.Rule.ScreenPairs, rules.Metrics = f.pairs, withUnits(f.metrics)
	if err := rules.Validate(); err != nil {
		return usage(err)
	}
	if f.pairs < gate.CalibrationPairs {
		return usage(fmt.Errorf("--pairs %d have no 95 %% interval: take at least %d, and best as many as a screen has", f.pairs, gate.CalibrationPairs))
	}
	if f.out != "" && len(names) > 1 {
		return usage(errors.New("--out is for one scenario: its pairs would be mixed with those of another"))
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
	fmt.Fprintf(a.stdout, "\nkept in %s for %d days\n", cache, gate.CalibrationDays)
	return nil
}

// calibrateOne measures one scenario and keeps what it shows, before the next one is measured.
func (a *app) calibrateOne(cmd *cobra.Command, name string, f pairFlags, rules gate.PairRules, cache string) error {
	var entries []gate.Resolution
	err := a.withCampaign(cmd, name, &f, func(ctx context.Context, c *campaign) error {
		c.judgeable = rules.Judgeable
		pairs, err := c.measure(ctx, f.pairs)
		if err != nil {
			return err
		}
		rules.Now = time.Now()
		if entries, err = gate.Calibrate(gate.Pairs{Screen: pairs}, rules); err != nil {
			return exitError{codeInvalid, errors.Join(append(c.unreadable, err)...)}
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
	t := results.NewTable()
	t.AppendHeader(table.Row{"scenario", "variant", "clients", "metric", "resolution"})
	for _, e := range entries {
		t.AppendRow(table.Row{e.Scenario, e.Variant, e.Clients, e.Metric, fmt.Sprintf("%.3f", e.Resolution)})
	}
	fmt.Fprintln(a.stdout, t.Render())
	return known.Keep(cache, entries)
}
