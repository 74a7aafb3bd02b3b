package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios/progress"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/simulation"
)

type simulateFlags struct {
	seeds     int
	from      uint64
	length    time.Duration
	plan, out string
	worker    bool
}

func simulateCommand(a *app) *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use: "simulate [RECIPE[/VARIANT]…]", Short: "Search for faults under which a variant breaks its promise",
		Long: `Run variants in virtual time, on servers in memory, under random faults: lost
requests and replies, outages, expired sessions, clients that die, stand still
or hear nothing. A seed decides everything about a run, which takes some
milliseconds. Without arguments, all variants run that are written in Go.

A run fails if the variant breaks its promise, if a client waits or makes
requests for ever although all faults are over, or if something is left behind.
Then zkbench looks for the smallest plan that fails in the same way, tells its
story, and keeps the plan in a file for --plan.`,
		Example: `  zkbench simulate lock
  zkbench simulate --for 10m
  zkbench simulate lock/writelock          a variant known to be broken
  zkbench simulate --plan simulated/lock-writelock-hang.json`,
		ValidArgsFunction: cobra.FixedCompletions(subjects(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.worker {
				simulation.Serve(os.Stdin, os.Stdout, catalog.Named) // does not return
			}
			return a.simulate(cmd, args, f)
		},
	}
	cmd.Flags().IntVar(&f.seeds, "seeds", 100, "seeds of each variant")
	cmd.Flags().Uint64Var(&f.from, "from", 0, "the first seed")
	cmd.Flags().DurationVar(&f.length, "for", 0, "how long to try seeds, in place of --seeds")
	cmd.Flags().StringVar(&f.plan, "plan", "", "file with a plan, which is run 10 times in place of seeds")
	cmd.Flags().StringVar(&f.out, "out", "simulated", "folder for the plans of failures")
	cmd.Flags().BoolVar(&f.worker, "worker", false, "do the jobs on standard input")
	_ = cmd.Flags().MarkHidden("worker")
	cmd.MarkFlagsMutuallyExclusive("for", "seeds", "plan")
	cmd.MarkFlagsMutuallyExclusive("from", "plan")
	return cmd
}

type simulated struct {
	recipe  variants.Recipe
	variant variants.Variant
	runs    int
	faults  int
	broken  int // of the runs
	lost    map[variants.Loss]int64
	longest simulation.Duration // of all steps
}

func (a *app) simulate(cmd *cobra.Command, args []string, f simulateFlags) error {
	switch {
	case f.seeds < 1, f.length < 0:
		return usage(errors.New("--seeds must be positive, and --for not negative"))
	case f.plan != "" && len(args) > 0:
		return usage(errors.New("--plan names the variant: give none"))
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	s := &simulating{app: a, flags: f, found: map[string]simulation.Job{}, pool: simulation.Pool{
		Workers: runtime.NumCPU(), Command: func(ctx context.Context) *exec.Cmd {
			c := exec.CommandContext(ctx, own, "simulate", "--worker") //nolint:gosec // it is this program
			c.Env, c.SysProcAttr = append(os.Environ(), simulation.Environment()...), ensemble.ChildAttributes()
			return c
		},
	}}
	if f.plan != "" {
		return s.replay(cmd.Context())
	}
	if s.variants, err = selectSimulated(args); err != nil {
		return usage(err)
	}
	return s.run(cmd.Context())
}

// selectSimulated returns the variants that are named, or all. It leaves out drivers: a simulation cannot see their sessions.
func selectSimulated(args []string) (out []*simulated, err error) {
	for _, r := range catalog.Recipes() {
		for _, v := range r.All() {
			named := slices.Contains(args, r.Name+"/"+v.Name)
			usual := v.Broken == "" && v.Kind != variants.Library && (len(args) == 0 || slices.Contains(args, r.Name))
			if v.Driver == nil && (named || usual) {
				out = append(out, &simulated{recipe: r, variant: v, lost: map[variants.Loss]int64{}})
			}
		}
	}
	for _, arg := range args {
		if !slices.ContainsFunc(out, func(s *simulated) bool { return s.recipe.Name == arg || s.recipe.Name+"/"+s.variant.Name == arg }) {
			return nil, fmt.Errorf("%q names no recipe and no variant that is written in Go: see `zkbench list`", arg)
		}
	}
	return out, nil
}

type simulating struct {
	*app
	flags    simulateFlags
	pool     simulation.Pool
	variants []*simulated
	done     int                       // runs
	next     uint64                    // the first seed that not all variants have run
	found    map[string]simulation.Job // to be investigated, by variant and class
}

func (s *simulating) run(ctx context.Context) error {
	shown := progress.New(s.stderr)
	begun := time.Now()
	err := s.pool.Do(ctx, s.jobs(begun), func(j simulation.Job, r simulation.Report) {
		s.take(j, r.Outcome)
		if s.flags.length > 0 {
			shown.Count(int(time.Since(begun).Seconds()), int(s.flags.length.Seconds()), "seconds of runs")
		} else {
			shown.Count(s.done, s.flags.seeds*len(s.variants), "runs")
		}
	})
	shown.Close()
	if s.done == 0 {
		return err
	}
	if err := s.printTable(s.table()); err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "%d runs in %s; the next seed is --from %d\n", s.done, time.Since(begun).Round(time.Second), s.next)
	return errors.Join(err, s.investigate(ctx))
}

