// Package claim holds statements about the outcome of a scenario, and decides whether they hold.
//
// It takes one position: a claim is decided only by numbers that can decide it. A measurement that is missing, unfinished, delayed or
// too short makes it inconclusive, for every command that checks claims.
package claim

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/metric"
)

// Every is the variant of a claim about all variants that were measured.
const Every = "*"

// Claim is a statement about the outcome of a scenario: "predecessor-watch herd-max <= 1", "children-watch notifications/op
// >= 10 x predecessor-watch", or "predecessor-watch acquire-p99 < 250ms".
type Claim struct {
	Variant   string // or [Every]
	Metric    string
	Op        string  // <=, >=, ==, < or >
	Value     float64 // nanoseconds where a duration was given
	Of        string  // the variant that Value is a multiple of; empty for a plain number
	Tolerance float64 // share of the limit by which a value may miss it; [Parse] leaves it at 0
	Clients   int     // the number of clients of the measurements; 0, as [Parse] leaves it, means the largest one
}

// ParseForEvery reads a claim whose variant may be left out, which is then [Every].
func ParseForEvery(text string) (Claim, error) {
	if n := len(Words(text)); n == 3 || n == 5 {
		text = Every + " " + text
	}
	return Parse(text)
}

// Words splits the text of a claim. There may be no space around the operator, as in "response-p99<100ms".
func Words(text string) []string {
	return strings.Fields(regexp.MustCompile(`[<>=]+`).ReplaceAllString(text, " $0 "))
}

// Parse reads a claim.
func Parse(text string) (Claim, error) {
	f := Words(text)
	if len(f) != 4 && (len(f) != 6 || f[4] != "x") {
		return Claim{}, fmt.Errorf(`wants "VARIANT METRIC <= NUMBER" or "VARIANT METRIC <= NUMBER x VARIANT", not %q`, text)
	}
	c := Claim{Variant: f[0], Metric: metric.WithUnit(f[1]), Op: f[2]}
	if operators := []string{"<=", ">=", "==", "<", ">"}; !slices.Contains(operators, c.Op) {
		return Claim{}, fmt.Errorf("wants one of %s, not %q", strings.Join(operators, " "), c.Op)
	}
	if len(f) == 6 {
		c.Of = f[5]
	}
	err := c.readValue(f[3], c.Metric == f[1])
	return c, err
}

// readValue reads a number or a duration. The limit of a time must be a duration, unless withUnit: the metric was written with its unit.
func (c *Claim) readValue(text string, withUnit bool) error {
	value, err := strconv.ParseFloat(text, 64)
	if err == nil && value != 0 && c.Of == "" && !withUnit {
		return fmt.Errorf("%s is a time: wants a duration such as 250ms, not %q", metric.Named(c.Metric).Short(), text)
	}
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
	case metric.Named(c.Metric).Kind != metric.KindTime:
		return fmt.Errorf("%s is not a time and cannot be compared with %s", c.Metric, text)
	}
	c.Value = float64(d)
	return nil
}

// String returns the claim as a file has it, with limits of times as durations.
func (c Claim) String() string { return c.Variant + " " + c.Statement() }

// Statement returns the claim without its variant.
func (c Claim) Statement() string {
	text := fmt.Sprintf("%s %s %g", c.Metric, c.Op, c.Value)
	if m := metric.Named(c.Metric); m.Kind == metric.KindTime && c.Of == "" {
		text = fmt.Sprintf("%s %s %s", m.Short(), c.Op, time.Duration(c.Value))
	}
	if c.Of != "" {
		text += " x " + c.Of
	}
	return text
}

// IsTime reports whether the claim is about a time or about a metric that follows from times; see [metric.Descriptor.Timed].
func (c Claim) IsTime() bool { return metric.Named(c.Metric).Timed() }

func (c Claim) mentions(variant string) bool { return variant == c.Variant || variant == c.Of }

// Holds reports whether a value meets a claim with a plain limit.
func (c Claim) Holds(value float64) bool { return c.holds(value, c.Value) }

