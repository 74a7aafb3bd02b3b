package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
)

// compareFlags are the flags of `zkbench compare`.
type compareFlags struct {
	base    string
	format  string
	metrics []string
	across  []string
}

func compareCommand(a *app) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare [RESULT…]",
		Short: "Set two or more runs side by side, or the variants of one",
		Long: `Set runs side by side: each variant is compared with itself in the first run,
the base. With a single run, or with none, which is the newest one in
` + defaultRuns + `, its variants are compared with each other.

A RESULT is a run's folder or a single file of it; or a quoted pattern, such as
'old-*', for runs that were measured in turns with those of another side.

A difference is claimed only where the measurements allow it:

  better, worse  exact counts that differ; or times, rates and other counts if
                 the 95 % interval of their ratio excludes 1, which takes at
                 least six pairs of measurements that were made in turns
  same           exact counts that are equal
  ~              it cannot be told; the reason stands below the table

What differs between the machines, servers and their settings is named, and
keeps times from being compared, unless --across says that this very difference
is the subject. Exact counts are compared in any case.

The exit code says whether there was something to compare, not how it came out.`,
		Example: `  zkbench compare
  zkbench compare results/runs/20260102T030405Z-ab12 --base predecessor-watch
  zkbench compare old new --metrics 'acquire-*,requests/op'
  zkbench compare 'old-*' 'new-*' --across zookeeper --format markdown`,
		RunE: func(_ *cobra.Command, args []string) error { return a.compareResults(args, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.base, "base", "", "`variant` of a run that the others are compared with\n(default: the overview's naive one, or the first)")
	flags.StringSliceVar(&f.metrics, "metrics", nil, "names or patterns of metrics (default: ops/s,\ntwo medians, requests, writes, notifications, herds)")
	flags.StringSliceVar(&f.across, "across", nil, "a difference that is the `subject` (repeatable):\n"+strings.Join(acrossValues(), ", "))
	flags.StringVar(&f.format, "format", compare.Formats()[0], strings.Join(compare.Formats(), ", "))
	return cmd
}

// acrossValues returns what --across takes.
func acrossValues() []string {
	var out []string
	for _, s := range compare.Subjects() {
		out = append(out, string(s))
	}
	return out
}

// check refuses flags that mean nothing, whatever the results are.
func (f compareFlags) check(args []string) error {
	errs := []error{oneOf("--format", f.format, compare.Formats())}
	for _, s := range f.across {
		errs = append(errs, oneOf("--across", s, acrossValues()))
	}
	for _, pattern := range f.metrics {
		if _, err := path.Match(pattern, ""); err != nil {
			errs = append(errs, usage(fmt.Errorf("--metrics: %q is no pattern: %w", pattern, err)))
		}
	}
	if f.base != "" && len(args) > 1 {
		errs = append(errs, usage(errors.New("--base names a variant of a single run; of several runs, the first one is the base")))
	}
	for i, arg := range args {
		twice := func(other string) bool { return filepath.Clean(arg) == filepath.Clean(other) }
		if slices.ContainsFunc(args[:i], twice) {
			errs = append(errs, usage(fmt.Errorf("%s is given twice: name two different runs", arg)))
		}
	}
	return errors.Join(errs...)
}

// options returns what the flags ask for.
func (f compareFlags) options() compare.Options {
	o := compare.Options{Base: f.base, Metrics: f.metrics}
	for _, s := range f.across {
		o.Across = append(o.Across, compare.Subject(s))
	}
	return o
}

// compareResults prints the comparison of the named results. Once they can be read, whatever keeps them from being
// compared is the choice of results, hence a matter of usage.
func (a *app) compareResults(args []string, f compareFlags) error {
	if err := f.check(args); err != nil {
		return err
	}
	sides, err := readSides(args)
	if err != nil {
		return err
	}
	var c compare.Comparison
	if len(sides) == 1 {
		c, err = compare.Variants(sides[0], f.options())
	} else {
		c, err = compare.Runs(sides, f.options())
	}
	if err != nil {
		return usage(err)
	}
	return c.Write(a.stdout, f.format, width(a.stdout))
}

// readSides reads each argument as a side, and the newest run if there is none. It reports all that cannot be read.
func readSides(args []string) ([]compare.Side, error) {
	if len(args) == 0 {
		newest, err := newestRun()
		if err != nil {
			return nil, err
		}
		args = []string{newest}
	}
	var sides []compare.Side
	var errs []error
	for _, arg := range args {
		docs, err := results.ReadAll(pathsOf(arg))
		errs = append(errs, err)
		sides = append(sides, compare.Side{Name: arg, Docs: docs})
	}
	return sides, errors.Join(errs...)
}

// pathsOf returns what a pattern matches; what is there, or matches nothing, stands for itself.
func pathsOf(arg string) []string {
	if _, err := os.Stat(arg); !errors.Is(err, fs.ErrNotExist) {
		return []string{arg}
	}
	if matches, err := filepath.Glob(arg); err == nil && len(matches) > 0 {
		return matches
	}
	return []string{arg}
}
