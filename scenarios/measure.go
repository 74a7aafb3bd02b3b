package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants"
)

// measurement is one variant under one number of clients, once.
type measurement struct {
	ensemble ensemble.Ensemble
	scenario Scenario
	recipe   variants.Recipe
	variant  variants.Variant
	clients  int
	site     site
	patience time.Duration // how long nothing may happen before the recipe is called stuck
	crowd    *crowd
}

// stuckAfter is the patience with a real ensemble: longer than a session timeout, after which a lost client's znodes go.
const stuckAfter = 45 * time.Second

// run measures and fills in the document. Preparing and clearing the site is the caller's business.
func (m *measurement) run(ctx context.Context, d *results.Document) (err error) {
	m.crowd, err = gather(ctx, m.site, m.variant, m.clients)
	if err != nil {
		return err
	}
	defer func() { m.crowd.disperse(context.WithoutCancel(ctx)) }()
	bystanders := bystanders{epoch: m.crowd.epoch, path: m.site.bystander, rate: m.scenario.BystanderRate}
	if err := bystanders.start(ctx, m.site.servers); err != nil {
		return err
	}
	before := takeVitals()
	o, err := m.load(ctx)
	health := takeVitals().since(before)
	bystanders.finish()
	if err != nil {
		return err
	}
	lateness, err := results.NewHistogram(bystanders.late)
	if err != nil {
		return err
	}
	health.LatenessP99, health.BystanderErrors = p99(lateness), bystanders.failed
	d.Health = m.crowd.examine(health, o)
	return m.report(d, o, bystanders.reads)
}

func p99(h results.Histogram) time.Duration {
	decoded, err := h.Decode()
	if err != nil {
		return 0
	}
	return time.Duration(decoded.ValueAtPercentile(99))
}

func (m *measurement) load(ctx context.Context) (observation, error) {
	switch {
	case m.scenario.Mode == Drain:
		return m.runDrain(ctx)
	case m.scenario.Operations > 0:
		return m.runOperations(ctx)
	default:
		return m.runDuration(ctx)
	}
}

// examine adds to the health what the sessions know.
func (c *crowd) examine(h results.Health, o observation) results.Health {
	for _, m := range c.members {
		h.Reconnects += m.ledger.Reconnects()
		h.UnmatchedReplies += m.ledger.Unmatched()
		select {
		case <-m.monitor.Lost():
			h.SessionsLost++
		default:
		}
	}
	h.LeaderChanged = o.begin.leader != o.rest.leader || o.begin.leader == 0
	return h
}

// report turns what was observed into the document.
func (m *measurement) report(d *results.Document, o observation, reads []results.BystanderRead) error {
	d.Environment.SessionTimeout = m.crowd.members[0].ledger.SessionTimeout()
	history := m.crowd.history()
	raw := results.Raw{
		Window:        results.Window{Start: o.start, End: o.end, Paced: m.scenario.Mode == Drain},
		Notifications: m.crowd.notifications(),
		Bystander:     reads,
		Waiting:       m.recipe.Waiting,
		PacedPhases:   m.recipe.PacedPhases,
	}
	for _, s := range m.recipe.Spans(history) {
		raw.Samples = append(raw.Samples, results.Sample{Phase: s.Phase, Client: s.Client, Start: s.Start, End: s.End})
		if s.Phase == m.recipe.Operation && raw.Window.Contains(s.End) {
			raw.Window.Operations++
		}
	}
	for _, v := range m.recipe.Check(history) {
		d.Violations = append(d.Violations, results.Violation{At: v.At, Text: v.Text})
	}
	d.Counts = countsOf(o.counts)
	d.Expected = m.expected()
	d.Oracle = consult(m.ensemble.Owned(), o.begin, o.rest)
	if err := d.Observe(raw); err != nil {
		return err
	}
	d.CompareWithFormulas()
	judge(d)
	return nil
}

