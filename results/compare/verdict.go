package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/paired"
)

// Reasons without numbers.
const (
	equalCounts    = "exact counts, equal"
	unequalCounts  = "exact counts, different"
	withinInterval = "1 is within the 95 % interval"
	beyondInterval = "1 is outside of the 95 % interval"
	notInTurns     = "not measured in turns"
	noDirection    = "neither more nor less of it is better"
	unsound        = "BROKEN or INVALID numbers must not be used, `zkbench report` says why"
	interrupted    = "a PARTIAL measurement was interrupted"
	guessed        = "the servers do not say which notifications have the same cause"
	unrecovered    = "a lower bound: the load ended before a recovery"
	maximum        = "a maximum rests on a single operation"
	notByAll       = "not measured in every repeat"
)

// row compares one metric. With an obstacle, only exact counts are compared.
func (m match) row(metric, obstacle string) Row {
	r := Row{
		Scenario: m.base.key.Scenario, Recipe: m.base.key.Recipe, Size: m.base.key.Size, Clients: m.base.key.Clients, Rate: m.base.key.Rate,
		Metric: metric, Ratio: none(), Low: none(), High: none(), Verdict: Unsure,
	}
	r.Base, r.Unit = m.base.at(metric)
	other, unit := m.other.at(metric)
	r.Other, r.Unit = other, cmp.Or(r.Unit, unit)
	r.Reason = m.excluded(metric)
	if r.Reason != "" {
		r.apart = true
		return r
	}
	if r.Base.Value != 0 {
		r.Ratio = r.Other.Value / r.Base.Value
	}
	switch {
	case results.MetricNamed(metric).Exact && m.exact():
		r.Verdict, r.Reason = m.compareCounts(metric)
	case obstacle != "":
		r.Reason, r.apart = obstacle, true
	case results.MetricNamed(metric).Extreme:
		r.Reason = maximum
	default:
		r.comparePairs(m)
	}
	return r
}

// none returns the missing number.
func none() results.Number { return results.Number(math.NaN()) }

// at returns a group's side of a row, and the unit of the metric.
func (g group) at(metric string) (Place, string) {
	p := Place{Side: g.side, Variant: g.key.Variant, Engine: g.engine(), Value: none(), Repeats: len(g.docs), Mark: results.Mark(g.docs)}
	a, ok := g.values(metric)
	if ok {
		p.Value = results.Number(a.Value)
	}
	return p, a.Unit
}

// excluded returns why two values cannot be compared; empty if they can.
func (m match) excluded(metric string) string {
	base, other := m.base.has(metric), m.other.has(metric)
	switch {
	case m.base.partial() || m.other.partial():
		return interrupted
	case m.base.unsound() || m.other.unsound():
		return unsound
	case base == 0:
		return "not measured in the base"
	case other == 0:
		return "measured in the base only"
	case base < len(m.base.docs) || other < len(m.other.docs):
		return notByAll
	case results.MetricNamed(metric).OfHerds() && m.guessesHerds():
		return guessed
	case slices.ContainsFunc(m.documents(), func(d *results.Document) bool { return d.AtLeast(metric) }):
		return unrecovered
	default:
		return ""
	}
}

// guessesHerds reports whether servers of either side do not name the transaction that caused a notification.
func (m match) guessesHerds() bool {
	return slices.ContainsFunc(m.documents(), func(d *results.Document) bool { return d.Herd.Grouping != results.GroupedByZxid })
}

// exact reports whether formulas predict the counts of both sides exactly.
func (m match) exact() bool {
	return !slices.ContainsFunc(m.documents(), func(d *results.Document) bool { return !d.Expected.Exact })
}

