package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
)

// measurement is one variant under one number of clients in one repeat.
type measurement struct {
	ensemble   ensemble.Ensemble
	version    string // of ZooKeeper
	scenario   scenarios.Scenario
	mode       mode
	recipe     variants.Recipe
	variant    variants.Variant
	setting    setting
	patience   time.Duration // the longest time without progress, after which the load fails with ErrStuck
	faults     *failing      // nil without a schedule of faults
	tick       time.Duration // of the servers, which look for sessions that have run out once a tick
	atMost     time.Duration // after which clients begin no further operation; 0 means never
	done       atomic.Int64  // the operations that clients have completed, those of a warm-up left out
	held       atomic.Int64  // how often clients of a closed load have begun to hold
	floor      *floorMeter   // nil in a rehearsal
	background *background   // nil without one
	first      snapshot      // before the load
	pool       *clientPool
	stream     *stream
	arrivals   *arrivals           // nil unless the load is open
	nap        func(time.Duration) // see arrivals; nil means [sleepPrecisely]
	onlooker   *variants.Session   // the run's own, which takes no part
	vitals     vitals              // before the load
	granted    time.Duration       // the session timeout
	breached   *breached           // nil unless a breach of the promise has ended the load

	keepsPart bool  // see scenarioRun.keepsPart
	part      *part // nil until the window of a load of a duration has ended

	live func(Live) // nil if nothing is shown
	what Measured   // for live
	next string     // describes the measurement after this one, for live
}

// stuckAfter is the patience of a measurement. It is longer than a session timeout: when a lost client's ephemeral znodes are
// removed, others may go on.
const stuckAfter = 45 * time.Second

// run measures and fills in the document. The caller creates and removes the znodes. If the load fails, the document is partial, or
// holds only the violations of the recipe's promise until then.
func (m *measurement) run(ctx context.Context, d *results.Document) (err error) {
	m.setting.tunnelled = d.Scenario.Tunnelled
	if m.setting.driver, d.Driver, err = startDriver(ctx, m.recipe, m.variant); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDriver(m.setting.driver)) }()
	if m.pool, err = connectAll(ctx, m.setting, m.variant); err != nil {
		return err
	}
	defer func() { m.pool.closeAll(context.WithoutCancel(ctx)) }()
	if err := m.pool.refresh(ctx); err != nil {
		return fmt.Errorf("bring the participants up to date: %w", err)
	}
	if m.floor != nil {
		defer func() { m.floor.close(context.WithoutCancel(ctx)) }()
		m.floor.before(ctx, m.setting.servers)
	}
	record := recorder.New(m.recorderConfig())
	o, err := m.load(ctx, record)
	if err == nil {
		err = m.countOrphans(ctx, record)
	}
	if err != nil {
		return errors.Join(err, m.closePartial(d, record))
	}
	facts := m.facts(o)
	d.Unfinished = o.unfinished
	if d.Connect, err = m.pool.connection(); err != nil {
		return err
	}
	if facts.Background, err = m.background.report(); err != nil {
		return err
	}
	if m.floor != nil && o.unfinished == nil {
		facts.Floor = m.floorAfter(ctx)
	}
	if err := record.Close(d, facts); err != nil {
		return err
	}
	d.Warnings = append(d.Warnings, m.faults.warnings()...)
	return nil
}

// floorAfter measures the second half of the floor, unless the servers still answer a background that was too much for them.
func (m *measurement) floorAfter(ctx context.Context) *results.Floor {
	if m.background.saturates() {
		m.floor.floor.Why = errSaturated.Error()
		return &m.floor.floor
	}
	if faults.OfServers(m.scenario.Faults) {
		m.floor.renew(ctx, m.setting.servers)
	}
	m.floor.after(ctx)
	return &m.floor.floor
}

// load applies the load while bystanders read and the background is on, and streams everything that the clients record to the
// recorder. If the background saturates the ensemble, the clients do nothing.
func (m *measurement) load(ctx context.Context, record *recorder.Recorder) (observation, error) {
	if err := m.background.open(ctx, m.pool.epoch, m.setting.servers); err != nil {
		return observation{}, err
	}
	defer m.background.close()
	bystanders := &bystanders{epoch: m.pool.epoch, path: m.setting.bystander, rate: m.scenario.BystanderRate}
	if err := bystanders.start(ctx, m.setting.servers); err != nil {
		return observation{}, err
	}
	m.stream = newStream(m.pool, m.recipe, record, m.damage(record))
	m.stream.bystanders, m.stream.background = bystanders, m.background
	if m.isOpen() {
		m.arrivals = newArrivals(m.pool.epoch, m.setting.clients)
		if m.nap != nil {
			m.arrivals.nap = m.nap
		}
		m.stream.arrivals = m.arrivals
	}
	m.stream.start()
	stopLive := m.showLive()
	m.vitals, m.granted = takeVitals(), m.pool.clients[0].ledger.SessionTimeout()
	o, err := m.apply(ctx)
	stopLive()
	if m.background.saturates() {
		o, err = m.unloaded(), nil
	}
	err = errors.Join(err, m.faults.finish(ctx), m.drainUnfinished(ctx, o)) // in this order: servers that are paused answer nothing
	o.health = takeVitals().since(m.vitals)
	m.background.close()
	bystanders.finish()
	m.stream.finish(err == nil && o.unfinished == nil && !m.background.saturates())
	if err != nil {
		return observation{}, err
	}
	m.pool.examine(&o)
	return o, bystanders.examine(&o.health)
}

// unloaded returns the observation of a load that was not applied. Its window is empty.
func (m *measurement) unloaded() observation {
	m.stream.openWindow()
	m.stream.closeWindow()
	return observation{begin: m.first, end: m.first}
}

