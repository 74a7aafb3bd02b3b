package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants"
)

// Runner runs scenarios against one ensemble, one measurement at a time.
type Runner struct {
	Ensemble    ensemble.Ensemble
	Recipes     []variants.Recipe
	Environment results.Environment // the machine's part; the ensemble's is added
	Run         string              // names the invocation, and the znode that everything stands under

	// Save receives each whole measurement as it is done.
	Save func(*results.Document) error
	// Progress is told before each measurement how many are done, of how many, and what comes next; and once at the
	// end.
	Progress func(done, total int, next string)
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
func plan(s Scenario, recipe variants.Recipe) []task {
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
// than they will when its classes are loaded: whoever came first would pay.
func rehearsal(s Scenario, recipe variants.Recipe) []task {
	if s.Mode != Closed && !s.Heap {
		return nil
	}
	clients := slices.Sorted(slices.Values(s.Clients))
	var tasks []task
	for _, v := range s.Selected(recipe) {
		tasks = append(tasks, task{v, clients[len(clients)/2], 0})
	}
	return tasks
}

// RunScenario measures everything a scenario asks for. When ctx ends, the measurement under way is abandoned and the
// whole ones stay saved. All znodes are removed, whatever happens.
func (r *Runner) RunScenario(ctx context.Context, s Scenario) (err error) {
	i := slices.IndexFunc(r.Recipes, func(recipe variants.Recipe) bool { return recipe.Name == s.Recipe })
	if i < 0 {
		return fmt.Errorf("there is no recipe %q", s.Recipe)
	}
	description, err := r.Ensemble.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describe the ensemble: %w", err)
	}
	workshop, err := openWorkshop(ctx, r.Ensemble.Servers()[0], r.Run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workshop.close()) }()
	p := performance{Runner: r, scenario: s, recipe: r.Recipes[i], description: description, workshop: workshop}
	tasks := slices.Concat(rehearsal(s, p.recipe), plan(s, p.recipe))
	for done, t := range tasks {
		r.Progress(done, len(tasks), t.describe(s.Recipe))
		if err := p.perform(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.describe(s.Recipe), err)
		}
	}
	r.Progress(len(tasks), len(tasks), "")
	return nil
}

// performance is one scenario under way.
type performance struct {
	*Runner
	scenario    Scenario
	recipe      variants.Recipe
	description ensemble.Description
	workshop    *workshop
}

// perform does one measurement and saves it. A rehearsal counts for nothing, unless a promise was broken in it.
func (p performance) perform(ctx context.Context, t task) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, bystander, err := p.workshop.room()
	if err != nil {
		return err
	}
	if prepare := t.variant.Prepare; prepare != nil {
		if err := prepare(ctx, p.workshop.conn, variants.Env{Clients: t.clients, Size: p.scenario.Size, Root: root}); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	m := measurement{
		ensemble: p.Ensemble, scenario: p.scenario, recipe: p.recipe, variant: t.variant,
		site:     site{servers: p.Ensemble.Servers(), clients: t.clients, size: p.scenario.Size, root: root, bystander: bystander},
		patience: stuckAfter,
	}
	d := p.document(t)
	if err := m.run(ctx, d); err != nil {
		return err
	}
	if err := errors.Join(p.workshop.clear(root), p.workshop.clear(bystander)); err != nil {
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
		Recipe:      s.Recipe,
		Variant:     t.variant.Name,
		Kind:        string(t.variant.Kind),
		Phases:      p.recipe.PhasesWhere(func(variants.Phase) bool { return true }),
		Clients:     t.clients,
		Repeat:      t.repeat,
		Environment: p.Environment,
		Warnings:    []string{},
		Invalid:     []string{},
		Violations:  []results.Violation{},
	}
	d.Environment.Engine = string(e.Engine)
	d.Environment.ZooKeeper = e.Version
	d.Environment.Image = e.Image
	d.Environment.TxnLog = e.TxnLog
	d.Environment.ServerConfig = e.Config
	for _, server := range p.Ensemble.Servers() {
		d.Environment.Servers = append(d.Environment.Servers, server.Addr)
	}
	return d
}

// spareFiles is how many file descriptors zkbench needs besides those of the clients: bystanders, administration, results.
const spareFiles = 64

// CheckFileLimit returns an error if the scenario needs more connections than the process may open. On the embedded
// engine both ends of a connection are in this process.
func CheckFileLimit(s Scenario, engine ensemble.Engine) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return nil //nolint:nilerr // a system without this limit has nothing to check
	}
	clients := slices.Max(s.Clients)
	files, why := clients+spareFiles, ""
	if engine == ensemble.Embedded {
		files, why = files+clients, " (both ends of a connection are in this process)"
	}
	if uint64(files) > limit.Cur {
		return fmt.Errorf("%d clients need %d file descriptors%s, but this process may open %d: raise the limit (ulimit -n %d) or ask for fewer clients",
			clients, files, why, limit.Cur, files)
	}
	return nil
}
