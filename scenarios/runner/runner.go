// Package runner runs a scenario: in each repeat it measures each variant under each number of clients, and saves one document
// per measurement.
//
// A comparison is made within one run. All variants of a scenario run on the same ensemble, in an order that is shuffled anew in
// each repeat, so that drift and other load on the machine affect them alike. Every doubt about a number, such as a saturated
// client or a lost session, is part of the document.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/background"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/scenarios/remote"
	"github.com/zkbench/zkbench/variants"
)

// Runner runs scenarios against one ensemble, one measurement at a time.
type Runner struct {
	Ensemble    ensemble.Ensemble
	Recipes     []variants.Recipe
	Environment results.Environment // the machine's part; the ensemble's is added
	Run         string              // the name of the invocation, and of the znode that all others are created below
	Temporary   bool                // the ensemble ends with the run, and all znodes with it
	Tags        results.Tags        // of all documents

	// Save receives the document of each complete measurement when it ends.
	Save func(*results.Document) error
	// Progress is called before each measurement with the number of measurements done, their total, and a description of the
	// next one. It is called once more at the end.
	Progress func(done, total int, next string)
	// Partial, if not nil, receives the document of an incomplete measurement: ctx ended or the load failed after the window began.
	// Only windows of more than a minute are kept in part.
	Partial func(*results.Document) error
	// Live, if not nil, is called every second during a load, never concurrently with the functions above.
	Live func(Live)

	// Notice receives what a user should know of a scenario before its measurements begin.
	Notice func(text string)
	// Connecting, if not nil, is called now and then while sessions are opened, with the number of established ones and their total.
	Connecting func(done, of int)

	// Dedicated says that no other program uses the servers, although zkbench has not started them.
	Dedicated bool
	// Workers have the clients, in blocks; without any, this process has them.
	Workers []*remote.Worker

	shortFloors bool                // floors have their least number of rounds
	unrehearsed bool                // there are no rehearsals
	nap         func(time.Duration) // for [load.Arrivals]; nil means [machine.SleepPrecisely]
	blocks      int                 // into which the clients of a measurement are divided; 0 means one
}

type task struct {
	variant variants.Variant
	clients int
	rate    results.Rate // of an open load; 0 in other modes
	repeat  int
	next    string // describes the task that follows; empty for the last one
}

func (t task) describe(recipe string) string {
	text := fmt.Sprintf("%s/%s, %d %s", recipe, t.variant.Name, t.clients, table.Plural(t.clients, "client"))
	if t.rate > 0 {
		text += ", " + t.rate.Of("")
	}
	if t.repeat == 0 {
		return text + ", rehearsal"
	}
	return text + fmt.Sprintf(", repeat %d", t.repeat)
}

// plan lists the measurements of a scenario in the order in which they run. For each repeat, number of clients and rate, the
// order of the variants is shuffled anew.
func plan(s scenarios.Scenario, recipe variants.Recipe) []task {
	random := rand.New(rand.NewPCG(s.Seed, 0))
	var tasks []task
	for repeat := 1; repeat <= s.Repeats; repeat++ {
		for _, clients := range s.Clients {
			for _, rate := range s.Rates() {
				selected := slices.Clone(s.Selected(recipe))
				random.Shuffle(len(selected), func(i, j int) { selected[i], selected[j] = selected[j], selected[i] })
				for _, v := range selected {
					tasks = append(tasks, task{variant: v, clients: clients, rate: rate, repeat: repeat})
				}
			}
		}
	}
	return tasks
}

// rehearsalClients is the largest number of clients of a rehearsal. More of them do not make servers compile more.
const rehearsalClients = 1000

// rehearsal lists the measurements of repeat zero, which are not saved: every variant once, under the middle number of clients and
// the middle rate. It omits variants that are known to be broken, because their times are not compared.
//
// Servers that have just started are slow until their code is compiled, and their heaps grow while classes are loaded. Without
// a rehearsal, the first measurement would include that.
func rehearsal(s scenarios.Scenario, recipe variants.Recipe) []task {
	if s.Mode == scenarios.Lockstep && !s.Heap { // counts are the same on a cold server
		return nil
	}
	clients, rates := slices.Sorted(slices.Values(s.Clients)), slices.Sorted(slices.Values(s.Rates()))
	whole := list.Where(s.Selected(recipe), func(v variants.Variant) bool { return s.KnownBroken(v) == "" })
	return list.Map(whole, func(v variants.Variant) task {
		return task{variant: v, clients: min(clients[len(clients)/2], rehearsalClients), rate: rates[len(rates)/2]}
	})
}

