package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/background"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/chaos"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/variants"
)

// measurement is one variant under one number of clients in one repeat: a load, and the probes beside it.
type measurement struct {
	scenarioRun // a copy, because a rehearsal shortens the scenario
	task
	bystander  string // the small znode that bystanders read
	background *background.Load

	plan      block.Plan
	patience  time.Duration // the longest time without progress, after which the load fails with ErrStuck
	crew      *crew
	connected block.Connected
	floor     *results.Floor // nil if none is measured
	stream    *stream
	injector  *chaos.Injector // has no faults in a rehearsal
	first     snapshot        // before the load
	counting  atomic.Bool     // the steps of the load that runs are operations of the measurement, and no warm-up
	stepped   atomic.Int64    // completed steps of a load in lockstep
	breached  *observation    // nil unless a breach of the promise has ended the load
	failed    error           // of a load that a breach has ended which the scenario does not expect
	part      *observation    // of a window that has ended, with all of its arrivals as unserved; nil for a load of a number of operations
}

// stuckAfter is the patience of a measurement: longer than a session timeout, after which a lost client's znodes let others proceed.
const stuckAfter = 45 * time.Second

// run measures and fills in the document. The caller creates and removes the znodes. If the load fails, the document is partial,
// or holds only the violations of the recipe's promise until the failure.
func (m *measurement) run(ctx context.Context, d *results.Document) (err error) {
	whole := ctx
	defer func() {
		switch cause := m.crew.cause(); {
		case m.crew.lost():
			err = fmt.Errorf("%w: the measurement is void, as its clients failed without a fault of the scenario", cause)
		case err != nil && whole.Err() == nil && !errors.Is(cause, context.Canceled):
			err = errors.Join(err, cause)
		}
	}()
	m.crew, ctx = newCrew(ctx, time.Now(), m.clients)
	defer m.crew.end(nil)
	m.enlist()
	defer func() { err = errors.Join(err, m.crew.closeFloor(context.WithoutCancel(ctx))) }()
	defer m.crew.close(context.WithoutCancel(ctx))
	if m.connected, err = m.crew.connect(ctx, m.plan, m.Connecting); err != nil {
		return err
	}
	d.Driver = m.connected.Driver
	if err := m.crew.refresh(ctx); err != nil {
		return fmt.Errorf("bring the participants up to date: %w", err)
	}
	if m.plan.Floor > 0 {
		m.floor = m.crew.floor(ctx, block.Half{})
	}
	record := recorder.New(m.recorderConfig())
	o, err := m.load(ctx, record)
	machine.ReturnMemory() // before the clients leave
	if err == nil {
		err = m.countOrphans(ctx, record)
	}
	if err != nil {
		m.closePartial(d, record)
		return err
	}
	m.describe(d, o)
	d.Unfinished = o.unfinished
	d.Connect, d.Background = new(m.connected.Took), m.background.Report() // a copy: the document outlives the measurement
	if m.floor != nil && o.unfinished == nil {
		d.Floor = m.floorAfter(ctx)
	}
	record.Close(d, o.unserved)
	d.Warnings = append(d.Warnings, o.examined.Warnings...)
	return nil
}

// enlist gives the crew its parts: one for each worker, or else one in this process.
func (m *measurement) enlist() {
	for i, w := range m.Workers {
		m.crew.parts = append(m.crew.parts, block.NewFar(w, i, m.crew.end))
	}
	for len(m.crew.parts) < max(m.blocks, 1) {
		m.crew.parts = append(m.crew.parts, block.New(m.recipe, m.variant))
	}
	m.crew.spread = len(m.crew.parts) > 1 || len(m.Workers) > 0
}

// floorAfter measures the second half of the floor, unless the background has saturated the servers, which are still busy with it.
func (m *measurement) floorAfter(ctx context.Context) *results.Floor {
	if m.background.Saturates() {
		m.floor.Why = background.ErrSaturated.Error()
		return m.floor
	}
	return m.crew.floor(ctx, block.Half{After: true, Renew: faults.OfServers(m.scenario.Faults)})
}

