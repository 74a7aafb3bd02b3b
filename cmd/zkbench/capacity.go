package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/progress"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/scenarios/search"
	"github.com/zkbench/zkbench/variants/catalog"
)

type capacityFlags struct {
	search.Trials
	objective, json string
	load            scenarios.Overrides
	ensemble        ensembleFlags
}

func capacityCommand(a *app) *cobra.Command {
	var f capacityFlags
	cmd := &cobra.Command{
		Use:   "capacity SCENARIO --objective 'METRIC < LIMIT'",
		Short: "Find the largest load at which an objective holds",
		Long: `Find, for each variant of a scenario, the largest load at which an objective
holds in all repeats: the rate of operations that arrive (--by rate, in open
mode), or the number of clients that loop (--by clients, in closed mode).

The largest load that held is run again, and must hold again; a load that is
10 % larger must fail. There is no capacity, and the exit code is 5, if the
trials contradict each other, if no load or every load meets the objective, or
if the numbers of three trials in a row must not be used. docs/load.md explains
the search.

The results of the last trial of each load are kept in a folder, which 'zkbench
plot' draws and 'zkbench gate --rules' holds to limits.`,
		Example: `  zkbench capacity lock-contention --objective 'response-p99 < 100ms'
  zkbench capacity lock-uncontended --objective 'acquire-p99 < 9ms' --by clients
  zkbench capacity ./mine.yaml --objective 'response-p99 < 50ms' --json out.json`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.capacity(cmd, args[0], &f) },
	}
	takeScenarios(cmd, 1)
	f.Log, f.load = a.stderr, bindLoad(cmd, true)
	flags := cmd.Flags()
	flags.Lookup("clients").Usage = "number of clients of all trials by rate\n(default: the scenario's largest)"
	flags.Lookup("repeats").Usage = "measurements of each trial\n(default: the scenario's, at most 3)"
	flags.Lookup("seed").Usage = "seed of the variants' order and of arrivals"
	flags.Lookup("duration").Usage = "length of each measurement\n(default: the scenario's, at least 5s)"
	flags.StringVar(&f.objective, "objective", "", "what must hold, such as 'response-p99 < 50ms'")
	flags.StringVar(&f.By, "by", capacity.ByRate, "rate or clients")
	flags.IntVar(&f.First, "first", 50, "the load of the first trial")
	flags.IntVar(&f.Most, "most", 0, "the largest load to try\n(default 50000/s, or 10000 clients)")
	flags.StringVar(&f.Folder, "out", "", "folder for results (default: in "+defaultRuns+")")
	flags.StringVar(&f.json, "json", "", "also write the capacities to this JSON `file`")
	putInGroup(cmd, outputFlags, "out", "json")
	putInGroup(cmd, searchFlags)
	allow(cmd, "by", []string{capacity.ByRate, capacity.ByClients})
	f.ensemble.bind(a, cmd)
	f.ensemble.workers.bind(cmd)
	_ = cmd.MarkFlagRequired("objective")
	for _, name := range searched() {
		_ = flags.MarkHidden(name)
	}
	return cmd
}

// searched returns the flags that a user cannot give because the search sets them.
func searched() []string { return []string{"rate", "mode", "operations", "at-most", "stage"} }

func (a *app) capacity(cmd *cobra.Command, name string, f *capacityFlags) error {
	t := &f.Trials
	if err := f.prepare(cmd, name); err != nil {
		return usage(err)
	}
	where, err := a.resolve(cmd.Context(), f.ensemble, t.Scenario)
	if err == nil {
		err = a.admit(where)
	}
	if err != nil {
		return err
	}
	largest, err := t.Clip(func(s scenarios.Scenario) error {
		return runner.CheckResources(where.workers.share(s), a.recipes(), where.engine)
	})
	if err := errors.Join(checkFile("json", f.json), usage(err)); err != nil {
		return err
	}
	if err := removeFormer("json", f.json); err != nil {
		return err
	}
	where.selected, t.Folder = []scenarios.Scenario{largest}, where.folder(t.Folder)
	if err := checkOut(t.Folder); err != nil {
		return err
	}
	var found capacity.Report
	err = a.withTarget(cmd.Context(), where, func(on *runner.Runner, shown *progress.Progress) (err error) {
		if _, err := t.Clip(func(s scenarios.Scenario) error {
			return runner.CheckConnections(where.workers.share(s), on.Ensemble.Servers())
		}); err != nil {
			return usage(err)
		}
		t.Runner, t.Begin = on, shown.Begin
		found, err = t.Run(cmd.Context())
		return err
	})
	return errors.Join(a.finish(t, found, f.json), err)
}

func (f *capacityFlags) prepare(cmd *cobra.Command, name string) (err error) {
	if f.Objective, err = capacity.ParseObjective(f.objective); err != nil {
		return fmt.Errorf("--objective %w", err)
	}
	if err := f.checkLoads(cmd.Flags().Changed); err != nil {
		return err
	}
	recipes := catalog.Recipes()
	if f.Scenario, err = scenarios.Read(cmd.Context(), name, recipes); err != nil {
		return err
	}
	f.Scenario = f.Pace(f.Scenario)
	if err := override(&f.Scenario, f.load, recipes); err != nil {
		return err
	}
	return f.Check(recipes)
}

// largestLoad bounds --most. It leaves room for a trial that is a tenth larger, which must still be a valid load.
const largestLoad = 90_000

func (f *capacityFlags) checkLoads(given func(flag string) bool) error {
	f.Most = cmp.Or(f.Most, map[string]int{capacity.ByRate: 50_000, capacity.ByClients: 10_000}[f.By])
	switch {
	case slices.ContainsFunc(searched(), given):
		return errors.New("--rate, --mode, --operations, --at-most and --stage are set by the search: " +
			"choose --by rate or --by clients, and --first")
	case f.By == capacity.ByClients && given("clients"):
		return errors.New("--clients is set by the search with --by clients: use --first and --most")
	case f.Most > largestLoad:
		return fmt.Errorf("--most wants at most %d, not %d", largestLoad, f.Most)
	case f.First < 1 || f.Most < f.First:
		return fmt.Errorf("--first wants at least 1, and --most at least as much, not %d and %d", f.First, f.Most)
	}
	return nil
}

// finish stores and prints the report, and returns the error with the exit code. It stores first, as standard output may be closed.
func (a *app) finish(t *search.Trials, r capacity.Report, copied string) error {
	if len(t.Documents) == 0 {
		_ = os.Remove(t.Folder) // an empty folder would be the newest run
		return nil
	}
	err := store.WriteSealed(t.File(), r)
	if copied != "" {
		err = errors.Join(err, store.WriteSealed(copied, r))
	}
	r.Write(a.stdout, a.width())
	a.printDoubts(t)
	fmt.Fprintf(a.stdout, "\nresults in %s; `zkbench plot %s` draws them\n", t.Folder, t.Folder)
	switch {
	case report.WriteBreaches(a.stdout, t.Documents):
		err = errors.Join(err, outcome.With(outcome.CodeBroken, errors.New("a recipe broke its promise")))
	case len(r.Unknown()) > 0:
		err = errors.Join(err, outcome.With(outcome.CodeInvalid, errors.New("a capacity was not found")))
	}
	return err
}

func (a *app) printDoubts(t *search.Trials) {
	var doubts strings.Builder
	report.WriteWarnings(&doubts, t.Confirmed)
	report.WriteEngine(&doubts, t.Documents)
	if doubts.Len() > 0 {
		fmt.Fprintf(a.stdout, "\n%s\n", table.Wrap(strings.TrimSpace(doubts.String()), a.width()))
	}
}
