package claim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

// Check is the result of a claim for one variant and number of clients. The variant is [Every] if no variant was measured.
type Check struct {
	Claim
	Rate    results.Rate // of an open load
	Outcome outcome.Outcome
	Got     *table.Number // the value of the variant; nil if it was not measured
	Limit   *table.Number // without the tolerance
	Why     string        // with the numbers
	// Undecidable means that these servers cannot decide the claim, however long they are measured. It does not fail the gate.
	Undecidable bool
}

const (
	holds       = "holds"
	fails       = "does not hold"
	undecided   = "not decided"
	undecidable = "not decidable by these servers"
)

// Verdict returns the outcome in words.
func (c Check) Verdict() string {
	if c.Undecidable {
		return undecidable
	}
	return cmp.Or(map[outcome.Outcome]string{outcome.Pass: holds, outcome.Regression: fails}[c.Outcome], undecided)
}

// Tally says how many claims hold, and how many are false, inconclusive or undecidable.
func Tally(checks []Check) string {
	counts := map[string]int{}
	for _, c := range checks {
		counts[c.Verdict()]++
	}
	var parts []string
	total, what := len(checks)-counts[undecidable], "claims hold"
	if total == 1 {
		what = "claim holds"
	}
	if total > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d %s", counts[holds], total, what))
	}
	for _, verdict := range []string{fails, undecided, undecidable} {
		n := counts[verdict]
		if n > 1 {
			verdict = strings.Replace(verdict, "does", "do", 1)
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	return strings.Join(parts, ", ")
}

// Measured is the measurements of one scenario, summarized once for all claims about it.
type Measured struct {
	Docs []*results.Document
	Rows []summary.Row
}

// Of summarizes the measurements of one scenario.
func Of(docs []*results.Document) Measured { return Measured{docs, summary.Of(docs)} }

// Check decides claims under the number of clients that they name, and the largest rate. It returns a check for each claim, or one for each
// variant if a claim is about every variant. A check is inconclusive if a variant or the metric was not measured, if the rows of one
// variant differ in their conditions, or if there are doubts about the values.
func (m Measured) Check(claims ...Claim) []Check {
	var checks []Check
	for _, c := range claims {
		if c.Clients == 0 {
			c.Clients = summary.MostClients(m.Rows)
		}
		variants := []string{c.Variant}
		if c.Variant == Every {
			variants = m.variants(c)
		}
		for _, variant := range variants {
			c.Variant = variant
			checks = append(checks, m.check(c))
		}
		if len(variants) == 0 {
			why := "every measured variant is known to be broken, and rules about all variants leave these out"
			if c.Of != "" {
				why = fmt.Sprintf("no variant other than %s was measured, or all others are known to be broken", c.Of)
			}
			checks = append(checks, Check{Claim: c, Outcome: outcome.Inconclusive, Why: why})
		}
	}
	return checks
}

// variants leaves out variants that are known to be broken where the metric would show only that.
func (m Measured) variants(c Claim) []string {
	var variants []string
	for _, r := range m.Rows {
		knownBroken := r.Any(func(d *results.Document) bool { return d.KnownBroken != "" })
		shown := r.Any((*results.Document).BreachExpected) && (r.Unfinished() || c.Metric == metric.Violations)
		if !shown && (!knownBroken || !c.IsTime()) && r.Variant != c.Of {
			variants = list.AppendNew(variants, r.Variant)
		}
	}
	return variants
}

func (m Measured) check(c Claim) Check {
	rate := summary.HighestRate(list.Where(m.Rows, func(r summary.Row) bool { return r.Clients == c.Clients }))
	rows := list.Where(m.Rows, func(r summary.Row) bool { return r.Clients == c.Clients && r.Rate == rate && c.mentions(r.Variant) })
	docs := list.Where(m.Docs, func(d *results.Document) bool {
		return d.Clients == c.Clients && d.Rate == rate && c.mentions(d.Variant)
	})
	out := Check{Claim: c, Rate: rate, Outcome: outcome.Inconclusive, Undecidable: m.undecidable(c)}
	out.compare(rows)
	if doubts := c.doubts(docs); out.Got != nil && doubts != "" {
		out.Outcome, out.Why = outcome.Inconclusive, out.Why+"; "+doubts
	}
	return out
}

// undecidable reports whether none of the measured servers can decide the claim. A measurement without notifications does not
// show whether herds are guessed on its servers.
func (m Measured) undecidable(c Claim) bool {
	cannot := func(d *results.Document) bool { return c.hiddenBy(d) != "" }
	can := func(d *results.Document) bool {
		return !cannot(d) && (len(d.Herd.Sizes) > 0 || !metric.Named(c.Metric).OfHerds())
	}
	return slices.ContainsFunc(m.Docs, cannot) && !slices.ContainsFunc(m.Docs, can)
}

// hiddenBy returns why the measured servers do not show the claim's metric, or "". Only servers that zkbench has started report their heap.
func (c Claim) hiddenBy(d *results.Document) string {
	embedded := d.Environment.Engine == results.Embedded
	switch {
	case metric.Guessed(d, c.Metric):
		return HerdsAreGuessed
	case c.IsTime() && embedded:
		return EmbeddedTimes
	case c.Metric == metric.HeapPerWatch && (embedded || d.Environment.Engine == results.External):
		return "these servers do not report their heap"
	default:
		return ""
	}
}

// compare sets the outcome from the values in rows, which has at most one row for each variant.
func (c *Check) compare(rows []summary.Row) {
	for i, r := range rows {
		switch {
		case slices.ContainsFunc(rows[:i], func(o summary.Row) bool { return o.Variant == r.Variant }):
			c.Why = "measured under two conditions: give the results of one run"
			return
		case r.Any(func(d *results.Document) bool { return d.Partial }):
			c.Why = "a measurement was interrupted: run it again"
			return
		}
	}
	got, limit, err := c.measure(rows)
	if err != nil {
		c.Why = fmt.Sprintf("%s with %d %s", err, c.Clients, table.Plural(c.Clients, "client"))
		return
	}
	c.Got, c.Limit = new(table.Number(got)), new(table.Number(limit))
	c.Outcome, c.Why = outcome.Regression, fmt.Sprintf("it is %s, against %s", showValue(c.Metric, got), showValue(c.Metric, limit))
	if c.holds(got, limit) {
		c.Outcome = outcome.Pass
	}
	most := func(variant string, value float64) float64 { // that it may be
		if slices.ContainsFunc(rows, func(r summary.Row) bool { return r.Variant == variant && r.AtLeast(c.Metric) }) {
			return math.MaxFloat64
		}
		return value
	}
	passes, value, bound := c.Outcome == outcome.Pass, most(c.Variant, got), most(c.Of, limit)
	between := c.Op == "==" && (value > limit && limit > got || bound > got && got > limit)
	if c.holds(value, limit) != passes || c.holds(got, bound) != passes || between {
		c.Outcome, c.Why = outcome.Inconclusive, c.Why+", and may be more: the load ended before a recovery"
	}
}

// measure returns the value and the limit that the claim compares. For times and heaps, the value is the median of the
// repeats. For counts, it is the repeat that contradicts the claim most, because a median would hide one repeat of three. For
// violations, it is the repeat with the most, because a race need not show in each repeat.
func (c Claim) measure(rows []summary.Row) (got, limit float64, err error) {
	a, err := c.measured(rows, c.Variant)
	if err != nil || c.Of == "" {
		return c.worst(a, strings.HasPrefix(c.Op, ">"), c.Value), c.Value, err
	}
	b, err := c.measured(rows, c.Of)
	if err != nil {
		return 0, 0, err
	}
	of := c.worst(b, strings.HasPrefix(c.Op, "<"), a.Value/c.Value)
	if of == 0 {
		return 0, 0, fmt.Errorf("%s of %s is 0, which has no multiples", c.Metric, c.Of)
	}
	return c.worst(a, strings.HasPrefix(c.Op, ">"), c.Value*of), c.Value * of, nil
}

// worst returns the smallest or the largest of the repeats; for a claim of equality, the one that is farther from the given value.
func (c Claim) worst(m metric.Aggregated, smallest bool, from float64) float64 {
	switch {
	case c.IsTime(), c.Metric == metric.HeapPerWatch:
		return m.Value
	case c.Metric == metric.Violations:
		return m.Max
	case c.Op == "==":
		smallest = from-m.Min > m.Max-from
	}
	if smallest {
		return m.Min
	}
	return m.Max
}

func (c Claim) measured(rows []summary.Row, variant string) (metric.Aggregated, error) {
	i := slices.IndexFunc(rows, func(r summary.Row) bool { return r.Variant == variant })
	if i >= 0 {
		if m, ok := rows[i].Metrics[c.Metric]; ok {
			return m, nil
		}
		if rows[i].Unfinished() {
			return metric.Aggregated{}, fmt.Errorf("%s was not finished and has no %s", variant, c.Metric)
		}
		if metric.Named(c.Metric).Operation != "" { // there was no such request
			return metric.Aggregated{}, nil
		}
	}
	return metric.Aggregated{}, fmt.Errorf("%s of %s was not measured", c.Metric, variant)
}

// EmbeddedTimes explains why claims about times of the embedded server are inconclusive.
const EmbeddedTimes = "times of the embedded server are not those of an ensemble"

// HerdsAreGuessed explains why claims about the size of herds are inconclusive.
const HerdsAreGuessed = "these servers do not say which transaction caused a notification (" + results.Unnamed +
	"), so that herds are guessed"

// doubts returns why the values that the claim compares cannot decide it. A busy machine affects times and not counts.
func (c Claim) doubts(docs []*results.Document) string {
	for _, d := range docs {
		switch why := c.hiddenBy(d); {
		case why != "":
			return why
		case !c.IsTime():
			continue
		case d.KnownBroken != "":
			return fmt.Sprintf("%s is known to be broken, and its times decide nothing", grouping.KeyOf(d).Name())
		}
		reasons := doubts.Saturated(d)
		if c.Of == "" { // a delay of both sides hardly changes their ratio
			reasons = doubts.Delayed(d)
		}
		if why := Scarce(d, c.Metric); why != "" {
			reasons = append(reasons, why)
		}
		if len(reasons) > 0 {
			return strings.Join(reasons, "; ")
		}
	}
	return ""
}

// Scarce returns why a percentile, or a ratio of two, rests on too few samples to decide anything; empty otherwise.
func Scarce(d *results.Document, name string) string {
	m := metric.Named(name)
	if during, alone, ok := m.Slowdown(); ok {
		return cmp.Or(Scarce(d, during), Scarce(d, alone))
	}
	p, ok := metric.PercentileOf(d, name)
	switch {
	case !ok:
		return ""
	case p.Dropped > 0:
		return fmt.Sprintf("%d latencies were too long for the histogram of %s", p.Dropped, name)
	case p.Samples < m.Samples():
		return fmt.Sprintf("%s of %d samples: each run needs %d; lengthen --duration", name, p.Samples, m.Samples())
	case metric.Hides(d, p):
		return fmt.Sprintf("%s leaves out %d waits that had lasted longer than the p99 when the window ended: clients starve",
			name, d.Window.StarvingWaits)
	default:
		return ""
	}
}
