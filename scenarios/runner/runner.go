package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
)

// Runner runs scenarios against one ensemble, one measurement at a time.
type Runner struct {
	Ensemble    ensemble.Ensemble
	Recipes     []variants.Recipe
	Environment results.Environment // the machine's part; the ensemble's is added
	Run         string              // names the invocation, and the znode that everything stands under
	Temporary   bool                // the ensemble ends with the run, and all znodes with it

	// Save receives each whole measurement as it is done.
	Save func(*results.Document) error
	// Progress is told before each measurement how many are done, of how many, and what comes next; and once at the
	// end.
	Progress func(done, total int, next string)

	ticks <-chan time.Time // for [measurement.watchProgress]; nil means the clock's
}

// task is one measurement in a plan.
type task struct {
	variant variants.Variant
	clients int
	repeat  int
}

func (t task) describe(recipe string) string {
	clients := "clients"
	if t.clients == 1 {
		clients = "client"
	}
	text := fmt.Sprintf("%s/%s, %d %s, repeat %d", recipe, t.variant.Name, t.clients, clients, t.repeat)
	if t.repeat == 0 {
		text = fmt.Sprintf("%s/%s, %d %s, rehearsal", recipe, t.variant.Name, t.clients, clients)
	}
	return text
}

// plan lists the measurements of a scenario in the order in which they run: within each repeat and number of clients,
// the variants follow each other in an order that is shuffled anew.
func plan(s scenarios.Scenario, recipe variants.Recipe) []task {
	random := rand.New(rand.NewPCG(s.Seed, 0))
	var tasks []task
	for repeat := 1; repeat <= s.Repeats; repeat++ {
		for _, clients := range s.Clients {
			selected := slices.Clone(s.Selected(recipe))
			random.Shuffle(len(selected), func(i, j int) { selected[i], selected[j] = selected[j], selected[i] })
			for _, v := range selected {
				tasks = append(tasks, task{v, clients, repeat})
			}
		}
	}
	return tasks
}

// rehearsal is repeat zero of a closed load, and of one that weighs heaps: every variant once, under the middle number of
// clients, before anything is kept. Servers that have just started are slow until their code is compiled, and hold less
// than they will when its classes are loaded: the first measurement would pay. [measurement.shorten] keeps it short.
func rehearsal(s scenarios.Scenario, recipe variants.Recipe) []task {
	if s.Mode != scenarios.Closed && !s.Heap {
		return nil
	}
	clients := slices.Sorted(slices.Values(s.Clients))
	var tasks []task
	for _, v := range s.Selected(recipe) {
		tasks = append(tasks, task{v, clients[len(clients)/2], 0})
	}
	return tasks
}

// rehearsalLength is how long the load of a rehearsal lasts at most: some thousand requests, after which servers have
// compiled what they need most. Each measurement has a warm-up of its own besides.
const rehearsalLength = time.Second

// shorten makes a closed load a rehearsal: the same clients at the same pace, without a warm-up, and not for long.
func (m *measurement) shorten() {
	if m.scenario.Mode != scenarios.Closed {
		return
	}
	m.scenario.WarmUp = 0
	m.scenario.Duration = min(m.scenario.Duration, scenarios.Duration(rehearsalLength))
	if m.scenario.Operations > 0 {
		m.atMost = rehearsalLength
	}
}

// RunScenario measures everything a scenario asks for. When ctx ends, the measurement under way is abandoned and the
// whole ones stay saved. All znodes are removed in any case; if that fails, the error has a [LeftError].
func (r *Runner) RunScenario(ctx context.Context, s scenarios.Scenario) (err error) {
	i := slices.IndexFunc(r.Recipes, func(recipe variants.Recipe) bool { return recipe.Name == s.Recipe })
	if i < 0 {
		return fmt.Errorf("there is no recipe %q", s.Recipe)
	}
	description, err := r.Ensemble.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describe the ensemble: %w", err)
	}
	root, err := openRoot(ctx, r.Ensemble.Servers(), namespace.Root(ensemble.ChrootOf(r.Ensemble), r.Run))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.closeRoot(context.WithoutCancel(ctx), root)) }()
	ctx, cancel := root.whileOwned(ctx)
	defer cancel()
	p := performance{Runner: r, scenario: s, recipe: r.Recipes[i], description: description, root: root}
	tasks := slices.Concat(rehearsal(s, p.recipe), plan(s, p.recipe))
	for done, t := range tasks {
		r.Progress(done, len(tasks), t.describe(s.Recipe))
		if err := p.perform(ctx, t); err != nil {
			return err
		}
	}
	r.Progress(len(tasks), len(tasks), "")
	return nil
}

