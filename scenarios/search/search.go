// Package search finds the capacities of a scenario's variants, by trials on an ensemble.
//
// It takes one position: each trial is independent evidence. Its arrivals differ from those of earlier trials of the same
// load, their results do not remain beside its own, and its outcome is stored before the next trial starts. The variants take
// turns, a trial each, so that a change of the machine's speed affects all of them.
package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
)

// Trials is a search and the trials that it has run. The exported fields before Documents are its settings.
type Trials struct {
	Scenario    scenarios.Scenario // from [Trials.Pace]
	Objective   capacity.Objective
	By          string // [capacity.ByRate] or [capacity.ByClients]
	First, Most int    // the load of the first trial, and the largest to try
	Folder      string // for the results and the report, which must exist

	Runner *runner.Runner // whose Save the search sets
	Begin  func(trial string)
	Log    io.Writer // gets a line for each trial

	Documents []*results.Document // of all trials
	Confirmed []*results.Document // of the last confirmation of each variant

	searches []*variant
}

type variant struct {
	name string
	*capacity.Search
}

// A scenario has many short repeats for pairs. A trial has fewer and longer ones, so that a percentile has the samples that it needs.
const (
	shortestTrial = 5 * time.Second
	mostRepeats   = 3
)

// Pace returns the scenario with a load that can be searched: a single number of clients, and a single rate if it is open. Its
// claims are removed, because they are about its own load.
func (t *Trials) Pace(s scenarios.Scenario) scenarios.Scenario {
	s.Expect, s.Overview = nil, ""
	s.Duration, s.Repeats = max(s.Duration, shortestTrial), min(s.Repeats, mostRepeats)
	s.Operations, s.Heap, s.AtMost, s.Stages = 0, false, 0, nil
	if t.By == capacity.ByClients {
		s.Mode, s.Rate, s.Arrivals, s.Clients = scenarios.Closed, nil, "", []int{t.First}
		return s
	}
	s.Mode, s.Think, s.Rate, s.Clients = scenarios.Open, 0, []results.Rate{results.Rate(t.First)}, []int{slices.Max(s.Clients)}
	return s
}

// Check returns an error if the load does not have the objective's metric, or has more than one number of clients.
func (t *Trials) Check(recipes []variants.Recipe) error {
	if err := t.Objective.Check(t.By); err != nil {
		return fmt.Errorf("--objective: %w", err)
	}
	if len(t.Scenario.Clients) != 1 {
		return errors.New("--clients wants one number for a capacity")
	}
	claimed := t.Scenario // its claim is checked like a scenario's own
	claimed.Expect = []string{t.Scenario.SelectedAmong(recipes)[0].Name + " " + t.Objective.String()}
	for _, p := range claimed.Validate(recipes) {
		return fmt.Errorf("--objective: %s", p.Text)
	}
	return nil
}

// Clip returns the scenario with the largest number of clients that the search may try. While check refuses that number, the
// search tries fewer, and says so. The error is the one for the smallest number.
func (t *Trials) Clip(check func(scenarios.Scenario) error) (largest scenarios.Scenario, err error) {
	largest = t.Scenario
	if t.By == capacity.ByRate {
		return largest, check(largest)
	}
	for {
		largest.Clients = []int{t.Most + t.Most/10 + 1} // the load that must fail
		if err = check(largest); err == nil || t.Most == t.First {
			return largest, err
		}
		fmt.Fprintf(t.Log, "trying fewer than %d clients: %v\n", t.Most, err)
		t.Most = max(t.Most*3/4, t.First)
	}
}

// Run finds the capacities. After each trial it stores the report, so that an interrupt loses only the trial that was under
// way. If it fails, the report has the trials so far.
func (t *Trials) Run(ctx context.Context) (capacity.Report, error) {
	t.searches = list.Map(t.Scenario.SelectedAmong(t.Runner.Recipes), func(v variants.Variant) *variant {
		return &variant{v.Name, capacity.NewSearch(t.First, t.Most)}
	})
	random := rand.New(rand.NewPCG(t.Scenario.Seed, 0))
	for more := true; more; {
		more = false
		for _, i := range random.Perm(len(t.searches)) {
			trial, ok := t.searches[i].Next()
			if !ok {
				continue
			}
			more = true
			if err := t.try(ctx, t.searches[i], trial); err != nil {
				return t.report(), err
			}
		}
	}
	return t.report(), nil
}

