package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/outcome"
)

// Claim is a statement about the outcome of a scenario: "predecessor-watch herd-max <= 1", "children-watch notifications/op
// >= 10 x predecessor-watch", or "predecessor-watch acquire-p99 < 250ms".
type Claim struct {
	Variant   string
	Metric    string
	Op        string  // one of operators
	Value     float64 // nanoseconds where a duration was given
	Of        string  // the variant that Value is a multiple of; empty for a plain number
	Tolerance float64 // share of the limit by which a value may miss it; [ParseClaim] leaves it at 0
}

// operators returns the comparisons that a claim may make.
func operators() []string { return []string{"<=", ">=", "==", "<", ">"} }

// ParseClaim reads a claim.
func ParseClaim(text string) (Claim, error) {
	f := strings.Fields(text)
	if len(f) != 4 && (len(f) != 6 || f[4] != "x") {
		return Claim{}, fmt.Errorf(`wants "VARIANT METRIC <= NUMBER" or "VARIANT METRIC <= NUMBER x VARIANT", not %q`, text)
	}
	c := Claim{Variant: f[0], Metric: f[1], Op: f[2]}
	if !slices.Contains(operators(), c.Op) {
		return Claim{}, fmt.Errorf("wants one of %s, not %q", strings.Join(operators(), " "), c.Op)
	}
	if len(f) == 6 {
		c.Of = f[5]
	}
	err := c.readValue(f[3])
	return c, err
}

// readValue reads a number, or a duration. With a duration, the metric may be written without its unit.
func (c *Claim) readValue(text string) error {
	value, err := strconv.ParseFloat(text, 64)
	if err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) { // no value compares with NaN, and none exceeds infinity
		c.Value = value
		return nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("wants a number or a duration such as 250ms, not %q", text)
	case c.Of != "":
		return fmt.Errorf("wants a number before the x, not the duration %s", text)
	case strings.Contains(c.Metric, "/") || slices.Contains([]string{Violations, BacklogMax, Capacity}, c.Metric):
		return fmt.Errorf("%s is not a time and cannot be compared with %s", c.Metric, text)
	}
	c.Metric = strings.TrimSuffix(c.Metric, "-ns") + "-ns"
	c.Value = float64(d)
	return nil
}

// String returns the claim as a file has it, with limits of times as durations.
func (c Claim) String() string {
	text := fmt.Sprintf("%s %s %s %g", c.Variant, c.Metric, c.Op, c.Value)
	if name, isTime := strings.CutSuffix(c.Metric, "-ns"); isTime && c.Of == "" {
		text = fmt.Sprintf("%s %s %s %s", c.Variant, name, c.Op, time.Duration(c.Value))
	}
	if c.Of != "" {
		text += " x " + c.Of
	}
	return text
}

// IsTime reports whether the claim is about a time, a rate or a capacity, or about what follows from them: multiples of the floor, the
// backlog of an open load, and all metrics of the background.
func (c Claim) IsTime() bool {
	return isRate(c.Metric) || c.Metric == Capacity || c.Metric == BacklogMax || strings.HasSuffix(c.Metric, "-ns") || IsFloorMultiple(c.Metric) || IsBackground(c.Metric)
}

// DecidableOn reports whether an engine can decide the claim. The embedded server has no times of an ensemble, old servers do not name
// transactions, so that herds are guessed, and only servers that zkbench has started report their heap.
func (c Claim) DecidableOn(engine string, guessed bool) bool {
	switch {
	case c.IsTime():
		return engine != Embedded
	case c.Metric == HerdMax:
		return !guessed
	case c.NeedsHeap():
		return engine != Embedded && engine != External
	default:
		return true
	}
}

// NeedsHeap reports whether the claim is about the servers' memory, which not every engine reports.
func (c Claim) NeedsHeap() bool { return c.Metric == HeapPerWatch }

// Mentions reports whether the claim is about a variant, or about a multiple of its value.
func (c Claim) Mentions(variant string) bool { return variant == c.Variant || variant == c.Of }

// Evaluation is the result of a claim. Value and Limit are nil where one of them was not measured.
type Evaluation struct {
	Outcome    outcome.Outcome
	Value      *Number // of the claim's variant
	Limit      *Number // without the tolerance
	Unfinished bool    // a variant was not finished, so that its metric is missing
	Why        string  // with the numbers
}