// RunScenario makes all measurements of a scenario. When ctx ends, the measurement under way ends, see Partial, and the earlier
// ones stay saved. If the background alone saturates the ensemble, the document that says so is the last one. All znodes are
// removed in any case. If that fails, the error wraps a [pool.LeftError].
func (r *Runner) RunScenario(ctx context.Context, s scenarios.Scenario) (err error) {
	recipe := s.RecipeAmong(r.Recipes)
	if recipe == nil {
		return fmt.Errorf("there is no recipe %q", s.Recipe)
	}
	description, err := r.Ensemble.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describe the ensemble: %w", err)
	}
	root, err := pool.OpenRoot(ctx, r.Ensemble.Servers(), faults.OfServers(s.Faults), namespace.Root(ensemble.ChrootOf(r.Ensemble), r.Run))
	if err != nil {
		return err
	}
	defer func() {
		left := root.Close(context.WithoutCancel(ctx))
		if !r.Temporary || !errors.Is(left, namespace.ErrSilent) { // servers that end with the run need not answer
			err = errors.Join(err, left)
		}
	}()
	ctx, cancel := root.WhileOwned(ctx)
	defer cancel()
	p := scenarioRun{Runner: r, scenario: s, recipe: *recipe, description: description, root: root}
	if err = p.learnTimeout(ctx); err == nil {
		err = p.prepareBackground(ctx)
	}
	if err != nil {
		return err
	}
	tasks := plan(s, p.recipe)
	if !r.unrehearsed {
		tasks = slices.Concat(rehearsal(s, p.recipe), tasks)
	}
	for done, t := range tasks {
		if done+1 < len(tasks) {
			t.next = tasks[done+1].describe(s.Recipe)
		}
		r.Progress(done, len(tasks), t.describe(s.Recipe))
		err := p.perform(ctx, t)
		if errors.Is(err, background.ErrSaturated) {
			break // all other measurements would fail too; the document of this one gives the reason
		}
		if err != nil {
			return err
		}
	}
	r.Progress(len(tasks), len(tasks), "")
	return nil
}

// learnTimeout opens a session as the clients of a scenario do, so that faults are planned with the timeout that servers grant.
func (p *scenarioRun) learnTimeout(ctx context.Context) error {
	asked, link := p.scenario.EffectiveSessionTimeout(), ensemble.NewLink(wire.NewLedger(time.Now()))
	conn, err := ensemble.OpenSession(ctx, ensemble.SessionConfig{Servers: p.Ensemble.Servers()[:1], Timeout: asked, Link: link})
	if err != nil {
		return err
	}
	conn.Close()
	granted := link.Ledger().SessionTimeout()
	if granted == asked {
		return nil
	}
	p.warnings = []string{fmt.Sprintf("the servers granted a session timeout of %s instead of %s", granted, asked)}
	p.Notice(p.scenario.Name + ": " + p.warnings[0])
	p.scenario.Granted = granted
	if mistakes := p.scenario.Validate(p.Recipes); len(mistakes) > 0 {
		return fmt.Errorf("%s: %s", p.warnings[0], mistakes[0].Text)
	}
	return nil
}

// CheckServers makes the checks of a scenario that need its servers and create no znode. It opens and closes one session.
func (r *Runner) CheckServers(ctx context.Context, s scenarios.Scenario) error {
	return (&scenarioRun{Runner: r, scenario: s}).learnTimeout(ctx)
}

// prepareBackground creates the znodes of the scenario's background, with a session for each server unless the scenario says how many.
func (p *scenarioRun) prepareBackground(ctx context.Context) (err error) {
	if p.scenario.Background == nil {
		return nil
	}
	load := *p.scenario.Background
	load.Sessions = cmp.Or(load.Sessions, len(p.Ensemble.Servers()))
	p.scenario.Background = &load
	p.znodes, err = p.root.CreateBackground(ctx, load)
	return err
}

type scenarioRun struct {
	*Runner
	scenario    scenarios.Scenario
	recipe      variants.Recipe
	description ensemble.Description
	root        *pool.Root
	znodes      []string // that the background reads and writes
	warnings    []string // about the whole run
}

// BrokenError reports that a variant broke the recipe's promise in a measurement that was not completed.
type BrokenError struct {
	Document *results.Document // names the measurement and holds the violations
	Err      error             // why it was not completed
}

// Error lists the violations first, because the failure is less important.
func (e *BrokenError) Error() string {
	var text strings.Builder
	report.WriteBreaches(&text, []*results.Document{e.Document})
	return text.String() + e.Err.Error()
}

// Unwrap returns why the measurement was not completed.
func (e *BrokenError) Unwrap() error { return e.Err }

// perform makes one measurement and saves it. If the measurement fails, its document is saved if it has violations, which are part of
// the error then, and otherwise at most as a partial one.
func (p scenarioRun) perform(ctx context.Context, t task) error {
	d := p.document(t)
	untune := machine.TuneCollector(t.clients)
	err := p.measure(ctx, t, d)
	untune() // nothing refers to the sessions of the measurement any more
	if err == nil || errors.Is(err, background.ErrSaturated) {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, pool.ErrOwnerLost) {
		err = cause
	}
	err = fmt.Errorf("%s: %w", t.describe(p.recipe.Name), p.diagnose(ctx, err))
	if d.Broken() {
		return &BrokenError{d, err}
	}
	return err
}

const diagnoseTimeout = 10 * time.Second

