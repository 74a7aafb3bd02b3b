package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/plots"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

type plotFlags struct {
	out     string
	formats []string
	sides   sidesFlags
}

func plotCommand(a *app) *cobra.Command {
	var f plotFlags
	cmd := &cobra.Command{
		Use: "plot [RESULT…]", Short: "Draw a run, or compare runs in figures",
		Long: `Draw what a run measured. A RESULT is a run's folder or single files of it;
without one, the newest run in ` + defaultRuns + ` is drawn. The figures of a
scenario follow its claims and what its recipe measures. What does not differ is
not drawn, and listed. docs/plots.md explains all figures.

With two or more runs, each variant is compared with itself in the first run,
the base, under the rules of 'zkbench compare'. A RESULT is then a folder or a
quoted pattern, such as 'old-*'.

Results whose numbers must not be used are not drawn.`,
		Example: `  zkbench plot
  zkbench plot results/runs/20260102T030405Z-ab12 --format svg
  zkbench plot old new
  zkbench plot 'old-*' 'new-*' --across zookeeper --metrics 'handoff-*'`,
		ValidArgsFunction: runFolders,
		RunE:              func(_ *cobra.Command, args []string) error { return a.plot(args, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "plots/out", "folder for the figures")
	flags.StringSliceVar(&f.formats, "format", plots.Formats(), "png, svg, or png,svg")
	f.sides.bind(cmd)
	allow(cmd, "format", plots.Formats())
	return cmd
}

func (a *app) plot(args []string, f plotFlags) error {
	sides, err := f.sides.read(args)
	if err == nil {
		err = checkFolder("out", f.out)
	}
	if err != nil {
		return err
	}
	sides = oneSideOfEachRun(sides)
	docs := slices.Concat(list.Map(sides, func(s compare.Side) []*results.Document { return s.Docs })...)
	if len(sides) > 1 {
		return a.plotComparison(sides, docs, f)
	}
	if len(f.sides.Across)+len(f.sides.Metrics) > 0 {
		return usage(errors.New("--across and --metrics are about the comparison of two runs: name both"))
	}
	figures, notDrawn := plots.Figures(docs)
	a.noteLeftOut(docs)
	return a.writeFigures(figures, notDrawn, f)
}

// oneSideOfEachRun joins sides that have a run in common, such as several files of one run.
func oneSideOfEachRun(sides []compare.Side) (out []compare.Side) {
	for _, s := range sides {
		runs := list.Map(s.Docs, func(d *results.Document) string { return d.Run })
		shared := func(o compare.Side) bool {
			return slices.ContainsFunc(o.Docs, func(d *results.Document) bool { return slices.Contains(runs, d.Run) })
		}
		if i := slices.IndexFunc(out, shared); i >= 0 {
			out[i].Docs = append(out[i].Docs, s.Docs...)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func (a *app) plotComparison(sides []compare.Side, docs []*results.Document, f plotFlags) error {
	c, err := compare.Runs(sides, f.sides.Options)
	if err != nil {
		return usage(err)
	}
	figures, notDrawn := plots.Compared(c, docs)
	err = a.writeFigures(figures, notDrawn, f)
	fmt.Fprintln(a.stdout)
	for _, note := range c.Notes() {
		fmt.Fprintln(a.stdout, table.Wrap(table.Escaped(note), a.width()))
	}
	if err == nil {
		fmt.Fprintln(a.stdout, "`zkbench compare` prints the numbers, and why a verdict is what it is")
	}
	return err
}

func (a *app) noteLeftOut(docs []*results.Document) {
	for _, d := range list.Where(docs, func(d *results.Document) bool { return !d.Drawable() }) {
		why := "its numbers must not be used"
		if d.KnownBroken != "" {
			why = "its variant is known to be broken"
		}
		table.Line(a.stderr, "left out, because %s: %s", why, d.Filename())
	}
}

func (a *app) writeFigures(figures []plots.Figure, notDrawn []plots.NotDrawn, f plotFlags) error {
	files, err := plots.WriteAll(figures, f.out, f.formats)
	if err != nil {
		return err
	}
	for i := 0; i < len(files); i += len(f.formats) { // the formats of one figure follow each other
		table.Line(a.stdout, "%s %s", strings.TrimSuffix(files[i], filepath.Ext(files[i])), strings.Join(f.formats, " "))
	}
	for _, n := range notDrawn {
		fmt.Fprintln(a.stdout, table.Wrap(table.Escaped("not drawn of "+n.String()), a.width()))
	}
	if len(files) == 0 {
		return errors.New("these results have nothing to draw")
	}
	return nil
}

const runName = "[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]T[0-9][0-9][0-9][0-9][0-9][0-9]Z-*"

// orNewest returns the paths, or if there are none the newest run's folder, by its name: a folder's time of modification changes later.
func orNewest(paths []string) ([]string, error) {
	if len(paths) > 0 {
		return paths, nil
	}
	runs, err := filepath.Glob(filepath.Join(defaultRuns, runName)) // sorted, and so by time
	if err != nil || len(runs) == 0 {
		return nil, fmt.Errorf("there are no runs in %s yet: start one with `zkbench run lock-contention`, or name a result", defaultRuns)
	}
	return runs[len(runs)-1:], nil
}
