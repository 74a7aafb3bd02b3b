package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/external"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/drivers"
	"github.com/zkbench/zkbench/scenarios/exporter"
	"github.com/zkbench/zkbench/scenarios/progress"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

const defaultRuns = "results/runs"

type runFlags struct {
	ensemble        ensembleFlags
	load            scenarios.Overrides
	out, prometheus string
	quick, dryRun   bool
	drivers         []string
	tags            results.Tags
}

func runCommand(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run SCENARIO…", Short: "Run scenarios and compare their variants",
		Long: `Run scenarios, by name or from a YAML file, and compare their variants. Five
names stand for groups: 'all' for every scenario that comes with zkbench,
'exact' for those with exact counts (without heaps), 'overview' for one pair of
variants of each scenario without faults, 'bounds' for every optimized variant
and library with 50 clients, and 'fault-matrix' for every variant under every
fault. The flags of the load (--clients, --duration, …) override the scenario's
fields. A scenario that runs unchanged is held to its claims (expect:).

--fault makes a server (kill, pause, partition: leader, follower, any or zoo1),
a session (expire), a connection (cut) or a client (stop, deaf: any, holder,
waiter, idle or client 0) fail: 'at' a time after the warm-up, 'every' so often,
'for' how long. --background adds sessions that read and write at fixed rates.
docs/scenarios.md has all fields.

Each measurement is stored in a JSON file, which 'zkbench plot' draws. A run
that is interrupted in a window of more than a minute keeps what it has of it.

Without --servers, zkbench uses the ensemble that 'zkbench ensemble up' has
started, or starts three servers and takes them down afterwards. Without
containers and local processes, it falls back to a server of its own: its counts
are exact, but its latencies are not those of an ensemble.`,
		Example: `  zkbench run lock-contention
  zkbench run lock-contention --variants znode --clients 200 --hold 5ms
  zkbench run lock-drain --ensemble embedded
  zkbench run lock-contention --fault 'kill: leader, at: 500ms, for: 1s'
  zkbench run lock-contention --background 'reads: 500, writes: 100'
  zkbench run lock-contention --clients 50 --repeats 1 --duration 1h
  zkbench run all --quick
  zkbench run ./my-scenario.yaml --servers zk1:2181,zk2:2181,zk3:2181/bench`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runScenarios(cmd, args, f) },
	}
	takeScenarios(cmd, math.MaxInt, scenarios.Groups()...)
	f.load = bindLoad(cmd, true)
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "folder for results (default: in "+defaultRuns+")")
	flags.StringVar(&f.prometheus, "prometheus", "",
		"serve live numbers in Prometheus' format at this\n`address`, such as 9464 (loopback) or 0.0.0.0:9464")
	flags.StringArrayVar(&f.drivers, "driver", nil, "compare a library of your own, too: a `program`\n"+
		"with its clients, and its arguments, such as\n'./my_lock.py fair'; see docs/drivers.md")
	flags.BoolVar(&f.quick, "quick", false, "a rehearsal: few clients, short loads")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be measured, where, and how\nlong it takes; check --servers; do no more")
	bindTags(cmd, &f.tags)
	putInGroup(cmd, seriesFlags, "driver", "quick", "dry-run")
	putInGroup(cmd, outputFlags)
	f.ensemble.bind(a, cmd)
	f.ensemble.workers.bind(cmd)
	return cmd
}

// place returns the scenarios of a run and where it measures them, or an error if it cannot. It starts and creates nothing.
func (a *app) place(ctx context.Context, names []string, f runFlags) (site, error) {
	if err := a.useDrivers(f.drivers, names); err != nil {
		return site{}, usage(err)
	}
	selected, err := a.selected(ctx, names, f)
	scenarioNames := list.Map(selected, func(s scenarios.Scenario) string { return "scenario " + s.Name })
	if err := errors.Join(err, twice(scenarioNames, "its results would overwrite each other")); err != nil {
		return site{}, usage(err)
	}
	where, err := a.resolve(ctx, f.ensemble, selected...)
	if err != nil {
		return site{}, err
	}
	if isGroup(names) && names[0] != scenarios.OverviewGroup { // a part of the overview is not an overview
		var refused []runner.LeftOut
		where.selected, refused = runner.Possible(selected, a.recipes(), where.engine, where.ability())
		for _, l := range refused {
			fmt.Fprintf(a.stderr, "left out, as %s: %s\n", l.Why, strings.Join(l.Scenarios, ", "))
		}
	}
	return where, a.admit(where)
}