// diagnose adds to the error of a measurement which servers have faults. All faults of the schedule are over then, so that these
// faults are unplanned. An interrupted run is not diagnosed.
func (p scenarioRun) diagnose(ctx context.Context, err error) error {
	if errors.As(err, new(*ensemble.FaultyError)) || ctx.Err() != nil && !errors.Is(context.Cause(ctx), pool.ErrOwnerLost) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diagnoseTimeout)
	defer cancel()
	if faulty := new(ensemble.FaultyError); errors.As(ensemble.CheckFaults(ctx, p.Ensemble), &faulty) {
		return fmt.Errorf("%w; %w", err, faulty)
	}
	return err
}

// measure fills in a document and saves it. The document of a rehearsal is saved only if it has violations. The document of an
// unfinished load is saved as a partial one.
func (p scenarioRun) measure(ctx context.Context, t task, d *results.Document) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, bystander, err := p.root.CreateRoot(ctx)
	if err != nil {
		return err
	}
	if prepare := p.recipe.Prepare; prepare != nil {
		err := prepare(ctx, variants.Env{Clients: t.clients, Size: p.scenario.Size, Root: root, Session: p.root.Session()})
		if err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	alone := background.AloneLength
	if t.repeat == 0 {
		shorten(&p.scenario)
		alone = block.RehearsalLength / 2
	}
	m := measurement{
		scenarioRun: p, task: t, patience: stuckAfter,
		plan: block.Plan{
			Variant: t.variant.Name, Scenario: p.scenario, Repeat: t.repeat, Rate: t.rate, Nap: p.nap,
			Pool: pool.Config{
				Servers: p.Ensemble.Servers(), Clients: t.clients, Size: p.scenario.Size,
				Calls: p.recipe.Calls, Root: root, Tick: tickOf(p.description),
				Tunnelled: d.Scenario.Tunnelled, Timeout: p.scenario.SessionTimeout,
				Roam: p.scenario.Roam, Faults: len(p.scenario.Faults) > 0,
			},
		},
		background: background.New(p.scenario.Background, p.znodes, alone), bystander: bystander,
	}
	if p.scenario.Hold >= 10*time.Millisecond && !faults.OfServers(p.scenario.Faults) { // otherwise a look could outlast a hold
		m.plan.Witness, m.plan.Pool.Witness = true, p.root.Witness().Look
	}
	if m.faulty() {
		m.patience = faultyPatience(max(p.scenario.Granted, cmp.Or(p.scenario.SessionTimeout, ensemble.SessionTimeout)))
	}
	if t.repeat > 0 {
		m.plan.Floor = max(block.FloorMostRounds/max(len(p.Workers), 1), block.FloorLeastRounds) // the workers measure in turn
		if p.shortFloors || p.description.Engine == ensemble.Embedded {
			m.plan.Floor = block.FloorLeastRounds
		}
	}
	err = m.run(ctx, d)
	if d.Partial && d.Window.Operations > 0 {
		err = errors.Join(err, p.Partial(d))
	}
	if err != nil {
		return err
	}
	if t.repeat == 0 && len(d.Violations) == 0 {
		return nil
	}
	err = errors.Join(p.Save(d), m.failed)
	if err == nil && m.background.Saturates() {
		err = background.ErrSaturated
	}
	return err
}

// document returns a document with the fields that are known before a measurement.
func (p scenarioRun) document(t task) *results.Document {
	s := p.scenario
	d := &results.Document{
		Schema:        results.Schema,
		Run:           p.Run,
		Started:       time.Now().UTC().Truncate(time.Millisecond),
		Scenario:      s.Scenario,
		Recipe:        s.Recipe,
		Variant:       t.variant.Name,
		Kind:          string(t.variant.Kind),
		KnownBroken:   s.KnownBroken(t.variant),
		Forgoes:       list.Texts(t.variant.Forgoes),
		Phases:        p.recipe.PhasesWhere(func(variants.Phase) bool { return true }),
		Operation:     p.recipe.Operation,
		Batch:         p.recipe.BatchOf(s.Size),
		Waiting:       p.recipe.PhasesWhere(func(p variants.Phase) bool { return p.Waits }),
		UntimedPhases: p.recipe.PhasesWhere(func(p variants.Phase) bool { return p.UntimedInLockstep }),
		Shares:        scenarios.SharesOf(p.recipe),
		Clients:       t.clients,
		Rate:          t.rate,
		Repeat:        t.repeat,
		Environment:   scenarios.EnvironmentOf(p.Environment, p.description),
		Tags:          p.Tags,
		Warnings:      append([]string{}, p.warnings...),
		Invalid:       []string{},
		Violations:    []results.Violation{},
	}
	d.Scenario.Tunnelled = s.HasDriver(p.recipe)
	d.Environment.Chroot = ensemble.ChrootOf(p.Ensemble)
	d.Environment.Servers = list.Map(p.Ensemble.Servers(), func(s ensemble.Server) string { return s.Addr })
	return d
}

// defaultTick is the tick of servers that do not report theirs.
const defaultTick = 2 * time.Second

func tickOf(d ensemble.Description) time.Duration {
	millis, _ := strconv.Atoi(d.Config["tickTime"]) // 0 if it is missing or wrong
	return cmp.Or(time.Duration(millis)*time.Millisecond, defaultTick)
}
