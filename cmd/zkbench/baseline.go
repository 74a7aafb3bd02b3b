package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/table"
)

const defaultBaselines = "results/baselines"

func baselineCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "baseline", Short: "Store counts for 'zkbench gate --baseline' to check",
		Long: `Store the counts that variants cost: requests, writes, failed writes and
notifications per operation, and the largest herd. Where a variant's formulas
are exact, as in lockstep and for one client with a number of operations, the
stored counts also are those of each operation of ZooKeeper, requests and
watches, and the gate demands equal counts. In other loads the stored counts are
the formulas' upper bounds. There is one small, sorted file for each scenario,
so that a repository can keep them.`,
		Example: "  zkbench run lock-drain --ensemble embedded && zkbench baseline save",
	}
	var dir string
	cmd.PersistentFlags().StringVar(&dir, "dir", defaultBaselines, "`folder` for baselines")
	addCommands(cmd, &cobra.Command{
		Use: "save [RESULT…]", Short: "Save the counts of results (default: the newest run)",
		Example:           "  zkbench baseline save results/runs/20260102T030405Z-ab12",
		ValidArgsFunction: runFolders,
		RunE:              func(_ *cobra.Command, args []string) error { return a.saveBaselines(args, dir) },
	})
	return cmd
}

func (a *app) saveBaselines(paths []string, dir string) error {
	docs, err := a.readResults(paths)
	if err != nil {
		return err
	}
	fresh, err := gate.BaselinesOf(docs)
	if err != nil {
		return errors.Join(verdict(docs), outcome.With(outcome.CodeInvalid, err))
	}
	old, err := gate.ReadBaselines(dir)
	if err != nil && !errors.Is(err, gate.ErrNoBaselines) {
		return usage(err)
	}
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		b := fresh[name].Over(old[name])
		if err := b.Write(dir); err != nil {
			return fmt.Errorf("save the baseline of %s: %w", name, err)
		}
		fmt.Fprintf(a.stdout, "%s: %d %s\n", filepath.Join(dir, name+".json"), len(b.Rows), table.Plural(len(b.Rows), "row"))
	}
	return nil
}
