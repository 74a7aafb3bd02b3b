package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/table"
)

// defaultBaselines is the folder for baselines.
const defaultBaselines = "results/baselines"

func baselineCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Store counts for 'zkbench gate --baseline' to check",
		Long: `Store the counts that variants cost: requests, writes, failed writes and
notifications per operation, and the largest herd. Where a variant's formulas
are exact, as in lockstep, the gate demands equal counts. In other modes the
stored counts are the formulas' upper bounds.

There is one file for each scenario. The files are small and sorted, so that a
repository can keep them and a diff shows what changed.`,
		Example: `  zkbench run lock-drain --ensemble embedded && zkbench baseline save
  zkbench baseline diff`,
	}
	var dir string
	cmd.PersistentFlags().StringVar(&dir, "dir", defaultBaselines, "`folder` for baselines")
	addCommands(cmd,
		&cobra.Command{
			Use: "save [RESULT…]", Short: "Save the counts of results (default: the newest run)",
			Example: "  zkbench baseline save results/runs/20260102T030405Z-ab12",
			RunE:    func(_ *cobra.Command, args []string) error { return a.saveBaselines(args, dir) },
		},
		&cobra.Command{
			Use: "diff [RESULT…]", Short: "Show what saving would change (default: the newest run)",
			RunE: func(_ *cobra.Command, args []string) error { return a.diffBaselines(args, dir) },
		},
	)
	return cmd
}

// baselinesOf returns the stored baselines and those that saving the results would store, by scenario.
func (a *app) baselinesOf(paths []string, dir string) (old, fresh map[string]gate.Baseline, err error) {
	docs, err := a.readResults(paths)
	if err != nil {
		return nil, nil, err
	}
	if fresh, err = gate.BaselinesOf(docs); err != nil {
		return nil, nil, exitError{outcome.CodeInvalid, err}
	}
	if old, err = gate.ReadBaselines(dir); err != nil && !errors.Is(err, gate.ErrNoBaselines) {
		return nil, nil, usage(err)
	}
	for name, b := range fresh {
		fresh[name] = b.Over(old[name])
	}
	return old, fresh, nil
}

func (a *app) saveBaselines(paths []string, dir string) error {
	_, fresh, err := a.baselinesOf(paths, dir)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if err := fresh[name].Write(dir); err != nil {
			return fmt.Errorf("save the baseline of %s: %w", name, err)
		}
		fmt.Fprintf(a.stdout, "%s: %d rows\n", filepath.Join(dir, name+".json"), len(fresh[name].Rows))
	}
	return nil
}

func (a *app) diffBaselines(paths []string, dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return usage(fmt.Errorf("--dir: %w: create it with `zkbench baseline save`", err))
	}
	old, fresh, err := a.baselinesOf(paths, dir)
	if err != nil {
		return err
	}
	t := table.New(table.Left("scenario", "clients", "variant", "metric", "saved", "now")...)
	changes := 0
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		was := old[name]
		was.Scenario = name
		for _, d := range was.Diff(fresh[name]) {
			changes++
			t.Row(d.Scenario, d.Clients, d.Variant, d.Metric, countOrDash(d.Old), countOrDash(d.New))
		}
		if was.Schema != 0 && was.Load != fresh[name].Load {
			fmt.Fprintf(a.stdout, "%s has another load now: %s, not %s\n", name, fresh[name].Load, was.Load)
		}
	}
	if changes == 0 {
		fmt.Fprintln(a.stdout, "saving these results would change nothing")
		return nil
	}
	_, err = fmt.Fprintln(a.stdout, t)
	return err
}

func countOrDash(v *float64) string {
	if v == nil {
		return table.Missing
	}
	return fmt.Sprintf("%.6g", *v)
}