// jobs gives every variant one seed before any variant gets the next.
func (s *simulating) jobs(begun time.Time) iter.Seq[simulation.Job] {
	more := func() bool { return s.next-s.flags.from < uint64(s.flags.seeds) }
	if s.flags.length > 0 {
		more = func() bool { return time.Since(begun) < s.flags.length }
	}
	return func(yield func(simulation.Job) bool) {
		for s.next = s.flags.from; more(); s.next++ {
			for _, v := range s.variants {
				if !yield(simulation.Job{Plan: simulation.NewPlan(v.recipe, v.variant, s.next)}) {
					return
				}
			}
		}
	}
}

func (s *simulating) take(j simulation.Job, o simulation.Outcome) {
	s.done++
	v := s.variants[slices.IndexFunc(s.variants, func(v *simulated) bool {
		return v.recipe.Name == j.Plan.Recipe && v.variant.Name == j.Plan.Variant
	})]
	v.runs++
	for _, n := range o.Met {
		v.faults += n
	}
	for loss, amount := range o.Lost {
		v.lost[loss] = loss.Sum(v.lost[loss], amount)
	}
	v.longest = max(v.longest, o.Longest)
	if !o.Fails() {
		return
	}
	class := o.Findings[0].Class
	v.broken++
	name := strings.Join([]string{j.Plan.Recipe, j.Plan.Variant, string(class)}, "-")
	if _, known := s.found[name]; !known && class != simulation.Panic {
		s.found[name] = simulation.Job{Plan: j.Plan, Investigate: true, Class: class, Budget: simulation.Duration(shrinking)}
	}
	fmt.Fprintf(s.stderr, "%s/%s, seed %d: %s\n", j.Plan.Recipe, j.Plan.Variant, j.Plan.Seed, o.Findings[0])
}

func (s *simulating) table() *table.Table {
	t := table.New(append(table.Left("variant, and what it has forgone"), table.Right("runs", "faults", "broken", "max step")...)...)
	for _, v := range s.variants {
		name := table.Lines{v.recipe.Name + "/" + v.variant.Name}
		for _, loss := range slices.Sorted(maps.Keys(v.lost)) {
			amount := table.Grouped(v.lost[loss])
			if loss.IsLongest() {
				amount = table.Latency(float64(v.lost[loss]))
			}
			name = append(name, fmt.Sprintf("  %s %s", loss, amount))
		}
		t.Row(name, v.runs, v.faults, v.broken, table.Latency(float64(v.longest)))
	}
	return t
}

// The time for making a failure smaller, and the largest number of failures that are told.
const (
	shrinking   = 30 * time.Second
	mostStories = 5
)

func (s *simulating) investigate(ctx context.Context) error {
	switch {
	case !slices.ContainsFunc(s.variants, func(v *simulated) bool { return v.broken > 0 }):
		return nil // otherwise there may be nothing to make smaller, as after a panic
	case ctx.Err() != nil:
		return outcome.With(outcome.CodeBroken, nil)
	}
	jobs := list.Map(slices.Sorted(maps.Keys(s.found)), func(name string) simulation.Job { return s.found[name] })
	var errs []error
	err := s.pool.Do(ctx, slices.Values(jobs[:min(mostStories, len(jobs))]), func(_ simulation.Job, r simulation.Report) {
		if r.Failure == nil {
			fmt.Fprintf(s.stdout, "\nThe search for a smaller plan has ended: %v\n", r.Outcome.Findings)
			return
		}
		errs = append(errs, s.tell(*r.Failure))
	})
	return errors.Join(append(errs, err, outcome.With(outcome.CodeBroken, nil))...)
}

func (s *simulating) tell(f simulation.Failure) error {
	file := filepath.Join(s.flags.out, fmt.Sprintf("%s-%s-%s.json", f.Plan.Recipe, f.Plan.Variant, f.Class))
	fmt.Fprintf(s.stdout, "\n%sIt fails again in %d of %d runs: zkbench simulate --plan %s\n", f.Story, f.Repeated, simulation.Repeats, file)
	if err := os.MkdirAll(s.flags.out, 0o755); err != nil {
		return err
	}
	return store.WriteJSON(file, f.Plan)
}

func (s *simulating) replay(ctx context.Context) error {
	text, err := store.ReadText(ctx, s.flags.plan)
	if err != nil {
		return usage(err)
	}
	plan, err := simulation.ParsePlan(text)
	if err == nil {
		_, err = selectSimulated([]string{plan.Recipe + "/" + plan.Variant})
	}
	if err != nil {
		return usage(fmt.Errorf("%s: %w", s.flags.plan, err))
	}
	failed := 0
	err = s.pool.Do(ctx, slices.Values([]simulation.Job{{Plan: plan, Investigate: true}}), func(_ simulation.Job, r simulation.Report) {
		if r.Failure == nil {
			failed = simulation.Repeats
			fmt.Fprintln(s.stdout, r.Outcome.Findings[0])
			return
		}
		failed = r.Failure.Repeated
		fmt.Fprint(s.stdout, r.Failure.Story)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "The plan failed in %d of %d runs.\n", failed, simulation.Repeats)
	if failed > 0 {
		return outcome.With(outcome.CodeBroken, nil)
	}
	return nil
}
