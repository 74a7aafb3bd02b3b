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

	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/table"
)

type sidesFlags struct {
	compare.Options
	across []string
}

func (f *sidesFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.Metrics, "metrics", nil,
		"names or patterns of metrics (default: ops/s,\ntwo medians, requests, writes, notifications, herds)")
	cmd.Flags().StringSliceVar(&f.across, "across", nil,
		"a difference to compare across (repeatable):\n"+strings.Join(list.Texts(compare.Subjects()), ", "))
	allow(cmd, "across", compare.Subjects())
}

// read checks the flags for the comparison of results, completes its options, and reads the results, or those of the newest run.
func (f *sidesFlags) read(args []string) (sides []compare.Side, err error) {
	f.Across = list.Map(f.across, func(s string) grouping.Aspect { return grouping.Aspect(s) })
	err = twice(args, "name two different runs")
	for _, pattern := range f.Metrics {
		if _, wrong := path.Match(pattern, ""); wrong != nil {
			err = errors.Join(err, fmt.Errorf("--metrics: %q is not a pattern: %w", pattern, wrong))
		}
	}
	if err != nil {
		return nil, usage(err)
	}
	args, err = orNewest(args)
	for _, arg := range args {
		docs, unreadable := store.ReadAll(pathsOf(arg))
		err = errors.Join(err, unreadable)
		sides = append(sides, compare.Side{Name: arg, Docs: docs})
	}
	return sides, err
}

func twice(args []string, why string) (err error) {
	for i, arg := range args {
		same := func(other string) bool { return filepath.Clean(arg) == filepath.Clean(other) }
		if slices.ContainsFunc(args[:i], same) {
			err = errors.Join(err, fmt.Errorf("%s is given twice: %s", arg, why))
		}
	}
	return err
}

func compareCommand(a *app) *cobra.Command {
	var f sidesFlags
	var format string
	cmd := &cobra.Command{
		Use: "compare [RESULT…]", Short: "Compare two or more runs, or the variants of one",
		Long: `Compare runs: each variant is compared with itself in the first run, the base.
With a single run, the variants of the run are compared with each other; without
one, those of the newest run in ` + defaultRuns + `.

A RESULT is a run's folder, a single file of it, or a quoted pattern such as
'old-*' for runs that alternated with those of another side.

The verdict on each difference is one of:

  better, worse        exact counts that differ; other counts of three repeats
                       or more that do not overlap (by far, if not in turns);
                       and times, rates and counts if the 95 % interval of their
                       ratio excludes 1, which takes six pairs taken in turns
  different            likewise, if neither more nor less is better
  same                 exact counts that are equal
  no difference shown  the interval includes 1, or all repeats are equal
  undecided            the line below the table says what would decide

A ratio is the median over the pairs, with its 95 % interval in brackets. Below
six pairs, it is the range of the repeats, such as 2.10–3.40×.

Differences between machines, servers and their settings are listed. Times are
then not compared, unless --across names the difference as the subject of the
comparison; those of two machines never are. Exact counts are always compared.

The exit code reports whether there was something to compare, not the outcome.`,
		Example: `  zkbench compare
  zkbench compare results/runs/20260102T030405Z-ab12 --base predecessor-watch
  zkbench compare old new --metrics 'acquire-*,requests/op'
  zkbench compare 'old-*' 'new-*' --across zookeeper --format markdown`,
		ValidArgsFunction: runFolders,
		RunE:              func(_ *cobra.Command, args []string) error { return a.compare(args, f, format) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Base, "base", "",
		"`variant` of a run to compare the others with\n(default: the overview's naive one, or the first)")
	f.bind(cmd)
	flags.StringVar(&format, "format", table.Formats()[0], strings.Join(table.Formats(), ", "))
	allow(cmd, "format", table.Formats())
	return cmd
}

// compare prints the comparison of results. It is a usage error if they can be read but not compared.
func (a *app) compare(args []string, f sidesFlags, format string) error {
	if f.Base != "" && len(args) > 1 {
		return usage(errors.New("--base names a variant of a single run; of several runs, the first one is the base"))
	}
	sides, err := f.read(args)
	if err != nil {
		return err
	}
	var c compare.Comparison
	if len(sides) == 1 {
		c, err = compare.Variants(sides[0], f.Options)
	} else {
		c, err = compare.Runs(sides, f.Options)
	}
	if err != nil {
		return usage(err)
	}
	return c.Write(a.stdout, format, a.width())
}

// pathsOf returns the files that match a pattern. It returns an existing file, or a pattern without matches, as it is.
func pathsOf(arg string) []string {
	if _, err := os.Stat(arg); errors.Is(err, fs.ErrNotExist) {
		if matches, _ := filepath.Glob(arg); len(matches) > 0 {
			return matches
		}
	}
	return []string{arg}
}
