package claim

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/results/metric"
)

// Unfailing returns why no measurement can make the claim false; empty if it can fail. A claim that cannot fail is a mistake
// of its author.
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
