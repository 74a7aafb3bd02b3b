package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/paired"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/results/turns"
)

const unequalCounts = "exact counts, different"

// row compares one metric. With an obstacle, only exact counts are compared.
func (m match) row(name, obstacle string) Row {
	basePlace, base := m.base.place(name)
	otherPlace, other := m.other.place(name)
	r := Row{
		Scenario: m.base.Scenario, Recipe: m.base.Recipe, Size: m.base.Size, Clients: m.base.Clients, Rate: m.base.Rate,
		Base: basePlace, Other: otherPlace, Metric: name, Unit: metric.Named(name).Unit,
		Ratio: none(), Low: none(), High: none(), Verdict: Unsure, Reason: m.excluded(name),
	}
	if r.Reason != "" {
		r.apart = true
		return r
	}
	if base.Value != 0 {
		r.Ratio = table.Number(other.Value / base.Value)
	}
	exact := metric.Named(name).Exact && !m.any(func(d *results.Document) bool { return !d.CountsExactly() })
	switch {
	case exact:
		r.Verdict, r.Reason = compareCounts(base, other)
	case obstacle != "":
		r.Reason, r.apart = obstacle, true
	case metric.Named(name).Extreme:
		r.Reason = "a maximum rests on a single operation"
	case m.any(func(d *results.Document) bool { return claim.Scarce(d, name) != "" }): // in words without numbers, for many rows
		r.Reason = "a percentile rests on too few samples, or leaves some out"
	default:
		r.comparePairs(turns.InTurns(m.base.docs, m.other.docs))
	}
	return r
}

func none() table.Number { return table.Number(math.NaN()) }

// place returns a group's side of a row. It names the engine, because times of the embedded server do not represent an
// ensemble.
func (g group) place(name string) (Place, metric.Aggregated) {
	engines := list.Distinct(list.Map(g.docs, func(d *results.Document) string { return d.Environment.Engine }))
	p := Place{Side: g.side, Variant: g.Variant, Engine: strings.Join(engines, or), Repeats: len(g.docs), Mark: doubts.Mark(g.docs)}
	a, measured := metric.Aggregate(g.docs)[name]
	if p.Value = table.Number(a.Value); !measured {
		p.Value = none()
	}
	return p, a
}

func (g group) has(metric string) int {
	return len(list.Where(g.docs, func(d *results.Document) bool { _, ok := d.Metrics[metric]; return ok }))
}

func (m match) any(is func(*results.Document) bool) bool {
	return slices.ContainsFunc(m.documents(), is)
}

// excluded returns why two values cannot be compared; empty if they can. Values of an unfinished measurement can be.
func (m match) excluded(name string) string {
	base, other := m.base.has(name), m.other.has(name)
	switch {
	case m.any(func(d *results.Document) bool { return d.Partial }):
		return "a PARTIAL measurement was interrupted"
	case !slices.Contains([]string{"", doubts.UnfinishedMark, doubts.DeviatesMark}, doubts.Mark(m.documents())):
		return "BROKEN or INVALID numbers must not be used, `zkbench report` says why"
	case base == 0:
		return "not measured in the base"
	case other == 0:
		return "measured in the base only"
	case base < len(m.base.docs) || other < len(m.other.docs):
		return "not measured in every repeat"
	case m.any(func(d *results.Document) bool { return metric.Guessed(d, name) }):
		return "the servers do not say which notifications have the same cause"
	case m.any(func(d *results.Document) bool { return metric.AtLeast(d, name) }):
		return "a lower bound: the load ended before a recovery"
	default:
		return ""
	}
}

func compareCounts(base, other metric.Aggregated) (Verdict, string) {
	switch {
	case base.Min != base.Max:
		return Unsure, "exact counts, but the repeats of the base disagree"
	case other.Min != other.Max:
		return Unsure, "exact counts, but the repeats of the other side disagree"
	case base.Min < other.Min:
		return Worse, unequalCounts
	case base.Min > other.Min:
		return Better, unequalCounts
	default:
		return Same, "exact counts, equal"
	}
}

func (r *Row) comparePairs(pairs turns.Pairs) {
	if len(pairs) == 0 {
		r.Reason = "not measured in turns"
		return
	}
	ratios, doubt := pairs.LogRatios(r.Metric)
	if doubt != nil {
		if r.Reason = doubt.Why; doubt.Why == turns.NoRatio {
			r.Ratio = none()
		}
		return
	}
	e, err := paired.Summarize(ratios)
	if err != nil {
		r.Ratio, r.Reason = none(), err.Error()
		return
	}
	r.Pairs = e.Pairs
	r.Ratio, r.Low, r.High = e.Median, e.Low, e.High
	if metric.Named(r.Metric).MoreIsBetter() { // the estimate says how much worse the other side is
		r.Ratio, r.Low, r.High = 1/e.Median, 1/e.High, 1/e.Low
	}
	r.Verdict, r.Reason = decide(e, r.Metric)
}

// decide claims a difference only if the interval excludes 1 and the median is on the same side of 1. The two can disagree if
// many pairs differ a little one way and some a lot the other way.
func decide(e paired.Estimate, name string) (Verdict, string) {
	needed := paired.PairsNeeded(0.025) // for each end of the interval
	switch {
	case e.Pairs < needed:
		return Unsure, fmt.Sprintf("%d %s, at least %d are needed", e.Pairs, table.Plural(e.Pairs, "pair"), needed)
	case !metric.Named(name).HasDirection():
		return Unsure, "neither more nor less of it is better"
	case e.Low > 1 && e.Median > 1:
		return Worse, "1 is outside of the 95 % interval"
	case e.High < 1 && e.Median < 1:
		return Better, "1 is outside of the 95 % interval"
	case e.Low > 1 || e.High < 1:
		return Unsure, "the median and the 95 % interval disagree"
	default:
		return Unsure, "1 is within the 95 % interval"
	}
}