func (m *measurement) recorderConfig() recorder.Config {
	return recorder.Config{
		Phase:         m.recipe.Phases[0].Name,
		Operation:     m.recipe.Operation,
		Waiting:       m.recipe.PhasesWhere(func(p variants.Phase) bool { return p.Waits }),
		Collective:    m.recipe.Collective,
		Series:        m.recipe.SizeIsBatch && m.scenario.Size > 1,
		Version:       m.version,
		Clients:       m.setting.clients,
		Open:          m.isOpen(),
		WindowLength:  m.scenario.Duration,
		Stages:        stageLengths(m.scenario.Stages),
		Faulty:        m.faults != nil,
		Losses:        lossNames(m.losses(), func(variants.Loss) bool { return true }),
		LongestLosses: lossNames(m.recipe.Losses, variants.Loss.IsLongest),
	}
}

// lossNames returns the names of some losses.
func lossNames(losses []variants.Loss, wanted func(variants.Loss) bool) []string {
	var names []string
	for _, l := range losses {
		if wanted(l) {
			names = append(names, string(l))
		}
	}
	return names
}

// losses returns the losses that are counted: with faults those of the recipe, and otherwise those that the variant does not
// promise to avoid even then.
func (m *measurement) losses() []variants.Loss {
	if m.faults == nil {
		return m.variant.ForgoesAlways
	}
	return m.recipe.Losses
}

// damage returns the function that receives each damage that the observer finds. It counts the damage, and reports a violation if the
// variant promises that it does not happen. Without any loss to count it returns nil, so that all damage is a violation.
func (m *measurement) damage(record *recorder.Recorder) func(variants.Damage) {
	counted, forgone := m.losses(), m.variant.Forgone
	if m.faults == nil {
		forgone = m.variant.ForgoneAlways
	}
	if m.faults == nil && len(counted) == 0 {
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

// countOrphans counts the znodes that no client will remove. It lets all clients leave first.
func (m *measurement) countOrphans(ctx context.Context, record *recorder.Recorder) error {
	if m.faults == nil || m.recipe.Orphans == nil || m.background.saturates() {
		return nil
	}
	m.pool.closeAll(context.WithoutCancel(ctx))
	n, err := m.recipe.Orphans(ctx, variants.Env{Clients: m.setting.clients, Size: m.setting.size, Root: m.setting.root, Session: m.onlooker})
	if err != nil {
		return fmt.Errorf("count the orphans: %w", err)
	}
	if n > 0 {
		text := fmt.Sprintf("%d znodes are left that no client will remove", n)
		m.damage(record)(variants.Damage{Loss: variants.Orphans, Amount: n, Violation: variants.Violation{At: m.pool.since(), Text: text}})
	}
	return nil
}

// oracle compares the clients' counts with the servers'. Where servers fail by a schedule, it leaves that out: the leader may make
// a transaction of a request that it got before it was paused, and of the end of the session that sent it.
func (m *measurement) oracle(o observation) results.Oracle {
	if m.background.saturates() {
		return results.Oracle{Why: "no load was applied"}
	}
	if !o.whole() {
		return m.uncheckedOracle()
	}
	out := crossCheck(m.ensemble.Owned(), o.begin, o.end)
	if out.Checked && faults.OfServers(m.scenario.Faults) {
		out.Checked, out.Why = false, "servers failed, and did with requests under way what no client can know"
		out.ServerNotifications, out.ServerTransactions = 0, 0
	}
	return out
}

// facts returns the part of the result that does not come from events: counts, health, and the servers' accounts.
func (m *measurement) facts(o observation) recorder.Facts {
	return recorder.Facts{
		Counts:         scenarios.CountsOf(o.counts),
		Heap:           o.heap,
		Health:         o.health,
		Oracle:         m.oracle(o),
		Servers:        reportServers(o.begin.servers, o.end.servers),
		Costs:          m.costs(),
		GivenUp:        o.givenUp,
		Unserved:       o.unserved,
		SessionTimeout: m.granted,
	}
}

// examine adds reconnects, lost sessions and changes of the leader to the health of an observation.
func (p *clientPool) examine(o *observation) {
	h := &o.health
	h.Reconnects = p.reconnects()
	for _, c := range p.clients {
		h.UnmatchedReplies += c.unmatched()
		life := c.present()
		h.SessionsLost += life.number
		if life.over() {
			h.SessionsLost++
		}
	}
	h.LeaderChanged = o.whole() && (o.begin.leader != o.end.leader || o.begin.leader == 0)
}

// contenders returns what N in the formulas is: the number of participants.
func (m *measurement) contenders() int {
	if m.recipe.Threaded {
		return m.setting.clients * max(m.setting.size, 1)
	}
	return m.setting.clients
}

// costs returns the variant's formulas with their values for this measurement's number of clients and size, by metric.
func (m *measurement) costs() map[string]results.Cost {
	cost := m.mode.cost(m.variant)
	costs := map[string]results.Cost{}
	if m.background.saturates() { // no load was applied
		return costs
	}
	for name, f := range map[string]variants.Formula{
		metric.NotificationsPerOp: cost.Notifications,
		metric.RequestsPerOp:      cost.Requests,
		metric.WritesPerOp:        cost.Writes,
		metric.FailedWritesPerOp:  cost.FailedWrites,
		metric.HerdMax:            cost.HerdMax,
	} {
		if value := f.AtSize(m.contenders(), max(m.setting.size, 1)); !math.IsInf(value, 1) {
			costs[name] = results.Cost{Formula: string(f), Value: value}
		}
	}
	return costs
}
