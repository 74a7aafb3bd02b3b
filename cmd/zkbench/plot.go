package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/plots"
	"github.com/zkbench/zkbench/results/scaling"
)

// defaultPlots is the folder for figures.
const defaultPlots = "plots/out"

func plotCommand(a *app) *cobra.Command {
	var out string
	var formats []string
	cmd := &cobra.Command{
		Use:   "plot [RESULT…]",
		Short: "Draw results: latencies, throughput, notifications, herds, scaling",
		Long: `Draw what runs measured. A RESULT is a run's folder or single files of it;
without one, the newest run in ` + defaultRuns + ` is drawn.

Figures: latency percentiles by variant, for the first three phases of the
recipe; throughput and notifications against the number of clients; herd sizes;
the herd timeline, with every notification as a dot and the bystanders' latency
beneath; with faults, the operations around the first one; and, if a measurement
took more than 10 s, operations, notifications, the largest herd and the slowest
bystander read over time. Of open loads with three or more rates, the response
times against the rate.

With three or more client counts, the growth of notifications, requests and
time per operation is fitted as a power of the number of clients, and, with four
or more, the throughput to the universal scalability law. Both are printed with
95% intervals beside the variants' formulas, and drawn up to ten times as many
clients.

Not drawn: results whose numbers must not be used, and over time, measurements
in lockstep.`,
		Example: `  zkbench plot
  zkbench plot results/runs/20260102T030405Z-ab12 --format svg`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(formats) == 0 {
				return usage(errors.New("--format is empty: png, svg, or png,svg"))
			}
			for _, f := range formats {
				if err := oneOf("--format", f, plots.Formats()); err != nil {
					return err
				}
			}
			return a.plot(args, out, formats)
		},
	}
	cmd.Flags().StringVar(&out, "out", defaultPlots, "folder for the figures")
	cmd.Flags().StringSliceVar(&formats, "format", plots.Formats(), "png, svg, or png,svg")
	return cmd
}

func (a *app) plot(paths []string, out string, formats []string) error {
	docs, err := a.readResults(paths)
	if err != nil {
		return err
	}
	if err := checkFolder("out", out); err != nil {
		return err
	}
	files, err := plots.Draw(docs, out, formats)
	if err != nil {
		return err
	}
	for _, d := range docs {
		switch {
		case d.Drawable():
		case d.KnownBroken != "":
			fmt.Fprintf(a.stderr, "left out, because its variant is known to be broken: %s\n", d.Filename())
		default:
			fmt.Fprintf(a.stderr, "left out, because its numbers must not be used: %s\n", d.Filename())
		}
	}
	if len(files) == 0 {
		return errors.New("these results have nothing to draw")
	}
	for i := 0; i < len(files); i += len(formats) { // the formats of one figure follow each other
		fmt.Fprintf(a.stdout, "%s %s\n", strings.TrimSuffix(files[i], filepath.Ext(files[i])), strings.Join(formats, " "))
	}
	fmt.Fprintln(a.stdout)
	return scaling.Write(a.stdout, scaling.Of(docs), width(a.stdout))
}

// runName matches the names that newRun returns.
const runName = "[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]T[0-9][0-9][0-9][0-9][0-9][0-9]Z-*"

// orNewest returns the paths, or the folder of the newest run if there are none.
func orNewest(paths []string) ([]string, error) {
	if len(paths) > 0 {
		return paths, nil
	}
	newest, err := newestRun()
	return []string{newest}, err
}

// newestRun returns the folder of the run that started last, by its name. A folder's time of modification changes later.
func newestRun() (string, error) {
	runs, err := filepath.Glob(filepath.Join(defaultRuns, runName)) // sorted, and so by time
	if err != nil || len(runs) == 0 {
		return "", fmt.Errorf("there are no runs in %s yet: start one with `zkbench run lock-contention`, or name a result", defaultRuns)
	}
	return runs[len(runs)-1], nil
}