// countsOf names what the wire counted; notifications are added from the ledgers' entries, which have times.
func countsOf(c wire.Counts) results.Counts {
	out := results.Counts{
		Requests:      map[string]int64{},
		Failed:        map[string]int64{},
		TotalRequests: c.TotalRequests(),
		BytesOut:      c.BytesOut,
		BytesIn:       c.BytesIn,
		Upkeep:        c.Upkeep,
	}
	out.Writes, out.FailedWrites = c.Writes()
	for op, n := range c.Requests {
		if n > 0 {
			out.Requests[wire.Opcode(op).String()] += n
		}
		if failed := c.Failed[op]; failed > 0 {
			out.Failed[wire.Opcode(op).String()] += failed
		}
	}
	return out
}

// expected returns what the variant's formulas say of this measurement. They are exact where nothing can coalesce: in
// steps, or for a client that is alone and counted in whole operations.
func (m *measurement) expected() results.Expected {
	cost := m.variant.Free
	if m.scenario.Mode == Drain {
		cost = m.variant.Stepped
	}
	e := results.Expected{
		Exact: m.scenario.Mode == Drain || m.clients == 1 && m.scenario.Operations > 0,
		Costs: map[string]results.Cost{},
	}
	for name, f := range map[string]variants.Formula{
		results.NotificationsPerOp: cost.Notifications,
		results.RequestsPerOp:      cost.Requests,
		results.WritesPerOp:        cost.Writes,
		results.FailedWritesPerOp:  cost.FailedWrites,
		results.HerdMax:            cost.HerdMax,
	} {
		if f.At != nil {
			e.Costs[name] = results.Cost{Formula: f.Text, Value: f.At(m.clients)}
		}
	}
	return e
}

// judge adds the reasons why the numbers are void, and those to doubt them.
func judge(d *results.Document) {
	invalid := func(cond bool, format string, args ...any) {
		if cond {
			d.Invalid = append(d.Invalid, fmt.Sprintf(format, args...))
		}
	}
	warn := func(cond bool, format string, args ...any) {
		if cond {
			d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
		}
	}
	h, o := d.Health, d.Oracle
	invalid(d.Window.Operations == 0, "no operation was completed in the window: lengthen the duration")
	invalid(o.Checked && o.ClientNotifications != o.ServerNotifications,
		"clients received %d notifications, servers sent %d: %+d", o.ClientNotifications, o.ServerNotifications, o.ClientNotifications-o.ServerNotifications)
	invalid(o.Checked && o.ClientWrites != o.ServerTransactions,
		"clients sent %d writes, servers made %d transactions: %+d", o.ClientWrites, o.ServerTransactions, o.ClientWrites-o.ServerTransactions)
	invalid(h.SessionsLost > 0, "%d sessions were lost", h.SessionsLost)
	invalid(h.UnmatchedReplies > 0, "the wire decoder could not match %d replies with requests", h.UnmatchedReplies)
	invalid(h.BystanderErrors > 0, "%d reads by bystanders failed", h.BystanderErrors)
	invalid(h.LeaderChanged, "the leader changed, or there was none")
	invalid(h.Reconnects > 0, "%d times a session had to reconnect", h.Reconnects)
	warn(!o.Checked && !h.LeaderChanged, "no second oracle: %s", o.Why)
	warn(h.ClientCPU > clientCPUMark, "zkbench itself used over %.0f%% of the CPUs", 100*clientCPUMark)
	warn(h.MachineCPU > machineCPUMark, "the machine's CPUs were over %.0f%% busy: latencies include waiting for a CPU", 100*machineCPUMark)
	warn(h.Throttled > 0, "the control group was out of CPU")
	warn(float64(h.SchedulerP99) > latenessMark*d.Metrics["bystander-p99-ns"].Value,
		"over %.0f%% of the bystanders' p99 may be scheduling delay within zkbench, which all latencies contain", 100*latenessMark)
	warn(float64(h.LatenessP99) > latenessMark*d.Metrics["bystander-p99-ns"].Value,
		"over %.0f%% of the bystanders' p99 is zkbench's own lateness", 100*latenessMark)
	warn(len(d.Timeline.Notifications) > 0 && d.Herd.Grouping != results.GroupedByZxid,
		"herds are grouped by %s: these servers do not tell which transaction caused a notification (ZooKeeper before 3.9)", d.Herd.Grouping)
	warn(d.Window.Starves(), "clients starve: many were still waiting when the window ended, for longer than the p99, which leaves them out")
}
