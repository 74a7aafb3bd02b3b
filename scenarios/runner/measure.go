package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
)

// measurement is one variant under one number of clients in one repeat.
type measurement struct {
	ensemble ensemble.Ensemble
	version  string // of ZooKeeper
	scenario scenarios.Scenario
	mode     mode
	recipe   variants.Recipe
	variant  variants.Variant
	setting  setting
	patience time.Duration    // the longest time without progress, after which the load fails with ErrStuck
	ticks    <-chan time.Time // when watchProgress looks; nil means once in each patience
	faults   *failing         // nil without a schedule of faults
	tick     time.Duration    // of the servers, which look for sessions that have run out once a tick
	atMost   time.Duration    // after which a load of counted operations is cut short; 0 means never
	floor    *floorMeter      // nil in a rehearsal
	pool     *clientPool
	stream   *stream
	onlooker *variants.Session // the run's own, which takes no part
}

// stuckAfter is the patience of a measurement. It is longer than a session timeout: when a lost client's ephemeral znodes are
// removed, others may go on.
const stuckAfter = 45 * time.Second

// run measures and fills in the document. The caller creates and removes the znodes. If the load fails, the document holds
// only the violations of the recipe's promise until then.
func (m *measurement) run(ctx context.Context, d *results.Document) (err error) {
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
	if err != nil {
		record.CloseFailed(d)
		return err
	}
	if err := m.countOrphans(ctx, record); err != nil {
		return err
	}
	facts := m.facts(o)
	if m.floor != nil {
		if faults.OfServers(m.scenario.Faults) {
			m.floor.renew(ctx, m.setting.servers)
		}
		m.floor.after(ctx)
		facts.Floor = &m.floor.floor
	}
	if err := record.Close(d, facts); err != nil {
		return err
	}
	d.Warnings = append(d.Warnings, m.faults.warnings()...)
	return nil
}

// load applies the load while bystanders read, and streams everything that the clients record to the recorder.
func (m *measurement) load(ctx context.Context, record *recorder.Recorder) (observation, error) {
	bystanders := &bystanders{epoch: m.pool.epoch, path: m.setting.bystander, rate: m.scenario.BystanderRate}
	if err := bystanders.start(ctx, m.setting.servers); err != nil {
		return observation{}, err
	}
	m.stream = newStream(m.pool, m.recipe, record, m.damage(record))
	m.stream.bystanders = bystanders
	m.stream.start()
	before := takeVitals()
	o, err := m.mode.run(ctx, m)
	err = errors.Join(err, m.faults.finish(ctx))
	o.health = takeVitals().since(before)
	bystanders.finish()
	m.stream.finish(err == nil)
	if err != nil {
		return observation{}, err
	}
	m.pool.examine(&o)
	return o, bystanders.examine(&o.health)
}

func (m *measurement) recorderConfig() recorder.Config {
	return recorder.Config{
		Operation:     m.recipe.Operation,
		Waiting:       m.recipe.PhasesWhere(func(p variants.Phase) bool { return p.Waits }),
		Collective:    m.recipe.Collective,
		Version:       m.version,
		Clients:       m.setting.clients,
		Lockstep:      m.mode.lockstep(),
		WindowLength:  time.Duration(m.scenario.Duration),
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
	if m.faults == nil || m.recipe.Orphans == nil {
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
		Counts:         countsOf(o.counts),
		Heap:           o.heap,
		Health:         o.health,
		Oracle:         m.oracle(o),
		Servers:        reportServers(o.begin.servers, o.end.servers),
		Costs:          m.costs(),
		SessionTimeout: m.pool.clients[0].ledger.SessionTimeout(),
	}
}

// examine adds reconnects, lost sessions and changes of the leader to the health of an observation.
func (p *clientPool) examine(o *observation) {
	h := &o.health
	h.Reconnects = p.reconnects()
	for _, c := range p.clients {
		h.UnmatchedReplies += c.former.unmatched + c.ledger.Unmatched()
		h.SessionsLost += c.number
		if c.present().over() {
			h.SessionsLost++
		}
	}
	h.LeaderChanged = o.begin.leader != o.end.leader || o.begin.leader == 0
}

// countsOf returns the counts by the names of operations. The recorder adds the notifications, which it also needs with their
// times.
func countsOf(c wire.Counts) results.Counts {
	out := results.Counts{
		Requests:      map[string]int64{},
		Failed:        map[string]int64{},
		TotalRequests: c.TotalRequests(),
		BytesOut:      c.BytesOut,
		BytesIn:       c.BytesIn,
		Housekeeping:  c.Housekeeping,
	}
	out.Writes, out.FailedWrites = c.Writes()
	for op, n := range c.Requests {
		if n > 0 {
			out.Requests[wire.Opcode(op).String()] += n
		}
		if failed := c.Failed[op]; failed > 0 {
			out.TotalFailed += failed
			out.Failed[wire.Opcode(op).String()] += failed
		}
	}
	return out
}

// costs returns the variant's formulas with their values for this measurement's number of clients, by metric.
func (m *measurement) costs() map[string]results.Cost {
	cost := m.mode.cost(m.variant)
	costs := map[string]results.Cost{}
	for name, f := range map[string]variants.Formula{
		results.NotificationsPerOp: cost.Notifications,
		results.RequestsPerOp:      cost.Requests,
		results.WritesPerOp:        cost.Writes,
		results.FailedWritesPerOp:  cost.FailedWrites,
		results.HerdMax:            cost.HerdMax,
	} {
		if value := f.At(m.setting.clients); !math.IsInf(value, 1) {
			costs[name] = results.Cost{Formula: string(f), Value: value}
		}
	}
	return costs
}
