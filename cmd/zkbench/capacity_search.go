package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
)

// search finds the capacities. The variants take turns, a trial each, so that a change of the machine's speed affects all. After each
// trial, the report is stored, so that an interrupt loses only the trial that was under way.
func (c *capacityRun) search(ctx context.Context) (capacity.Report, error) {
	selected := c.scenario.Selected(c.recipe())
	searches := make([]*capacity.Search, len(selected))
	for i := range searches {
		searches[i] = capacity.NewSearch(c.flags.first, c.flags.most)
	}
	random := rand.New(rand.NewPCG(c.scenario.Seed, 0))
	for more := true; more; {
		more = false
		for _, i := range random.Perm(len(selected)) {
			trial, ok := searches[i].Next()
			if !ok {
				continue
			}
			more = true
			trial, err := c.try(ctx, selected[i].Name, trial, searches[i].Times(trial.Load))
			if err == nil {
				searches[i].Report(trial)
				err = store.WriteSealed(c.file(), c.report(selected, searches))
			}
			if err != nil {
				return c.report(selected, searches), err
			}
		}
	}
	return c.report(selected, searches), nil
}

// file returns the path of the report in the folder of the trials.
func (c *capacityRun) file() string { return filepath.Join(c.flags.out, capacity.File) }

// report returns what the searches have found so far.
func (c *capacityRun) report(selected []variants.Variant, searches []*capacity.Search) capacity.Report {
	r := capacity.Report{
		Schema: capacity.Schema, Scenario: c.scenario.Name, By: c.flags.by, Objective: c.objective.String(), Repeats: c.scenario.Repeats,
		First: c.flags.first, Most: c.flags.most,
	}
	if c.flags.by == capacity.ByRate {
		r.Clients = c.scenario.Clients[0]
	}
	for i, v := range selected {
		r.Add(v.Name, searches[i])
	}
	for _, d := range c.docs {
		r.Engine = d.Environment.Engine
		if d.Broken() {
			r.Breaches += d.Breaches()
		}
	}
	return r
}

// errDecided ends a trial whose outcome further repeats cannot change.
var errDecided = errors.New("the trial is decided")

// try runs one trial of one variant, whose load was tried a number of times before, and returns it with its outcome.
func (c *capacityRun) try(ctx context.Context, variant string, t capacity.Trial, before int) (capacity.Trial, error) {
	s := c.trial(variant, t, before)
	dir, err := c.folder(s, t)
	if err != nil {
		return t, err
	}
	c.progress.begin(fmt.Sprintf("%s (%s)", s.Name, t.Purpose))
	var repeats []*results.Document
	c.runner.Save = func(d *results.Document) error {
		c.docs = append(c.docs, d)
		if err := save(d, dir); err != nil {
			return err
		}
		if d.Repeat == 0 { // a rehearsal in which the recipe broke its promise
			return nil
		}
		repeats = append(repeats, d)
		if t.Outcome, t.Why = c.objective.JudgeAll(repeats, t.Purpose); t.Outcome != capacity.Holds {
			return errDecided
		}
		return nil
	}
	err = c.runner.RunScenario(ctx, s)
	if left := new(runner.LeftError); errors.Is(err, errDecided) && errors.As(err, &left) {
		err = left
	} else if errors.Is(err, errDecided) {
		err = nil
	}
	if t.Purpose == capacity.Confirm {
		c.confirm(variant, repeats)
	}
	if err == nil {
		c.progress.pause()
		fmt.Fprintf(c.stderr, "%s at %d (%s): %s, %s\n", variant, t.Load, t.Purpose, t.Outcome, c.reason(t))
	}
	return t, failedRun(err)
}

// trial returns the scenario with the variant and the load of a trial. Each trial of one load has another seed: with that of the first,
// a confirmation would get the very arrivals that the load has held at.
func (c *capacityRun) trial(variant string, t capacity.Trial, before int) scenarios.Scenario {
	s := c.scenario
	s.Seed += uint64(before)
	s.Variants = []string{variant}
	if c.flags.by == capacity.ByRate {
		s.Rate = []int{t.Load}
	} else {
		s.Clients = []int{t.Load}
	}
	return s
}

// folder returns the folder for a trial's results, without those that an earlier trial of the same load left there.
func (c *capacityRun) folder(s scenarios.Scenario, t capacity.Trial) (dir string, err error) {
	dir = c.flags.out
	if t.Purpose == capacity.Confirm {
		dir = filepath.Join(dir, capacity.ConfirmFolder)
		err = makeFolder("out", dir)
	}
	if err == nil {
		err = removeTrial(dir, s, t.Load)
	}
	return dir, err
}

// confirm keeps the repeats of a variant's confirmation instead of those of an earlier one.
func (c *capacityRun) confirm(variant string, repeats []*results.Document) {
	earlier := func(d *results.Document) bool { return d.Variant == variant }
	c.confirmed = append(slices.DeleteFunc(c.confirmed, earlier), repeats...)
}

// reason returns why a trial has its outcome, and says which of the values it is.
func (c *capacityRun) reason(t capacity.Trial) string {
	if t.Outcome != capacity.Holds {
		return t.Why
	}
	return fmt.Sprintf("worst %s %s", metric.Named(c.objective.Metric()).Short(), t.Why)
}

// removeTrial removes the results of an earlier trial of the same variant and load, of which the next one may have fewer repeats.
func removeTrial(dir string, s scenarios.Scenario, load int) error {
	d := results.Document{Scenario: s.Scenario, Recipe: s.Recipe, Variant: s.Variants[0], Clients: s.Clients[0]}
	if s.Mode == scenarios.Open {
		d.Rate = load
	}
	for d.Repeat = range s.Repeats + 1 {
		if err := os.Remove(filepath.Join(dir, d.Filename())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the results of an earlier trial: %w", err)
		}
	}
	return nil
}

// finish stores and prints what was found, and returns the error with the exit code. It stores first: the trials took minutes, and
// standard output may be closed.
func (c *capacityRun) finish(r capacity.Report) error {
	if len(c.docs) == 0 {
		_ = os.Remove(c.flags.out) // an empty folder would be the newest run
		return nil
	}
	err := store.WriteSealed(c.file(), r)
	if c.flags.json != "" {
		err = errors.Join(err, store.WriteSealed(c.flags.json, r))
	}
	err = errors.Join(err, r.Write(c.stdout, width(c.stdout)))
	c.writeDoubts()
	fmt.Fprintf(c.stdout, "\nresults in %s; `zkbench plot %s` draws them\n", c.flags.out, c.flags.out)
	if report.WriteBreaches(c.stdout, c.docs) {
		return errors.Join(err, exitError{outcome.CodeBroken, errors.New("a recipe broke its promise")})
	}
	if code := r.Outcome().Code(); code != 0 {
		err = errors.Join(err, exitError{code, errors.New("a capacity was not found")})
	}
	return err
}

// writeDoubts prints the warnings of the confirmations, and what limits the times of all trials.
func (c *capacityRun) writeDoubts() {
	var doubts strings.Builder
	report.WriteWarnings(&doubts, c.confirmed)
	report.WriteEngine(&doubts, c.docs)
	if doubts.Len() > 0 {
		fmt.Fprintf(c.stdout, "\n%s\n", table.Wrap(strings.TrimSpace(doubts.String()), width(c.stdout)))
	}
}
