package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Claim is what a scenario expects of its outcome, at its largest number of clients: "predecessor-watch herd-max <= 1", "children-watch notifications/op >= 10 x predecessor-watch", or
// "predecessor-watch acquire-p99 < 250ms".
type Claim struct {
	Variant string
	Metric  string
	Op      string  // one of operators
	Value   float64 // nanoseconds where a duration was given
	Of      string  // the variant that Value is a multiple of; empty for a plain number
}

// operators are the comparisons that a claim may make, the longer ones first.
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

// readValue reads a number, or a duration. Of a duration the metric need not name the unit.
func (c *Claim) readValue(text string) error {
	value, err := strconv.ParseFloat(text, 64)
	if err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) { // nothing compares with NaN, and nothing exceeds infinity
		c.Value = value
		return nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("wants a number or a duration such as 250ms, not %q", text)
	case c.Of != "":
		return fmt.Errorf("wants a number before the x, not the duration %s", text)
	case c.Metric == OpsPerSecond || strings.Contains(c.Metric, "/") || c.Metric == Violations:
		return fmt.Errorf("%s is no time, and cannot be compared with %s", c.Metric, text)
	}
	c.Metric = strings.TrimSuffix(c.Metric, "-ns") + "-ns"
	c.Value = float64(d)
	return nil
}

// String returns the claim as it is written; limits of times as durations.
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

// IsTime reports whether the claim is about a time or a rate, multiples of the floor included.
func (c Claim) IsTime() bool {
	return c.Metric == OpsPerSecond || strings.HasSuffix(c.Metric, "-ns") || IsFloorMultiple(c.Metric)
}

// NeedsHeap tells whether the claim is about the servers' memory, which not every engine tells.
func (c Claim) NeedsHeap() bool { return c.Metric == HeapPerWatch }

// Judgement is what became of a claim.
type Judgement struct {
	Claim Claim
	Holds bool
	Why   string // with the numbers
}

// Judge holds claims to the rows of one scenario. A claim about a variant or a metric that was not measured does not
// hold: what cannot be seen has not been shown.
func Judge(rows []Row, claims []Claim) []Judgement {
	var out []Judgement
	for _, c := range claims {
		j := Judgement{Claim: c}
		got, bound, err := c.Measure(rows, MostClients(rows))
		if err != nil {
			j.Why = err.Error()
		} else {
			j.Holds = Compare(got, c.Op, bound)
			j.Why = fmt.Sprintf("it is %.4g, against %.4g", got, bound)
		}
		out = append(out, j)
	}
	return out
}

// Measure returns what a claim compares under that many clients: the variant's metric and its bound. It is an error if
// one of them was not measured, or if nothing can be a multiple of the other. Of several repeats, times and heaps have their
// median; of counts, the repeat decides that speaks most against the claim, as a median would hide one of three.
func (c Claim) Measure(rows []Row, clients int) (got, bound float64, err error) {
	a, err := measured(rows, c.Variant, c.Metric, clients)
	if err != nil || c.Of == "" {
		return c.worst(a, strings.HasPrefix(c.Op, ">"), c.Value), c.Value, err
	}
	b, err := measured(rows, c.Of, c.Metric, clients)
	if err != nil {
		return 0, 0, err
	}
	of := c.worst(b, strings.HasPrefix(c.Op, "<"), a.Value/c.Value)
	if of == 0 {
		return 0, 0, fmt.Errorf("%s of %s is 0, which has no multiples", c.Metric, c.Of)
	}
	return c.worst(a, strings.HasPrefix(c.Op, ">"), c.Value*of), c.Value * of, nil
}

// worst returns the smallest or the largest of the repeats; of a claim of equality, the one that is farther from a value.
func (c Claim) worst(m Aggregated, smallest bool, from float64) float64 {
	switch {
	case c.IsTime(), c.NeedsHeap():
		return m.Value
	case c.Op == "==":
		smallest = from-m.Min > m.Max-from
	}
	if smallest {
		return m.Min
	}
	return m.Max
}

// MostClients returns the largest number of clients of any row, which is where claims are judged; 0 without rows.
func MostClients(rows []Row) int {
	most := 0
	for _, r := range rows {
		most = max(most, r.Clients)
	}
	return most
}

func measured(rows []Row, variant, metric string, clients int) (Aggregated, error) {
	for _, r := range rows {
		if r.Clients == clients && r.Variant == variant {
			if m, ok := r.Metrics[metric]; ok {
				return m, nil
			}
		}
	}
	return Aggregated{}, fmt.Errorf("%s of %s was not measured", metric, variant)
}

// Compare tells whether a comparison, as a [Claim] writes it, is true; an operator that no claim can have means ==.
func Compare(a float64, op string, b float64) bool {
	switch op {
	case "<=":
		return a <= b
	case ">=":
		return a >= b
	case "<":
		return a < b
	case ">":
		return a > b
	default:
		return a == b
	}
}
