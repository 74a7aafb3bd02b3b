package runner

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
)

// measurement is one variant under one number of clients, once.
type measurement struct {
	ensemble ensemble.Ensemble
	scenario scenarios.Scenario
	recipe   variants.Recipe
	variant  variants.Variant
	site     site
	patience time.Duration    // how long nothing may happen before the recipe is called stuck
	ticks    <-chan time.Time // for watchProgress; nil means one in each patience
	atMost   time.Duration    // after which a load of counted operations is cut short; 0 means never
	floor    *floorMeter      // nil in a rehearsal
	crowd    *crowd
}

// stuckAfter is the patience with a real ensemble: longer than a session timeout, after which a lost client's znodes go.
const stuckAfter = 45 * time.Second

// run measures and fills in the document. Preparing and clearing the site is the caller's business. If the load fails, the
// document holds nothing but how the promise was broken until then.
func (m *measurement) run(ctx context.Context, d *results.Document) (err error) {
	m.crowd, err = gather(ctx, m.site, m.variant)
	if err != nil {
		return err
	}
	defer func() { m.crowd.disperse(context.WithoutCancel(ctx)) }()
	if err := m.crowd.refresh(ctx); err != nil {
		return fmt.Errorf("bring the participants up to date: %w", err)
	}
	if m.floor != nil {
		defer func() { m.floor.close(context.WithoutCancel(ctx)) }()
		m.floor.before(ctx, m.site.servers)
	}
	bystanders := bystanders{epoch: m.crowd.epoch, path: m.site.bystander, rate: m.scenario.BystanderRate}
	if err := bystanders.start(ctx, m.site.servers); err != nil {
		return err
	}
	before := takeVitals()
	o, err := m.load(ctx)
	health := takeVitals().since(before)
	bystanders.finish()
	if err != nil {
		d.Violations = m.violations()
		return err
	}
	if m.floor != nil {
		m.floor.after(ctx)
		d.Floor = &m.floor.floor
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
	case m.scenario.Mode == scenarios.Lockstep:
		return m.runDrain(ctx)
	case m.scenario.Operations > 0:
		return m.runOperations(ctx)
	default:
		return m.runDuration(ctx)
	}
}

// examine adds to the health what the sessions know.
func (c *crowd) examine(h results.Health, o observation) results.Health {
	h.Reconnects = c.reconnects()
	for _, m := range c.members {
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
	return m.replay(d, o, reads).Close(d, recorder.Facts{
		Counts:         countsOf(o.counts),
		Heap:           o.heap,
		Floor:          d.Floor,
		Health:         d.Health,
		Oracle:         consult(m.ensemble.Owned(), o.begin, o.rest),
		Servers:        reportServers(o.begin.servers, o.rest.servers),
		Costs:          m.costs(),
		SessionTimeout: m.crowd.members[0].ledger.SessionTimeout(),
	})
}

// violations returns how the promise has been broken until now.
func (m *measurement) violations() []results.Violation {
	found := []results.Violation{}
	observer := m.recipe.NewObserver(variants.Findings{
		Span:      func(variants.Span) {},
		Violation: func(v variants.Violation) { found = append(found, results.Violation{At: v.At, Text: v.Text}) },
	})
	for _, e := range m.crowd.history() {
		observer.Observe(e)
	}
	return found
}

// countsOf names what the wire counted; notifications are added from the ledgers' entries, which have times.
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

// costs returns what the variant's formulas say of this measurement.
func (m *measurement) costs() map[string]results.Cost {
	cost := m.variant.Free
	if m.scenario.Mode == scenarios.Lockstep {
		cost = m.variant.Lockstep
	}
	costs := map[string]results.Cost{}
	for name, f := range map[string]variants.Formula{
		results.NotificationsPerOp: cost.Notifications,
		results.RequestsPerOp:      cost.Requests,
		results.WritesPerOp:        cost.Writes,
		results.FailedWritesPerOp:  cost.FailedWrites,
		results.HerdMax:            cost.HerdMax,
	} {
		if value := f.At(m.site.clients); !math.IsInf(value, 1) {
			costs[name] = results.Cost{Formula: string(f), Value: value}
		}
	}
	return costs
}