// load applies the load while bystanders read and the background is on, and streams the clients' records to the recorder. If the
// background saturates the ensemble, the clients do nothing.
func (m *measurement) load(ctx context.Context, record *recorder.Recorder) (observation, error) {
	servers := m.plan.Pool.Servers
	if err := m.background.Open(ctx, m.crew.epoch, servers); err != nil {
		return observation{}, err
	}
	defer m.background.Close()
	bystanders := &background.Bystanders{Epoch: m.crew.epoch, Path: m.bystander, Rate: m.scenario.BystanderRate}
	if err := bystanders.Start(ctx, servers); err != nil {
		return observation{}, err
	}
	m.stream = newStream(m.crew, m.recipe, record, m.damage(record))
	m.stream.bystanders, m.stream.background = bystanders, m.background
	m.stream.open = m.plan.IsOpen()
	m.injector = m.newInjector(record)
	m.stream.start()
	stopLive := m.showLive()
	o, err := m.apply(ctx)
	stopLive()
	if m.background.Saturates() { // no load was applied
		m.stream.openWindow()
		m.stream.closeWindow()
		o, err = observation{end: m.first}, nil
	}
	err = errors.Join(err, m.injector.Finish(ctx))
	if o.unfinished != nil { // after the faults, because paused servers do not answer
		err = errors.Join(err, m.background.Drain(ctx))
	}
	if o.examined = m.crew.examine(); o.whole() {
		o.unserved = o.examined.Unserved
	}
	m.background.Close()
	bystanders.Finish()
	m.stream.finish(err == nil && o.unfinished == nil && !m.background.Saturates())
	if err != nil {
		return observation{}, err
	}
	o.examined.Health.LeaderChanged = o.whole() && (m.first.leader != o.end.leader || m.first.leader == 0)
	bystanders.Examine(&o.examined.Health)
	return o, nil
}

func (m *measurement) faulty() bool { return m.plan.Faulty() }

func (m *measurement) newInjector(record *recorder.Recorder) *chaos.Injector {
	c := chaos.Config{
		Crew: m.crew, Epoch: m.crew.epoch, Ensemble: m.Ensemble, Window: m.scenario.Duration, HoldTime: m.scenario.Hold,
		Random: rand.New(rand.NewPCG(m.scenario.Seed, uint64(m.repeat))), Log: m.stream, Recorder: record,
	}
	if m.faulty() {
		c.Schedule = m.scenario.Faults
	}
	return chaos.New(c)
}

func (m *measurement) recorderConfig() recorder.Config {
	return recorder.Config{
		Phase:        m.recipe.Phases[0].Name,
		Operation:    m.recipe.Operation,
		Waiting:      m.recipe.PhasesWhere(func(p variants.Phase) bool { return p.Waits }),
		Collective:   m.recipe.Collective,
		Series:       m.recipe.SizeIsBatch && m.scenario.Size > 1,
		Named:        scenarios.EnvironmentOf(m.Environment, m.description).NamesTransactions(),
		Clients:      m.clients,
		Workers:      len(m.crew.parts),
		Open:         m.plan.IsOpen(),
		WindowLength: m.scenario.Duration,
		Stages:       list.Map(m.scenario.Stages, func(s results.StageLoad) time.Duration { return s.For }),
		Faulty:       m.faulty(),
		Losses:       list.Texts(m.losses()),
	}
}

// losses returns the losses that are counted: with faults, all losses of the recipe, and without faults, the losses that the
// variant does not even then promise to avoid.
func (m *measurement) losses() []variants.Loss {
	if !m.faulty() {
		return m.variant.ForgoesAlways
	}
	return m.recipe.Losses
}

// damage returns the function that receives each damage that the observer finds. It counts the damage, and reports a violation
// if the variant promises to avoid it. Without any loss to count it returns nil, so that all damage is a violation.
func (m *measurement) damage(record *recorder.Recorder) func(variants.Damage) {
	counted, forgone := m.losses(), m.variant.Forgone
	if !m.faulty() {
		forgone = m.variant.ForgoneAlways
	}
	if !m.faulty() && len(counted) == 0 {
		return nil
	}
	return func(d variants.Damage) {
		if slices.Contains(counted, d.Loss) {
			record.Damage(string(d.Loss), d.Amount)
		}
		if d.Loss.IsBreach() && !forgone(d.Loss) {
			record.Violation(results.Violation{At: d.At, Text: d.Text})
		}
	}
}

// countOrphans counts the znodes that no client will remove. All clients leave first.
func (m *measurement) countOrphans(ctx context.Context, record *recorder.Recorder) error {
	if !m.faulty() || m.recipe.Orphans == nil || m.background.Saturates() {
		return nil
	}
	m.crew.close(context.WithoutCancel(ctx))
	env := variants.Env{Clients: m.clients, Size: m.plan.Pool.Size, Root: m.plan.Pool.Root, Session: m.root.Session()}
	n, err := m.recipe.Orphans(ctx, env)
	if err != nil {
		return fmt.Errorf("count the orphans: %w", err)
	}
	if n > 0 {
		text := fmt.Sprintf("%d znodes are left that no client will remove", n)
		m.damage(record)(variants.Damage{Loss: variants.Orphans, Amount: n, Violation: variants.Violation{At: m.crew.Since(), Text: text}})
	}
	return nil
}

