package scenarios

import (
	"context"
	"fmt"
	"math"
	"slices"
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
	site     site
	patience time.Duration // how long nothing may happen before the recipe is called stuck
	crowd    *crowd
}

// stuckAfter is the patience with a real ensemble: longer than a session timeout, after which a lost client's znodes go.
const stuckAfter = 45 * time.Second

// run measures and fills in the document. Preparing and clearing the site is the caller's business.
func (m *measurement) run(ctx context.Context, d *results.Document) (err error) {
	m.crowd, err = gather(ctx, m.site, m.variant)
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
		Bystander:     slices.DeleteFunc(reads, func(r results.BystanderRead) bool { return o.frozen.contains(r.At) }),
		Waiting:       m.recipe.PhasesWhere(func(p variants.Phase) bool { return p.Waits }),
		PacedPhases:   m.recipe.PhasesWhere(func(p variants.Phase) bool { return p.Paced }),
	}
	for _, p := range m.recipe.Phases {
		if p.Of != "" {
			raw.Shares = append(raw.Shares, results.Share{Phase: p.Name, Of: p.Of})
		}
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
	d.Heap = o.heap
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
		Exact: m.scenario.Mode == Drain || m.site.clients == 1 && m.scenario.Operations > 0,
		Costs: map[string]results.Cost{},
	}
	for name, f := range map[string]variants.Formula{
		results.NotificationsPerOp: cost.Notifications,
		results.RequestsPerOp:      cost.Requests,
		results.WritesPerOp:        cost.Writes,
		results.FailedWritesPerOp:  cost.FailedWrites,
		results.HerdMax:            cost.HerdMax,
	} {
		if f.At == nil {
			continue
		}
		if value := f.At(m.site.clients); !math.IsInf(value, 1) {
			e.Costs[name] = results.Cost{Formula: f.Text, Value: value}
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
	if d.Heap != nil {
		warnOfHeap(d.Heap, warn)
	}
	invalid(h.Reconnects > 0, "%d times a session had to reconnect", h.Reconnects)
	warn(!o.Checked && !h.LeaderChanged, "no second oracle: %s", o.Why)
	d.Warnings = append(d.Warnings, d.Delayed()...)
	warn(len(d.Timeline.Notifications) > 0 && d.Herd.Grouping != results.GroupedByZxid,
		"herds are grouped by %s: these servers do not tell which transaction caused a notification (ZooKeeper before 3.9)", d.Herd.Grouping)
	warn(d.Window.Starves(), "clients starve: many were still waiting when the window ended, for longer than the p99, which leaves them out")
}

// warnOfHeap tells why a heap that was to be measured was not, or what its growth is worth.
func warnOfHeap(h *results.Heap, warn func(cond bool, format string, args ...any)) {
	warn(h.Why != "", "the heaps were not measured: %s", h.Why)
	growth, uncertainty := h.Growth()
	_, told := h.PerWatch()
	warn(h.Why == "" && !told, "the heaps grew by %d bytes for %d watches, which may be off by %d: too little to tell what a watch takes",
		growth, h.Watches, uncertainty)
}