// closeRoot removes the run's znodes. On servers that end with the run, it is no failure that they no longer answer.
func (r *Runner) closeRoot(ctx context.Context, root *runRoot) error {
	err := root.close(ctx)
	if r.Temporary && errors.Is(err, namespace.ErrSilent) {
		return nil
	}
	return err
}

// performance is one scenario under way.
type performance struct {
	*Runner
	scenario    scenarios.Scenario
	recipe      variants.Recipe
	description ensemble.Description
	root        *runRoot
}

// BrokenError reports that the recipe's promise was broken in a measurement that was not completed.
type BrokenError struct {
	Document *results.Document // says which measurement it was, and has the violations; its numbers mean nothing
	Err      error             // why it was not completed
}

// Error begins with the violations: a broken promise is worse than a failure.
func (e *BrokenError) Error() string {
	var text strings.Builder
	results.WriteBreaches(&text, []*results.Document{e.Document})
	return text.String() + e.Err.Error()
}

// Unwrap returns why the measurement was not completed.
func (e *BrokenError) Unwrap() error { return e.Err }

// perform does one measurement and saves it. Of one that fails nothing is kept, but its violations are reported.
func (p performance) perform(ctx context.Context, t task) error {
	d := p.document(t)
	err := p.measure(ctx, t, d)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errOwnerLost) {
		err = cause
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", t.describe(p.recipe.Name), err)
	}
	if err != nil && len(d.Violations) > 0 {
		return &BrokenError{d, err}
	}
	return err
}

// measure fills in a document and saves it. A rehearsal counts for nothing, unless a promise was broken in it.
func (p performance) measure(ctx context.Context, t task, d *results.Document) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, bystander, err := p.root.room(ctx)
	if err != nil {
		return err
	}
	if prepare := t.variant.Prepare; prepare != nil {
		if err := prepare(ctx, variants.Env{Clients: t.clients, Size: p.scenario.Size, Root: root, Session: variants.NewSession(p.root.Conn, p.root.monitor.Lost())}); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	m := measurement{
		ensemble: p.Ensemble, scenario: p.scenario, recipe: p.recipe, variant: t.variant,
		site:     site{servers: p.Ensemble.Servers(), clients: t.clients, size: p.scenario.Size, root: root, bystander: bystander},
		patience: stuckAfter,
		ticks:    p.ticks,
	}
	if t.repeat > 0 {
		m.floor = newFloorMeter(p.description.Engine, p.recipe, root)
	} else {
		m.shorten()
	}
	collector := tuneCollector(t.clients)
	err = m.run(ctx, d)
	collector.stop()
	if err != nil {
		return err
	}
	if t.repeat == 0 && len(d.Violations) == 0 {
		return nil
	}
	return p.Save(d)
}

// document returns a document with everything that is known before the measurement.
func (p performance) document(t task) *results.Document {
	s, e := p.scenario, p.description
	d := &results.Document{
		Schema:  results.Schema,
		Run:     p.Run,
		Started: time.Now().UTC().Truncate(time.Millisecond),
		Scenario: results.Scenario{
			Name: s.Name, Question: s.Question, Mode: string(s.Mode), Size: s.Size, Operations: s.Operations,
			Duration: time.Duration(s.Duration), WarmUp: time.Duration(s.WarmUp), Hold: time.Duration(s.Hold),
			Think: time.Duration(s.Think), Repeats: s.Repeats, Seed: s.Seed, Heap: s.Heap, BystanderRate: s.BystanderRate,
			ClientCounts: fmt.Sprint(s.Clients), Variants: strings.Join(s.Variants, ","), Overview: s.Overview,
		},
		Recipe:        s.Recipe,
		Variant:       t.variant.Name,
		Kind:          string(t.variant.Kind),
		Phases:        p.recipe.PhasesWhere(func(variants.Phase) bool { return true }),
		Operation:     p.recipe.Operation,
		Batch:         max(p.recipe.Batch, 1),
		Waiting:       p.recipe.PhasesWhere(func(p variants.Phase) bool { return p.Waits }),
		UntimedPhases: p.recipe.PhasesWhere(func(p variants.Phase) bool { return p.UntimedInLockstep }),
		Shares:        scenarios.SharesOf(p.recipe),
		Clients:       t.clients,
		Repeat:        t.repeat,
		Environment:   p.Environment,
		Warnings:      []string{},
		Invalid:       []string{},
		Violations:    []results.Violation{},
	}
	d.Environment.Engine = string(e.Engine)
	d.Environment.ZooKeeper = e.Version
	d.Environment.Image = e.Image
	d.Environment.TxnLog = e.TxnLog
	d.Environment.ServerConfig = e.Config
	d.Environment.Chroot = ensemble.ChrootOf(p.Ensemble)
	for _, server := range p.Ensemble.Servers() {
		d.Environment.Servers = append(d.Environment.Servers, server.Addr)
	}
	return d
}
