package compare

import (
	"fmt"
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
const rangesNeeded = 3 // repeats of each side of a count

// row compares one metric. With an obstacle, only exact counts are compared.
func (m match) row(name, obstacle string) Row {
	basePlace, base := m.base.place(name)
	otherPlace, other := m.other.place(name)
	r := Row{
		Scenario: m.base.Scenario, Recipe: m.base.Recipe, Size: m.base.Size, Clients: m.base.Clients, Rate: m.base.Rate,
		Base: basePlace, Other: otherPlace, Metric: name, Unit: metric.Named(name).Unit,
		Estimate: noEstimate(), Verdict: Undecided, Reason: m.excluded(name),
	}
	if r.Reason != "" {
		r.apart = true
		return r
	}
	r.Estimate = ofValues(base, other)
	exact := metric.Named(name).Exact && !m.any(func(d *results.Document) bool { return !d.CountsExactly() })
	switch {
	case exact:
		r.Verdict, r.Reason = compareCounts(base, other)
	case obstacle != "":
		r.Reason, r.apart = obstacle, true
	case metric.Named(name).Extreme:
		r.Reason = "a maximum rests on a single operation: compare a percentile"
	case m.any(func(d *results.Document) bool { return claim.Scarce(d, name) != "" }): // in words without numbers, for many rows
		r.Reason = "a percentile rests on too few samples, or leaves some out: lengthen --duration"
	default:
		pairs := turns.InTurns(m.base.docs, m.other.docs)
		r.comparePairs(pairs)
		if metric.Named(name).Exact && !m.any(func(d *results.Document) bool { return turns.Unfit(d, name) != "" }) {
			r.compareRanges(base, other, len(pairs) > 0)
		}
	}
	return r
}

// place returns a group's side of a row. It names the engine, because times of the embedded server are not those of an ensemble.
func (g group) place(name string) (Place, metric.Aggregated) {
	engines := list.Distinct(list.Map(g.docs, func(d *results.Document) string { return d.Environment.Engine }))
	p := Place{Side: g.side, Variant: g.Variant, Engine: strings.Join(engines, or), Repeats: len(g.docs), Mark: doubts.Mark(g.docs)}
	a := metric.Aggregate(g.docs)[name]
	if p.Value = table.Number(a.Value); g.has(name) == 0 {
		p.Value = missing()
	}
	return p, a
}

// has returns the number of documents with a metric. Each has the counts of all operations, but lists only those that were used.
func (g group) has(name string) int {
	if metric.Named(name).Operation != "" {
		return len(g.docs)
	}
	return len(list.Where(g.docs, func(d *results.Document) bool { _, ok := d.Metrics[name]; return ok }))
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
		return claim.HerdsAreGuessed
	case m.any(func(d *results.Document) bool { return metric.AtLeast(d, name) }):
		return "a lower bound: the load ended before a recovery"
	default:
		return ""
	}
}

func compareCounts(base, other metric.Aggregated) (Verdict, string) {
	verdict := separated(base, other)
	switch {
	case verdict != Undecided:
		return verdict, unequalCounts
	case base.Min != base.Max || other.Min != other.Max:
		return Undecided, "exact counts, but repeats of one side disagree: `zkbench report` shows them"
	default:
		return Same, "exact counts, equal"
	}
}

// separated returns Undecided if the repeats of the two sides overlap. All counts are costs, of which more is worse.
func separated(base, other metric.Aggregated) Verdict {
	switch {
	case base.Max < other.Min:
		return Worse
	case base.Min > other.Max:
		return Better
	default:
		return Undecided
	}
}

// compareRanges decides a count of a free load: if all repeats are equal, and, where pairs do not decide, if no repeat of one side
// reaches those of the other. Without turns, drift may be why, unless the gap between the sides is more than twice the range of each: two
// runs of one build were seen to differ by the range. What the edges of the window add is not in the digits that are shown.
func (r *Row) compareRanges(base, other metric.Aggregated, inTurns bool) {
	show, n, m := metric.Named(r.Metric).Format, r.Base.Repeats, r.Other.Repeats
	verdict := separated(base, other)
	switch {
	case show(base.Min) == show(other.Max) && show(base.Max) == show(other.Min):
		r.Verdict, r.Reason = NotShown, "all repeats are equal, in the digits shown"
	case verdict == Undecided || r.Verdict.Claimed() || min(n, m) < rangesNeeded:
	case inTurns:
		chance := 2.0 // of two sides that do not differ: each order of n+m repeats is equally likely
		for i := 1; i <= n; i++ {
			chance *= float64(i) / float64(m+i)
		}
		r.Verdict = verdict
		r.Reason = fmt.Sprintf("the repeats do not overlap, as those of equal sides do with a probability of %.2g", chance)
	case show(max(base.Min, other.Min)) == show(min(base.Max, other.Max)): // the ends that face each other
	case max(base.Min, other.Min)-min(base.Max, other.Max) > 2*max(base.Max-base.Min, other.Max-other.Min):
		r.Verdict, r.Reason = verdict, "the sides are more than twice as far apart as the repeats of each"
	}
}

func (r *Row) comparePairs(pairs turns.Pairs) {
	if len(pairs) == 0 {
		needed := pairsNeeded()
		if metric.Named(r.Metric).Exact {
			needed = rangesNeeded
		}
		r.Reason = fmt.Sprintf("not measured in turns: alternate %d runs of each side", needed)
		return
	}
	ratios, doubt := pairs.LogRatios(r.Metric, 0)
	if doubt != nil {
		if r.Reason = doubt.Why; doubt.Why == turns.NoRatio {
			r.Estimate = noEstimate()
		}
		return
	}
	e, err := paired.Summarize(ratios)
	if err != nil {
		r.Estimate, r.Reason = noEstimate(), err.Error()
		return
	}
	r.Estimate = ofPairs(e, ratios)
	if metric.Named(r.Metric).MoreIsBetter() { // the estimate says how much worse the other side is
		r.Estimate = r.inverse()
	}
	if e.Pairs >= pairsNeeded() {
		r.Verdict, r.Reason = decide(e, r.Metric)
		return
	}
	remedy := "run with --repeats %d"
	if r.Base.Side != r.Other.Side {
		remedy = "alternate %d runs of each side"
	}
	r.Reason = fmt.Sprintf("%d %s, too few: "+remedy, e.Pairs, table.Plural(e.Pairs, "pair"), pairsNeeded())
}

func pairsNeeded() int { return paired.PairsNeeded(0.025) } // for each end of the interval

// decide claims a difference only if the interval excludes 1 and the median is on the same side of 1. The two can disagree if
// many pairs differ a little one way and some a lot the other way.
func decide(e paired.Estimate, name string) (Verdict, string) {
	const outside = "1 is outside of the 95 % interval"
	worse, better := e.Low > 1, e.High < 1
	switch {
	case !worse && !better:
		return NotShown, "1 is within the 95 % interval"
	case worse != (e.Median > 1) || better != (e.Median < 1):
		return Undecided, "the median and the 95 % interval disagree: measure more pairs"
	case !metric.Named(name).HasDirection():
		return Different, outside
	case worse:
		return Worse, outside
	default:
		return Better, outside
	}
}