func (a *app) runScenarios(cmd *cobra.Command, names []string, f runFlags) error {
	where, err := a.place(cmd.Context(), names, f)
	if err != nil {
		return err
	}
	var metrics *exporter.Exporter
	if f.prometheus != "" {
		address, err := listenAddress("prometheus", f.prometheus)
		if err != nil {
			return err
		}
		if metrics, err = exporter.Start(cmd.Context(), address); err != nil {
			return usage(fmt.Errorf("--prometheus: %w", err))
		}
		defer metrics.Close()
	}
	if f.dryRun {
		return a.dryRun(cmd.Context(), f, where)
	}
	if metrics != nil {
		fmt.Fprintf(a.stderr, "live metrics at %s\n", metrics.URL)
	}
	f.out = where.folder(f.out)
	if err := checkOut(f.out); err != nil { // last, because it creates the folder
		return err
	}
	docs, err := a.measure(cmd.Context(), f, where, metrics)
	return errors.Join(a.report(docs, where.selected, f, err), err)
}

// dryRun prints what a run would do. It makes the run's checks of --servers that create no znode.
func (a *app) dryRun(ctx context.Context, f runFlags, where site) error {
	where.run = "RUN"
	f.out = where.folder(f.out)
	if err := cmp.Or(ofFlag("out", f.out, checkEmpty(f.out)), checkFolder("out", f.out)); err != nil {
		return err
	}
	base, checks, err := a.checkServers(ctx, where)
	if err != nil {
		return err
	}
	var all runner.Plan
	var each []string
	for _, s := range where.selected {
		p := runner.PlanOf(s, a.recipes())
		all.Measurements, all.Rehearsals, all.Least = all.Measurements+p.Measurements, all.Rehearsals+p.Rehearsals, all.Least+p.Least
		each = slices.Concat(each, []string{""}, p.Lines)
		if len(where.selected) == 1 { // the metrics of many scenarios would hide the rest
			each = append(each, p.Metrics)
		}
	}
	servers := "those that are up, or some that the run starts and ends"
	switch {
	case where.Servers != "":
		servers = strings.Join(append([]string{where.Servers}, where.AccessFlags...), " ")
	case where.engine == ensemble.Embedded:
		servers = "inside zkbench, which ends them"
	}
	if where.workers.N() > 0 {
		servers += "; clients: on workers " + where.workers.String()
	}
	lines := slices.Concat([]string{
		fmt.Sprintf("dry run; scenarios: %d, %s", len(where.selected), all),
		fmt.Sprintf("engine: %s, because %s", where.engine, where.why),
		"servers: " + servers,
		fmt.Sprintf("znodes: below %s, which each scenario creates and removes; RUN has the time and a random part",
			namespace.Root(base, where.run)),
		strings.TrimSuffix(fmt.Sprintf("results: %s; tags: %s", f.out, f.tags), "; tags: "),
	}, checks, each)
	for _, line := range lines {
		fmt.Fprintln(a.stdout, table.Wrap(table.Escaped(line), a.width()))
	}
	return nil
}

// checkServers returns the chroot of external servers and a line for each check that they pass.
func (a *app) checkServers(ctx context.Context, where site) (base string, checks []string, err error) {
	if where.engine != ensemble.External {
		return "", []string{"not checked: whether another zkbench uses the ensemble"}, auto.Available(ctx, where.engine, where.Options)
	}
	e, checks, err := external.Inspect(ctx, where.Servers, where.options())
	if err != nil {
		return "", nil, asUsage(err)
	}
	r := a.newRunner(target{site: where, Ensemble: e}, progress.New(a.stderr))
	for _, s := range where.selected {
		if err := cmp.Or(usage(runner.CheckConnections(where.workers.share(s), e.Servers())), r.CheckServers(ctx, s)); err != nil {
			return "", nil, err
		}
	}
	a.printLeftovers(ctx, e.Servers(), e.Chroot(), where.Servers, where.AccessFlags)
	return e.Chroot(), append(checks, "session timeouts and outgoing ports: enough for each scenario"), nil
}