// oracle compares the clients' counts with the servers'. If servers fail by a schedule, it omits the comparison: a paused leader
// may later commit a request that it received before, or the end of the session that sent the request.
func (m *measurement) oracle(o observation) results.Oracle {
	if m.background.Saturates() {
		return results.Oracle{Why: "no load was applied"}
	}
	if !o.whole() {
		return m.uncheckedOracle()
	}
	out := crossCheck(m.owned(), m.first, o.end)
	if out.Checked && faults.OfServers(m.scenario.Faults) {
		out.Checked, out.Why = false, "servers failed: which of the requests under way took effect cannot be known"
		out.ServerNotifications, out.ServerTransactions = 0, 0
	}
	if h := o.examined.Health; out.Checked && !o.end.uncounted && !m.faulty() && !m.scenario.Heap && h.Reconnects+h.SessionsLost == 0 {
		out.ServerPackets = o.end.packets - m.first.packets - o.end.commands
		out.LeastPackets, out.MostPackets = o.end.answered-m.first.sent, o.end.sent-m.first.answered
	}
	return out
}

// describe adds the part of the result that does not come from events: counts, health, and the servers' counters.
func (m *measurement) describe(d *results.Document, o observation) {
	d.Environment.SessionTimeout = m.connected.Granted
	d.Counts, d.Heap, d.Health, d.Oracle = scenarios.CountsOf(o.counts), o.heap, o.examined.Health, m.oracle(o)
	d.Oracle.AllRequests = m.stream.finished.TotalRequests() - m.stream.started.TotalRequests()
	d.Oracle.AllNotifications = m.stream.finished.TotalNotifications()
	d.Servers = reportServers(m.first.servers, o.end.servers)
	d.Expected.Costs = m.costs()
	d.Workers = m.crew.workers()
	if !d.CountsWhole() {
		d.Window.Apart = m.stream.apart
	}
}

// costs returns the variant's formulas with their values for this measurement's number of clients and size, by metric. There are none for
// a load to which the formulas do not apply.
func (m *measurement) costs() map[string]results.Cost {
	cost := m.variant.Free
	if m.scenario.Mode == scenarios.Lockstep {
		cost = m.variant.Lockstep
	}
	costs := map[string]results.Cost{}
	lasts := m.scenario.Mode != scenarios.Lockstep && m.scenario.Operations == 0
	if lasts && m.recipe.Unpaced || m.connected.Unforeseen || m.background.Saturates() { // when saturated, no load was applied
		return costs
	}
	contenders, size := m.clients, max(m.plan.Pool.Size, 1)
	if m.recipe.Threaded { // each thread counts as one client
		contenders *= size
	}
	for name, f := range map[string]variants.Formula{
		metric.NotificationsPerOp: cost.Notifications,
		metric.RequestsPerOp:      cost.Requests,
		metric.WritesPerOp:        cost.Writes,
		metric.FailedWritesPerOp:  cost.FailedWrites,
		metric.HerdMax:            cost.HerdMax,
	} {
		if value := f.AtSize(contenders, size); !math.IsInf(value, 1) {
			costs[name] = results.Cost{Formula: string(f), Value: value}
		}
	}
	return costs
}

// applyMode applies the load. It opens and closes the window of the measurement's stream.
func (m *measurement) applyMode(ctx context.Context) (observation, error) {
	switch {
	case m.scenario.Mode == scenarios.Lockstep:
		return m.applyLockstep(ctx)
	case m.scenario.Operations > 0:
		return m.applyOperations(ctx)
	default: // closed for a duration, or open
		return m.applyDuration(ctx)
	}
}

// observation is the outcome of a load: the counts of the sessions in the window, and the snapshot at rest after it.
type observation struct {
	counts     wire.Counts
	end        snapshot
	unserved   recorder.Unserved
	heap       *results.Heap // nil if the scenario does not ask for it
	examined   block.Examined
	unfinished *results.Unfinished // nil for a load that was finished
	partial    bool                // the load or the run has failed
}

// whole reports whether the load was finished, so that a snapshot follows it.
func (o observation) whole() bool { return o.unfinished == nil && !o.partial }

// observeAtRest returns the outcome of a load whose window begins and ends at rest, with the snapshots.
func (m *measurement) observeAtRest(ctx context.Context) (observation, error) {
	end, err := m.snapshotAtRest(ctx)
	counts := end.client
	counts.Sub(m.first.client)
	return observation{counts: counts, end: end}, err
}