// holds applies the tolerance to the side of the limit on which the claim fails, for a claim of equality to both sides.
func (c Claim) holds(got, limit float64) bool {
	switch slack := c.Tolerance * math.Abs(limit); c.Op {
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

func showValue(name string, value float64) string {
	if metric.Named(name).Kind == metric.KindTime {
		return time.Duration(value).Round(time.Microsecond).String()
	}
	return fmt.Sprintf("%.6g", value)
}

// Unfailing returns why no measurement can make the claim false, which is a mistake of its author; empty if it can fail.
func (c Claim) Unfailing() string {
	atLeast := c.Op == ">=" && c.Value <= 0 || c.Op == ">" && c.Value < 0
	atMost, highest := strings.HasPrefix(c.Op, "<"), metric.Named(c.Metric).Highest()
	switch {
	case c.Metric == metric.Capacity && c.Of == "" && (c.Op == ">=" && c.Value <= 1 || c.Op == ">" && c.Value < 1):
		return fmt.Sprintf("no capacity is below 1, so that %s %g is always true", c.Op, c.Value)
	case c.Of == c.Variant:
		return c.Of + " is compared with itself"
	case atLeast:
		return fmt.Sprintf("no metric is below 0, so that %s %g is always true", c.Op, c.Value)
	case c.Of != "" && atMost && c.Value > metric.LargestCount:
		return fmt.Sprintf("no value exceeds another %g times, so that %s %g x %s is always true", metric.LargestCount, c.Op, c.Value, c.Of)
	case c.Metric == metric.Finished && c.Op == "<" && c.Value <= 1: // the share of a load that was finished is 1
		return ""
	case c.Of == "" && atMost && c.Value >= highest:
		return fmt.Sprintf("%s is never over %s, so that %s is always true", c.Metric, showValue(c.Metric, highest), c)
	default:
		return ""
	}
}

// Unmeetable returns why no measurement can make a claim with a plain limit true; empty if one can.
func (c Claim) Unmeetable() string {
	m := metric.Named(c.Metric)
	isTime, highest := m.Kind == metric.KindTime, m.Highest()
	switch limit := showValue(c.Metric, c.Value); {
	case strings.HasPrefix(c.Op, "<") && c.Value < 0, c.Op == "<" && c.Value == 0:
		return fmt.Sprintf("no metric is below 0, so that %s %s is never true", c.Op, limit)
	case isTime && c.Op == "<=" && c.Value == 0:
		return fmt.Sprintf("no time is 0, so that %s %s is never true", c.Op, limit)
	case c.Op == ">" && c.Value >= highest, c.Op == ">=" && c.Value > highest:
		return fmt.Sprintf("%s is never over %s, so that %s %s is never true", c.Metric, showValue(c.Metric, highest), c.Op, limit)
	default:
		return ""
	}
}

// Pair names two variants of a recipe that the overview compares, the metrics that compare them, and the change in the first
// one, as in "predecessor-watch against children-watch by ops/s and herd-max, each waiter watches the one before it".
type Pair struct {
	Optimized string
	Naive     string // or the better known one, where both are optimized
	Metrics   []string
	Change    string // a clause, which may be missing
}

// ParsePair reads a pair.
func ParsePair(text string) (Pair, error) {
	head, change, _ := strings.Cut(text, ",")
	f := strings.Fields(head)
	if len(f) < 5 || len(f)%2 == 0 || f[1] != "against" || f[3] != "by" {
		return Pair{}, fmt.Errorf(`wants "VARIANT against VARIANT by METRIC and METRIC, what changes", not %q`, text)
	}
	pair := Pair{Optimized: f[0], Naive: f[2], Change: strings.TrimSpace(change)}
	if pair.Optimized == pair.Naive {
		return Pair{}, fmt.Errorf("compares %s with itself", pair.Naive)
	}
	for i := 4; i < len(f); i += 2 {
		if i > 4 && f[i-1] != "and" {
			return Pair{}, fmt.Errorf("wants \"and\" between two metrics, not %q", f[i-1])
		}
		if slices.Contains(pair.Metrics, f[i]) {
			return Pair{}, fmt.Errorf("names %s twice", f[i])
		}
		pair.Metrics = append(pair.Metrics, f[i])
	}
	return pair, nil
}