// File returns the path of the report.
func (t *Trials) File() string { return filepath.Join(t.Folder, capacity.File) }

func (t *Trials) report() capacity.Report {
	r := capacity.Report{
		Schema: capacity.Schema, Scenario: t.Scenario.Name, By: t.By, Objective: t.Objective.String(), Repeats: t.Scenario.Repeats,
		First: t.First, Most: t.Most,
	}
	if t.By == capacity.ByRate {
		r.Clients = t.Scenario.Clients[0]
	}
	for _, v := range t.searches {
		r.Add(v.name, v.Search)
	}
	for _, d := range t.Documents {
		r.Engine = d.Environment.Engine
		if d.Broken() {
			r.Breaches += d.Breaches()
		}
	}
	return r
}

// errDecided ends a trial whose outcome further repeats cannot change.
var errDecided = errors.New("the trial is decided")

func (t *Trials) try(ctx context.Context, v *variant, trial capacity.Trial) error {
	s := t.scenario(v.name, trial, v.Times(trial.Load))
	folder, err := t.folder(s, trial)
	if err != nil {
		return err
	}
	t.Begin(fmt.Sprintf("%s (%s)", s.Name, trial.Purpose))
	var repeats []*results.Document
	t.Runner.Save = func(d *results.Document) error {
		t.Documents = append(t.Documents, d)
		if err := store.Write(d, folder); err != nil {
			return err
		}
		if d.Repeat == 0 { // a rehearsal in which the recipe broke its promise
			return nil
		}
		repeats = append(repeats, d)
		if trial.Outcome, trial.Why = t.Objective.JudgeAll(repeats, trial.Purpose); trial.Outcome != capacity.Holds {
			return errDecided
		}
		return nil
	}
	err = t.Runner.RunScenario(ctx, s)
	if left := new(pool.LeftError); errors.As(err, &left) && errors.Is(err, errDecided) {
		err = left // the trial is over, but not its znodes
	} else if errors.Is(err, errDecided) {
		err = nil
	}
	if trial.Purpose == capacity.Confirm {
		t.confirm(v.name, repeats)
	}
	if err != nil {
		return err
	}
	why := trial.Why
	if trial.Outcome == capacity.Holds {
		why = fmt.Sprintf("worst %s %s", metric.Named(t.Objective.Metric).Short(), why)
	}
	fmt.Fprintf(t.Log, "%s at %d (%s): %s, %s\n", v.name, trial.Load, trial.Purpose, trial.Outcome, why)
	v.Report(trial)
	return store.WriteSealed(t.File(), t.report())
}

// scenario returns the scenario with the variant and the load of a trial. Each trial of a load has a different seed: with the
// same seed, a confirmation would repeat the very arrivals at which the objective has held.
func (t *Trials) scenario(variant string, trial capacity.Trial, before int) scenarios.Scenario {
	s := t.Scenario
	s.Seed += uint64(before)
	s.Variants = []string{variant}
	if t.By == capacity.ByRate {
		s.Rate = []results.Rate{results.Rate(trial.Load)}
	} else {
		s.Clients = []int{trial.Load}
	}
	return s
}

// folder returns the folder for a trial's results, without all those of an earlier trial of this load: the next one may have fewer repeats.
func (t *Trials) folder(s scenarios.Scenario, trial capacity.Trial) (string, error) {
	folder := t.Folder
	if trial.Purpose == capacity.Confirm {
		folder = filepath.Join(folder, capacity.ConfirmFolder)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", err
		}
	}
	d := results.Document{Scenario: s.Scenario, Recipe: s.Recipe, Variant: s.Variants[0], Clients: s.Clients[0], Rate: s.Rates()[0]}
	for d.Repeat = range s.Repeats + 1 {
		if err := os.Remove(filepath.Join(folder, d.Filename())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("remove the results of an earlier trial: %w", err)
		}
	}
	return folder, nil
}

func (t *Trials) confirm(variant string, repeats []*results.Document) {
	earlier := func(d *results.Document) bool { return d.Variant == variant }
	t.Confirmed = append(slices.DeleteFunc(t.Confirmed, earlier), repeats...)
}