// Evaluate compares the rows of one scenario with the claim, at that many clients and the largest rate. The outcome is Inconclusive if a variant
// or the metric was not measured, or if rows of one variant differ in their conditions.
func (c Claim) Evaluate(rows []Row, clients int) Evaluation {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Clients != clients })
	rate := HighestRate(rows)
	rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Rate != rate || !c.Mentions(r.Variant) })
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.Variant] {
			return Evaluation{Outcome: outcome.Inconclusive, Why: "measured under two conditions: give the results of one run"}
		}
		seen[r.Variant] = true
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Partial }) {
		return Evaluation{Outcome: outcome.Inconclusive, Why: "a measurement was interrupted: run it again"}
	}
	got, limit, err := c.measure(rows)
	if err != nil {
		return Evaluation{
			Outcome: outcome.Inconclusive, Unfinished: slices.ContainsFunc(rows, func(r Row) bool { return r.Unfinished != "" }),
			Why: fmt.Sprintf("%s with %d %s", err, clients, Plural(clients, "client")),
		}
	}
	e := Evaluation{
		Outcome: outcome.Regression, Value: new(Number(got)), Limit: new(Number(limit)),
		Why: fmt.Sprintf("it is %s, against %s", showValue(c.Metric, got), showValue(c.Metric, limit)),
	}
	if c.holds(got, limit) {
		e.Outcome = outcome.Pass
	}
	if isRecovery(c.Metric) && c.mayChange(e, c.unrecovered(rows, c.Variant), c.unrecovered(rows, c.Of)) {
		e.Outcome, e.Why = outcome.Inconclusive, e.Why+", and may be more: the load ended before a recovery"
	}
	return e
}

// unrecovered reports whether the true times until a recovery may be longer than those of a variant.
func (c Claim) unrecovered(rows []Row, variant string) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Variant == variant && r.Unrecovered > 0 })
}

// mayChange reports whether the outcome could be another one if the value, the limit, or both were larger.
func (c Claim) mayChange(e Evaluation, largerValue, largerLimit bool) bool {
	holds := e.Outcome == outcome.Pass
	switch {
	case strings.HasPrefix(c.Op, "<"):
		return holds && largerValue || !holds && largerLimit
	case strings.HasPrefix(c.Op, ">"):
		return holds && largerLimit || !holds && largerValue
	case holds:
		return largerValue || largerLimit
	default:
		return largerValue && *e.Value < *e.Limit || largerLimit && *e.Value > *e.Limit
	}
}

// measure returns the value and the limit that the claim compares. Of several repeats, times and heaps have their median. Of
// counts, the repeat decides that contradicts the claim most, because a median would hide one repeat of three. Of violations it is the
// one with the most: a race need not show in each repeat to show that a variant is broken.
func (c Claim) measure(rows []Row) (got, limit float64, err error) {
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
func (c Claim) worst(m Aggregated, smallest bool, from float64) float64 {
	switch {
	case c.IsTime(), c.NeedsHeap():
		return m.Value
	case c.Metric == Violations:
		return m.Max
	case c.Op == "==":
		smallest = from-m.Min > m.Max-from
	}
	if smallest {
		return m.Min
	}
	return m.Max
}

func (c Claim) measured(rows []Row, variant string) (Aggregated, error) {
	for _, r := range rows {
		if m, ok := r.Metrics[c.Metric]; ok && r.Variant == variant {
			return m, nil
		}
	}
	if unfinishedIn(rows, variant) {
		return Aggregated{}, fmt.Errorf("%s was not finished and has no %s", variant, c.Metric)
	}
	return Aggregated{}, fmt.Errorf("%s of %s was not measured", c.Metric, variant)
}

// Holds reports whether a value meets a claim with a plain limit.
func (c Claim) Holds(value float64) bool { return c.holds(value, c.Value) }

// holds applies the tolerance to the side of the limit on which the claim fails, for a claim of equality to both sides.
func (c Claim) holds(got, limit float64) bool {
	slack := c.Tolerance * math.Abs(limit)
	switch c.Op {
	case "<=":
		return got <= limit+slack
	case ">=":
		return got >= limit-slack
	case "<":
		return got < limit+slack
	case ">":
		return got > limit-slack
	default:
		return got >= limit-slack && got <= limit+slack
	}
}

// MostClients returns the largest number of clients of any row; 0 without rows. Claims are about this number unless they
// name another.
func MostClients(rows []Row) int {
	return Largest(Map(rows, func(r Row) int { return r.Clients }))
}

// HighestRate returns the largest rate of any row; 0 without open loads.
func HighestRate(rows []Row) int {
	return Largest(Map(rows, func(r Row) int { return r.Rate }))
}

// showValue writes a value of a metric: a time as a duration.
func showValue(metric string, value float64) string {
	if strings.HasSuffix(metric, "-ns") {
		return time.Duration(value).Round(time.Microsecond).String()
	}
	return fmt.Sprintf("%.6g", value)
}