func (a *app) selected(ctx context.Context, names []string, f runFlags) (selected []scenarios.Scenario, err error) {
	if isGroup(names) {
		selected, err = scenarios.Group(names[0], a.recipes())
		names = nil
	}
	for _, name := range names {
		s, loadErr := scenarios.Read(ctx, name, a.recipes())
		if err = errors.Join(err, loadErr); loadErr == nil {
			selected = append(selected, s)
		}
	}
	for i := range selected {
		err = errors.Join(err, a.change(&selected[i], f))
	}
	return selected, err
}

func (a *app) change(s *scenarios.Scenario, f runFlags) error {
	if f.quick {
		s.Quick()
	}
	if err := override(s, f.load, a.recipes()); err != nil || len(a.drivers) == 0 {
		return err
	}
	if err := a.drivers.Compare(s, catalog.Recipes()); err != nil {
		return fmt.Errorf("--driver: %w", err)
	}
	return checked(*s, a.recipes())
}

// useDrivers adds drivers as variants of all recipes that take drivers. names are the scenarios of the command line.
func (a *app) useDrivers(commands, names []string) (err error) {
	if len(commands) > 0 && isGroup(names) {
		return fmt.Errorf("--driver goes with scenarios that are named, and not with %s", names[0])
	}
	for _, command := range commands {
		own, mistake := drivers.OwnDriver(command)
		if mistake != nil {
			err = errors.Join(err, fmt.Errorf("--driver: %w", mistake))
			continue
		}
		a.drivers = append(a.drivers, own)
	}
	return err
}

func (a *app) recipes() []variants.Recipe { return a.drivers.AddTo(catalog.Recipes()) }

// admit returns an error if the engine cannot cause a scenario's fault, or a scenario needs more files or memory than zkbench may use.
func (a *app) admit(where site) error {
	if err := a.admitWorkers(where); err != nil {
		return usage(err)
	}
	for _, s := range where.selected {
		drivers := runner.CheckDrivers(s, a.recipes())
		resources := runner.CheckResources(where.workers.share(s), a.recipes(), where.engine)
		if err := cmp.Or(usage(s.Unable(where.ability())), drivers, usage(resources)); err != nil {
			return err
		}
	}
	return nil
}

func newRun() string {
	return fmt.Sprintf("%s-%04x", time.Now().UTC().Format("20060102T150405Z"), rand.N(1<<16))
}

func isGroup(names []string) bool {
	return len(names) == 1 && slices.Contains(scenarios.Groups(), names[0])
}

// measure runs the scenarios. If it fails, it returns the complete measurements, and the part of the one that was under way.
func (a *app) measure(ctx context.Context, f runFlags, where site, metrics *exporter.Exporter) (docs []*results.Document, err error) {
	err = a.withTarget(ctx, where, func(r *runner.Runner, shown *progress.Progress) error {
		if err := ofFlag("out", f.out, checkEmpty(f.out)); err != nil { // again: the run may have waited for another one
			return err
		}
		for _, s := range where.selected {
			if err := runner.CheckConnections(where.workers.share(s), r.Ensemble.Servers()); err != nil {
				return usage(err)
			}
		}
		keep := func(d *results.Document) error {
			docs = append(docs, d)
			return store.Write(d, f.out)
		}
		r.Partial, r.Tags = keep, f.tags
		if metrics != nil {
			r.Progress = func(done, total int, next string) { shown.Step(done, total, next); metrics.Step(done, total) }
			r.Live = func(l runner.Live) { shown.Show(l); metrics.Show(l) }
		}
		for _, s := range where.selected {
			r.Save = func(d *results.Document) error {
				err := keep(d)
				if err == nil {
					a.soFar(docs, s, shown)
				}
				return err
			}
			shown.Begin(s.Name)
			if err := r.RunScenario(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	return docs, err
}

// failedRun adds the exit code for a broken recipe to the error of a scenario that got stuck, or broke a promise before it failed.
func failedRun(err error) error {
	if broken := new(runner.BrokenError); errors.Is(err, runner.ErrStuck) || errors.As(err, &broken) {
		return outcome.With(outcome.CodeBroken, err)
	}
	return err
}
