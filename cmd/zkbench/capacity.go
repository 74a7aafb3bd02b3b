package main

import (
	"context"
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

// capacityFlags are the flags of `zkbench capacity`.
type capacityFlags struct {
	ensemble  ensembleFlags
	load      scenarios.Overrides
	out       string
	objective string
	by        string
	first     int
	most      int
	json      string
}

func capacityCommand(a *app) *cobra.Command {
	var f capacityFlags
	cmd := &cobra.Command{
		Use:   "capacity SCENARIO --objective 'METRIC < LIMIT'",
		Short: "Find the largest load at which an objective holds",
		Long: `Find, for each variant of a scenario, the largest load at which an objective
holds in all repeats: the rate of operations that arrive (--by rate, in open
mode), or the number of clients that loop (--by clients, in closed mode).

A search doubles or halves the load until it has one that holds and one that
fails, and halves the distance until they are within 5 %. The largest load that
held is then run again, and must hold again; a load that is 10 % larger must
fail. Both are repeated if the machine changed its speed meanwhile. There is no
capacity, and the exit code is 5, if the trials contradict each other, if no
load or every load meets the objective, or if the numbers of three trials in a
row must not be used.

The results of the last trial of each load are kept in a folder, which 'zkbench
plot' draws and 'zkbench gate --rules' holds to limits.`,
		Example: `  zkbench capacity lock-contention --objective 'response-p99 < 100ms'
  zkbench capacity lock-uncontended --objective 'acquire-p99 < 9ms' --by clients
  zkbench capacity ./mine.yaml --objective 'response-p99 < 50ms' --json out.json`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return scenarios.Names(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.capacity(cmd, args[0], f) },
	}
	f.load = bindLoad(cmd)
	bindSeries(cmd, f.load)
	flags := cmd.Flags()
	flags.Lookup("clients").Usage = "number of clients of all trials by rate\n(default: the scenario's largest)"
	flags.Lookup("repeats").Usage = "measurements of each trial"
	flags.Lookup("seed").Usage = "seed of the variants' order and of arrivals"
	flags.Lookup("duration").Usage = "length of each measurement\n(default: the scenario's, or 5s)"
	flags.StringVar(&f.objective, "objective", "", "what must hold, such as 'response-p99 < 50ms'")
	flags.StringVar(&f.by, "by", capacity.ByRate, "rate or clients")
	flags.IntVar(&f.first, "first", 50, "the load of the first trial")
	flags.IntVar(&f.most, "most", 0, "the largest load to try\n(default 50000/s, or 10000 clients)")
	flags.StringVar(&f.out, "out", "", "folder for results (default: in "+defaultRuns+")")
	flags.StringVar(&f.json, "json", "", "also write the capacities to this JSON `file`")
	f.ensemble.bind(cmd)
	for _, name := range searched() {
		_ = flags.MarkHidden(name)
	}
	return cmd
}

// searched returns the flags of the load that a search sets.
func searched() []string { return []string{"rate", "mode", "operations", "at-most", "stage"} }

func (a *app) capacity(cmd *cobra.Command, name string, f capacityFlags) error {
	if err := checkEmpty(cmd); err != nil {
		return err
	}
	t := &search.Trials{By: f.by, First: f.first, Save: save, Log: a.stderr}
	if err := f.prepare(cmd, name, t); err != nil {
		return usage(err)
	}
	where, err := a.resolve(cmd.Context(), f.ensemble)
	if err != nil {
		return err
	}
	if err := t.Scenario.Unable(where.ability()); err != nil {
		return usage(err)
	}
	largest, err := t.Clip(func(s scenarios.Scenario) error { return runner.CheckResources(s, where.engine) })
	if err := errors.Join(f.ensemble.check(), checkFile("json", f.json), usage(err)); err != nil {
		return err
	}
	if err := removeFormer("json", f.json); err != nil {
		return err
	}
	t.Folder = where.folder(f.out)
	if err := checkOut(t.Folder); err != nil {
		return err
	}
	report, err := a.search(cmd.Context(), t, largest, where)
	return errors.Join(a.finish(t, report, f.json), err)
}

// search prepares the ensemble and finds the capacities on it.
func (a *app) search(ctx context.Context, t *search.Trials, largest scenarios.Scenario, where site) (r capacity.Report, err error) {
	e, err := a.openTarget(ctx, []scenarios.Scenario{largest}, where)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.close(context.WithoutCancel(ctx))) }()
	if err := t.Scenario.Unable(scenarios.AbilityNow(e.Ensemble, where.engine)); err != nil {
		return r, usage(err)
	}
	if _, err := t.Clip(func(s scenarios.Scenario) error { return runner.CheckConnections(s, e.Servers()) }); err != nil {
		return r, usage(err)
	}
	shown := progress.New(a.stderr)
	defer shown.Close()
	t.Runner, t.Begin = newRunner(e, shown, nil), shown.Begin
	r, err = t.Run(ctx)
	return r, e.explain(failedRun(err))
}