// compareCounts compares exact counts, which must be the same in each repeat.
func (m match) compareCounts(metric string) (Verdict, string) {
	a, _ := m.base.values(metric)
	b, _ := m.other.values(metric)
	for _, g := range []struct {
		name string
		of   results.Aggregated
	}{{"the base", a}, {"the other side", b}} {
		if g.of.Min != g.of.Max {
			return Unsure, fmt.Sprintf("exact counts, but the repeats of %s disagree", g.name)
		}
	}
	switch {
	case a.Min < b.Min:
		return Worse, unequalCounts
	case a.Min > b.Min:
		return Better, unequalCounts
	default:
		return Same, equalCounts
	}
}

// comparePairs sets the ratio, its interval and the verdict, if the two groups were measured in turns.
func (r *Row) comparePairs(m match) {
	pairs, ok := inTurns(m.base.docs, m.other.docs)
	if !ok {
		r.Reason = notInTurns
		return
	}
	e, err := estimate(pairs, r.Metric)
	if err != nil {
		r.Ratio, r.Reason = none(), err.Error()
		return
	}
	r.Pairs = e.Pairs
	r.Ratio, r.Low, r.High = results.Number(e.Median), results.Number(e.Low), results.Number(e.High)
	if results.MetricNamed(r.Metric).MoreIsBetter() { // an estimate is of how much worse
		r.Ratio, r.Low, r.High = results.Number(1/e.Median), results.Number(1/e.High), results.Number(1/e.Low)
	}
	r.Verdict, r.Reason = decide(e, r.Metric)
}

// decide claims a difference only if the interval excludes 1 and the median is on the same side of 1. The two can disagree if
// many pairs differ a little one way and some a lot the other way.
func decide(e paired.Estimate, metric string) (Verdict, string) {
	needed := paired.PairsNeeded(0.025) // for each end of the interval
	switch {
	case e.Pairs < needed:
		return Unsure, fmt.Sprintf("%d %s, at least %d are needed", e.Pairs, results.Plural(e.Pairs, "pair"), needed)
	case !results.MetricNamed(metric).HasDirection():
		return Unsure, noDirection
	case e.Low > 1 && e.Median > 1:
		return Worse, beyondInterval
	case e.High < 1 && e.Median < 1:
		return Better, beyondInterval
	case e.Low > 1 || e.High < 1:
		return Unsure, "the median and the 95 % interval disagree"
	default:
		return Unsure, withinInterval
	}
}

// pair is two measurements that followed each other.
type pair struct{ base, other *results.Document }

// inTurns returns the pairs of two groups whose measurements alternated, in any order within a pair. A last measurement
// without a partner, as an interrupt leaves it, is left out. The result is false if the measurements did not alternate, if
// one went on while the next began, or if there is no pair.
func inTurns(base, other []*results.Document) ([]pair, bool) {
	all := slices.Concat(base, other)
	slices.SortStableFunc(all, func(a, b *results.Document) int { return a.Started.Compare(b.Started) })
	for i, d := range all[1:] {
		if before := all[i]; d.Started.Before(before.Started.Add(before.Window.End)) {
			return nil, false
		}
	}
	var pairs []pair
	for i := 0; i+1 < len(all); i += 2 {
		p := pair{all[i], all[i+1]}
		if slices.Contains(other, p.base) {
			p = pair{p.other, p.base}
		}
		apart := slices.Contains(base, p.base) && slices.Contains(other, p.other)
		after := i == 0 || all[i-1].Started.Before(all[i].Started)
		if !apart || !after {
			return nil, false
		}
		pairs = append(pairs, p)
	}
	return pairs, len(pairs) > 0
}

// estimate returns the ratio by which the other side is worse.
func estimate(pairs []pair, metric string) (paired.Estimate, error) {
	var ratios []float64
	for _, p := range pairs {
		head, base := p.other.Metrics[metric].Value, p.base.Metrics[metric].Value
		if results.MetricNamed(metric).MoreIsBetter() {
			head, base = base, head
		}
		ratio, err := paired.LogRatio(head, base)
		if err != nil {
			return paired.Estimate{}, errors.New("a value of 0 has no ratio")
		}
		ratios = append(ratios, ratio)
	}
	return paired.Summarize(ratios)
}
