package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// capacityFlags are the flags of `zkbench capacity`.
type capacityFlags struct {
	ensemble  ensembleFlags
	load      loadFlags
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
	f.load.bindSeries(cmd)
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
	for _, name := range []string{"rate", "mode", "operations", "at-most", "stage"} { // set by the search
		_ = flags.MarkHidden(name)
	}
	return cmd
}

// capacityRun is the search for the capacities of a scenario's variants.
type capacityRun struct {
	*app
	flags     capacityFlags
	objective capacity.Objective
	scenario  scenarios.Scenario
	runner    *runner.Runner
	progress  *progress
	docs      []*results.Document // of all trials
	confirmed []*results.Document // of the last confirmation of each variant
}

func (a *app) capacity(cmd *cobra.Command, name string, f capacityFlags) error {
	if err := checkEmpty(cmd); err != nil {
		return err
	}
	c := &capacityRun{app: a, flags: f}
	if err := c.prepare(cmd, name); err != nil {
		return usage(err)
	}
	engine, err := auto.Resolve(cmd.Context(), f.ensemble.choice(), f.ensemble.options(a.stderr))
	if err != nil {
		return err
	}
	if err := c.scenario.Unable(scenarios.AbilityOf(engine, f.ensemble.voters)); err != nil {
		return usage(err)
	}
	largest, err := c.clip(func(s scenarios.Scenario) error {
		return errors.Join(runner.CheckFileLimit(s, engine), runner.CheckMemory(s, engine))
	})
	if err := errors.Join(f.ensemble.check(), checkFile("json", f.json), err); err != nil {
		return err
	}
	if err := removeFormer("json", f.json); err != nil {
		return err
	}
	run := newRun()
	if c.flags.out == "" {
		c.flags.out = filepath.Join(defaultRuns, run)
	}
	if err := checkOut(c.flags.out); err != nil {
		return err
	}
	report, err := c.measure(cmd.Context(), largest, engine, run)
	return errors.Join(c.finish(report), err)
}

// measure prepares the ensemble and finds the capacities on it.
func (c *capacityRun) measure(ctx context.Context, largest scenarios.Scenario, engine ensemble.Engine, run string) (r capacity.Report, err error) {
	e, err := c.openTarget(ctx, []scenarios.Scenario{largest}, c.flags.ensemble, engine, run)
	if err != nil {
		return r, asUsage(err)
	}
	defer func() { err = errors.Join(err, e.close(context.WithoutCancel(ctx))) }()
	if err := c.scenario.Unable(scenarios.AbilityNow(e.Ensemble, engine)); err != nil {
		return r, usage(err)
	}
	connects := func(s scenarios.Scenario) error { return runner.CheckConnections(s, e.Servers()) }
	if _, err := c.clip(connects); err != nil {
		return r, err
	}
	c.progress = newProgress(c.stderr)
	defer c.progress.close()
	c.runner = newRunner(e, run, c.progress, nil)
	r, err = c.search(ctx)
	return r, e.explain(err)
}

// The largest loads that are tried unless --most says otherwise, and the largest that it may say. A load that is a tenth larger must
// still be one that a scenario may have.
const (
	mostRate    = 50_000
	mostClients = 10_000
	largestLoad = 90_000
)

// clip returns the scenario with the largest number of clients that the search may try. If a check refuses so many, the search tries
// fewer, and says so. The error is that of the fewest.
func (c *capacityRun) clip(check func(scenarios.Scenario) error) (largest scenarios.Scenario, err error) {
	largest = c.scenario
	if c.flags.by == capacity.ByRate {
		return largest, usage(check(largest))
	}
	for {
		largest.Clients = []int{c.flags.most + c.flags.most/10 + 1} // the load that must fail
		if err = check(largest); err == nil || c.flags.most == c.flags.first {
			return largest, usage(err)
		}
		fmt.Fprintf(c.stderr, "trying fewer than %d clients: %v\n", c.flags.most, err)
		c.flags.most = max(c.flags.most*3/4, c.flags.first)
	}
}

// prepare reads the objective and the scenario, and checks the flags.
func (c *capacityRun) prepare(cmd *cobra.Command, name string) (err error) {
	if c.flags.objective == "" {
		return errors.New("--objective is missing: what must hold, such as 'response-p99 < 50ms'?")
	}
	if c.objective, err = capacity.ParseObjective(c.flags.objective); err != nil {
		return fmt.Errorf("--objective %w", err)
	}
	if err := c.checkLoads(cmd.Flags().Changed); err != nil {
		return err
	}
	if c.scenario, err = scenarios.Load(name, catalog.Recipes()); err != nil {
		return err
	}
	c.scenario.Expect, c.scenario.Overview = nil, "" // they are about the scenario's own load
	if c.scenario, err = c.flags.load.override(c.pace(c.scenario), catalog.Recipes()); err != nil {
		return err
	}
	return c.checkMetric()
}

// checkLoads checks the flags that say which loads are tried, and those that would.
func (c *capacityRun) checkLoads(given func(flag string) bool) error {
	f := &c.flags
	if err := oneOf("--by", f.by, []string{capacity.ByRate, capacity.ByClients}); err != nil {
		return err
	}
	if given("rate") || given("mode") || given("operations") || given("at-most") || given("stage") {
		return errors.New("--rate, --mode, --operations, --at-most and --stage are set by the search: choose --by rate or --by clients, and --first")
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

// defaultTrial is the length of a trial of a scenario that has none.
const defaultTrial = 5 * time.Second

// pace makes a scenario's load one that can be searched: a single number of clients, and a single rate if it is open.
func (c *capacityRun) pace(s scenarios.Scenario) scenarios.Scenario {
	if s.Duration == 0 {
		s.Duration = defaultTrial
	}
	s.Operations, s.Heap, s.AtMost, s.Stages = 0, false, 0, nil
	if c.flags.by == capacity.ByClients {
		s.Mode, s.Rate, s.Arrivals, s.Clients = scenarios.Closed, nil, "", []int{c.flags.first}
		return s
	}
	s.Mode, s.Think, s.Rate, s.Clients = scenarios.Open, 0, []int{c.flags.first}, []int{slices.Max(s.Clients)}
	return s
}

// checkMetric returns an error if the load has no such metric as the objective's, or more than one number of clients.
func (c *capacityRun) checkMetric() error {
	if err := c.objective.Check(c.flags.by); err != nil {
		return fmt.Errorf("--objective: %w", err)
	}
	if len(c.scenario.Clients) != 1 {
		return errors.New("--clients wants one number for a capacity")
	}
	claimed := c.scenario // whose claim is checked as one of a scenario is
	claimed.Expect = []string{c.scenario.Selected(c.recipe())[0].Name + " " + c.objective.String()}
	for _, p := range claimed.Validate(catalog.Recipes()) {
		return fmt.Errorf("--objective: %s", p.Text)
	}
	return nil
}

func (c *capacityRun) recipe() variants.Recipe {
	recipes := catalog.Recipes()
	return recipes[slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == c.scenario.Recipe })]
}
