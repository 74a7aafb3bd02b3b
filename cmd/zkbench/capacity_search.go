package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// search finds the capacities. The variants take turns, a trial each, so that a change of the machine's speed affects all.
func (c *capacityRun) search(ctx context.Context) (capacity.Report, error) {
	c.progress = newProgress(c.stderr)
	defer c.progress.close()
	selected := c.scenario.Selected(c.recipe())
	searches := make([]*capacity.Search, len(selected))
	for i := range searches {
		searches[i] = capacity.NewSearch(c.flags.first, c.flags.most)
	}
	random := rand.New(rand.NewPCG(c.scenario.Seed, 0))
	var err error
	for more := true; more && err == nil; {
		more = false
		for _, i := range random.Perm(len(selected)) {
			trial, ok := searches[i].Next()
			if !ok || err != nil {
				continue
			}
			more = true
			if trial, err = c.try(ctx, selected[i].Name, trial); err == nil {
				searches[i].Report(trial)
			}
		}
	}
	report := capacity.Report{
		Schema: capacity.Schema, Scenario: c.scenario.Name, By: c.flags.by, Objective: c.objective.String(), Repeats: c.scenario.Repeats,
		First: c.flags.first, Most: c.flags.most,
	}
	if c.flags.by == capacity.ByRate {
		report.Clients = c.scenario.Clients[0]
	}
	for i, v := range selected {
		report.Add(v.Name, searches[i])
	}
	return report, err
}

// errDecided ends a trial whose outcome further repeats cannot change.
var errDecided = errors.New("the trial is decided")

// try runs one trial of one variant and returns it with its outcome.
func (c *capacityRun) try(ctx context.Context, variant string, t capacity.Trial) (capacity.Trial, error) {
	s, dir := c.scenario, c.flags.load.out
	s.Variants = []string{variant}
	if c.flags.by == capacity.ByRate {
		s.Rate = []int{t.Load}
	} else {
		s.Clients = []int{t.Load}
	}
	if t.Purpose == capacity.Confirm {
		dir = filepath.Join(dir, capacity.ConfirmFolder)
		if err := makeFolder("out", dir); err != nil {
			return t, err
		}
	}
	if err := removeTrial(dir, s, t.Load); err != nil {
		return t, err
	}
	c.runner.Progress = c.progress.step
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
	err := c.runner.RunScenario(ctx, s)
	if left := new(runner.LeftError); errors.Is(err, errDecided) && errors.As(err, &left) {
		err = left
	} else if errors.Is(err, errDecided) {
		err = nil
	}
	if err == nil {
		c.progress.pause()
		fmt.Fprintf(c.stderr, "%s at %d (%s): %s, %s\n", variant, t.Load, t.Purpose, t.Outcome, c.reason(t))
	}
	return t, failedRun(err)
}

// reason returns why a trial has its outcome, and says which of the values it is.
func (c *capacityRun) reason(t capacity.Trial) string {
	if t.Outcome != capacity.Holds {
		return t.Why
	}
	return fmt.Sprintf("worst %s %s", strings.TrimSuffix(c.objective.Metric(), "-ns"), t.Why)
}

// removeTrial removes the results of an earlier trial of the same variant and load, of which the next one may have fewer repeats.
func removeTrial(dir string, s scenarios.Scenario, load int) error {
	d := results.Document{Scenario: results.Scenario{Name: s.Name}, Recipe: s.Recipe, Variant: s.Variants[0], Clients: s.Clients[0]}
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

// finish prints and stores what was found, and returns the error with the exit code.
func (c *capacityRun) finish(r capacity.Report) error {
	if len(c.docs) == 0 {
		return nil
	}
	r.Engine = c.docs[0].Environment.Engine
	for _, d := range c.docs {
		r.Breaches += d.Breaches()
	}
	if err := r.Write(c.stdout, width(c.stdout)); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "\nresults in %s; `zkbench plot %s` draws them\n", c.flags.load.out, c.flags.load.out)
	for _, path := range []string{filepath.Join(c.flags.load.out, capacity.File), c.flags.json} {
		if path == "" {
			continue
		}
		if err := results.WriteJSON(path, r); err != nil {
			return err
		}
	}
	if results.WriteBreaches(c.stdout, c.docs) {
		return exitError{outcome.CodeBroken, errors.New("a recipe broke its promise")}
	}
	if code := r.Outcome().Code(); code != 0 {
		return exitError{code, errors.New("a capacity was not found")}
	}
	return nil
}
