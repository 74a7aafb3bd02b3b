package claim

import (
	"fmt"
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

// Check is what measurements say of a claim. It has the variant and the number of clients to which the claim was applied; the variant is
// [Every] if there was none.
type Check struct {
	Claim
	Rate    int // of an open load, in operations per second
	Outcome outcome.Outcome
	Got     *table.Number // the value of the variant; nil if it was not measured
	Limit   *table.Number // without the tolerance
	Why     string        // with the numbers
	// Undecidable means that these servers cannot decide the claim, however long they are measured: the check is then inconclusive, and a
	// scenario is not held to the claim.
	Undecidable bool
}

// The verdicts.
const (
	holds       = "holds"
	fails       = "does not hold"
	undecided   = "not decided"
	undecidable = "not decidable by these servers"
)

// Verdict returns the outcome in words.
func (c Check) Verdict() string {
	switch {
	case c.Undecidable:
		return undecidable
	case c.Outcome == outcome.Pass:
		return holds
	case c.Outcome == outcome.Regression:
		return fails
	default:
		return undecided
	}
}

// Tally says how many claims hold, and what has become of the others.
func Tally(checks []Check) string {
	counts := map[string]int{}
	for _, c := range checks {
		counts[c.Verdict()]++
	}
	var parts []string
	switch total := len(checks) - counts[undecidable]; total {
	case 0:
	case 1:
		parts = append(parts, fmt.Sprintf("%d of 1 claim %s", counts[holds], holds))
	default:
		parts = append(parts, fmt.Sprintf("%d of %d claims hold", counts[holds], total))
	}
	for _, verdict := range []string{fails, undecided, undecidable} {
		if n := counts[verdict]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", verdict, n))
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
			checks = append(checks, Check{Claim: c, Outcome: outcome.Inconclusive, Why: noOtherThan(c.Of)})
		}
	}
	return checks
}

// variants returns the variants that a claim about every variant applies to. It leaves out those that are known to be broken where this
// is what the metric would show.
func (m Measured) variants(c Claim) []string {
	var variants []string
	for _, r := range m.Rows {
		applies := (r.KnownBroken == "" || !c.IsTime()) && (!r.BreachExpected || r.Unfinished == "" && c.Metric != metric.Violations)
		if applies && r.Variant != c.Of {
			variants = list.AppendNew(variants, r.Variant)
		}
	}
	return variants
}

// noOtherThan says why a claim about all variants, or about all but one, is about none.
func noOtherThan(variant string) string {
	if variant == "" {
		return "every measured variant is known to be broken, and rules about all variants leave these out"
	}
	return fmt.Sprintf("no variant other than %s was measured, or all others are known to be broken", variant)
}

// check decides a claim about one variant.
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

// undecidable reports whether no server of the measurements can decide the claim. The embedded server has no times of an ensemble, and only
// servers that zkbench has started report their heap. Old servers do not name transactions, so that herds are guessed, which a
// measurement without notifications does not show.
func (m Measured) undecidable(c Claim) bool {
	some := func(is func(d *results.Document) bool) bool { return slices.ContainsFunc(m.Docs, is) }
	switch engine := func(d *results.Document) string { return d.Environment.Engine }; {
	case len(m.Docs) == 0:
		return false
	case c.IsTime():
		return !some(func(d *results.Document) bool { return engine(d) != results.Embedded })
	case c.Metric == metric.HeapPerWatch:
		return !some(func(d *results.Document) bool { return engine(d) != results.Embedded && engine(d) != results.External })
	default:
		guessed := func(d *results.Document) bool { return metric.Guessed(d, c.Metric) }
		return some(guessed) && !some(func(d *results.Document) bool { return !guessed(d) && len(d.Herd.Sizes) > 0 })
	}
}

// compare sets the outcome by the values in rows, of which there is at most one for each variant.
func (c *Check) compare(rows []summary.Row) {
	for i, r := range rows {
		switch {
		case slices.ContainsFunc(rows[:i], func(o summary.Row) bool { return o.Variant == r.Variant }):
			c.Why = "measured under two conditions: give the results of one run"
			return
		case r.Partial:
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
	atLeast := func(variant string) bool {
		return slices.ContainsFunc(rows, func(r summary.Row) bool { return r.Variant == variant && r.AtLeast(c.Metric) })
	}
	if c.mayChange(atLeast(c.Variant), atLeast(c.Of)) {
		c.Outcome, c.Why = outcome.Inconclusive, c.Why+", and may be more: the load ended before a recovery"
	}
}

// mayChange reports whether the outcome could be another one if the value, the limit, or both were larger.
func (c *Check) mayChange(largerValue, largerLimit bool) bool {
	passes := c.Outcome == outcome.Pass
	switch {
	case strings.HasPrefix(c.Op, "<"):
		return passes && largerValue || !passes && largerLimit
	case strings.HasPrefix(c.Op, ">"):
		return passes && largerLimit || !passes && largerValue
	case passes:
		return largerValue || largerLimit
	default:
		return largerValue && *c.Got < *c.Limit || largerLimit && *c.Got > *c.Limit
	}
}

// measure returns the value and the limit that the claim compares. Of several repeats, times and heaps have their median. Of
// counts, the repeat decides that contradicts the claim most, because a median would hide one repeat of three. Of violations it is the
// one with the most: a race need not show in each repeat to show that a variant is broken.
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

// worst returns the smallest or the largest of the repeats. For a claim of equality it returns the repeat that is farther
// from the given value.
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

// measured returns the metric of a variant, or an error that says why it is missing.
func (c Claim) measured(rows []summary.Row, variant string) (metric.Aggregated, error) {
	i := slices.IndexFunc(rows, func(r summary.Row) bool { return r.Variant == variant })
	if i >= 0 {
		if m, ok := rows[i].Metrics[c.Metric]; ok {
			return m, nil
		}
		if rows[i].Unfinished != "" {
			return metric.Aggregated{}, fmt.Errorf("%s was not finished and has no %s", variant, c.Metric)
		}
	}
	return metric.Aggregated{}, fmt.Errorf("%s of %s was not measured", c.Metric, variant)
}

// EmbeddedTimes explains why claims about times of the embedded server are inconclusive.
const EmbeddedTimes = "times of the embedded server are not those of an ensemble"

// HerdsAreGuessed explains why claims about the size of herds are inconclusive.
const HerdsAreGuessed = "these servers do not say which transaction caused a notification, so that herds are guessed"

// doubts returns why the values that the claim compares cannot decide it. A busy machine affects times and not counts.
func (c Claim) doubts(docs []*results.Document) string {
	for _, d := range docs {
		switch {
		case metric.Guessed(d, c.Metric):
			return HerdsAreGuessed
		case !c.IsTime():
			continue
		case d.KnownBroken != "":
			return fmt.Sprintf("%s is known to be broken, and its times decide nothing", grouping.KeyOf(d).Name())
		case d.Environment.Engine == results.Embedded:
			return EmbeddedTimes
		}
		reasons := doubts.Saturated(d)
		if c.Of == "" { // a delay of both sides hardly changes their ratio
			reasons = doubts.Delayed(d)
		}
		if err := Scarce(d, c.Metric); err != nil {
			reasons = append(reasons, err.Error())
		}
		if len(reasons) > 0 {
			return strings.Join(reasons, "; ")
		}
	}
	return ""
}