// prepare checks the flags, and reads the objective and the scenario.
func (f *capacityFlags) prepare(cmd *cobra.Command, name string, t *search.Trials) (err error) {
	if f.objective == "" {
		return errors.New("--objective is missing: what must hold, such as 'response-p99 < 50ms'?")
	}
	if t.Objective, err = capacity.ParseObjective(f.objective); err != nil {
		return fmt.Errorf("--objective %w", err)
	}
	if err := f.checkLoads(cmd.Flags().Changed); err != nil {
		return err
	}
	t.Most = f.most
	recipes := catalog.Recipes()
	if t.Scenario, err = scenarios.Load(name, recipes); err != nil {
		return err
	}
	if t.Scenario, err = override(t.Pace(t.Scenario), f.load, recipes); err != nil {
		return err
	}
	return t.Check(recipes)
}

// The largest loads that are tried unless --most says otherwise, and the largest that it may say. A load that is a tenth larger must
// still be one that a scenario may have.
const (
	mostRate    = 50_000
	mostClients = 10_000
	largestLoad = 90_000
)

// checkLoads checks the flags that say which loads are tried, and those that would.
func (f *capacityFlags) checkLoads(given func(flag string) bool) error {
	if err := oneOf("--by", f.by, []string{capacity.ByRate, capacity.ByClients}); err != nil {
		return err
	}
	if slices.ContainsFunc(searched(), given) {
		return errors.New("--rate, --mode, --operations, --at-most and --stage are set by the search: " +
			"choose --by rate or --by clients, and --first")
	}
	if f.by == capacity.ByClients && given("clients") {
		return errors.New("--clients is set by the search with --by clients: use --first and --most")
	}
	if f.most == 0 {
		f.most = map[string]int{capacity.ByRate: mostRate, capacity.ByClients: mostClients}[f.by]
	}
	if f.most > largestLoad {
		return fmt.Errorf("--most wants at most %d, not %d", largestLoad, f.most)
	}
	if f.first < 1 || f.most < f.first {
		return fmt.Errorf("--first wants at least 1, and --most at least as much, not %d and %d", f.first, f.most)
	}
	return nil
}

// finish stores and prints what was found, and returns the error with the exit code. It stores first: the trials took minutes, and
// standard output may be closed.
func (a *app) finish(t *search.Trials, r capacity.Report, copied string) error {
	if len(t.Documents) == 0 {
		_ = os.Remove(t.Folder) // an empty folder would be the newest run
		return nil
	}
	err := store.WriteSealed(t.File(), r)
	if copied != "" {
		err = errors.Join(err, store.WriteSealed(copied, r))
	}
	err = errors.Join(err, r.Write(a.stdout, a.width()))
	a.printDoubts(t)
	fmt.Fprintf(a.stdout, "\nresults in %s; `zkbench plot %s` draws them\n", t.Folder, t.Folder)
	if report.WriteBreaches(a.stdout, t.Documents) {
		return errors.Join(err, exitError{outcome.CodeBroken, errors.New("a recipe broke its promise")})
	}
	if len(r.Unknown()) > 0 {
		err = errors.Join(err, exitError{outcome.CodeInvalid, errors.New("a capacity was not found")})
	}
	return err
}

// printDoubts prints the warnings of the confirmations, and what limits the times of all trials.
func (a *app) printDoubts(t *search.Trials) {
	var doubts strings.Builder
	report.WriteWarnings(&doubts, t.Confirmed)
	report.WriteEngine(&doubts, t.Documents)
	if doubts.Len() > 0 {
		fmt.Fprintf(a.stdout, "\n%s\n", table.Wrap(strings.TrimSpace(doubts.String()), a.width()))
	}
}
