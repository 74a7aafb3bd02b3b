package results

import (
	"fmt"
	"slices"
	"strings"
)

// LargestCount is more than any count for one operation or in one second can be. A limit beyond it has no effect.
const LargestCount = 1e12

// Unfailing returns why no measurement can make the claim false; empty if it can fail. A claim that cannot fail is a mistake
// of its author.
func (c Claim) Unfailing() string {
	atLeast := c.Op == ">=" && c.Value <= 0 || c.Op == ">" && c.Value < 0
	atMost := strings.HasPrefix(c.Op, "<")
	switch {
	case c.Metric == Capacity && c.Of == "" && (c.Op == ">=" && c.Value <= 1 || c.Op == ">" && c.Value < 1):
		return fmt.Sprintf("no capacity is below 1, so that %s %g is always true", c.Op, c.Value)
	case c.Of == c.Variant:
		return c.Of + " is compared with itself"
	case atLeast:
		return fmt.Sprintf("no metric is below 0, so that %s %g is always true", c.Op, c.Value)
	case c.Of != "" && atMost && c.Value > LargestCount:
		return fmt.Sprintf("no value exceeds another %g times, so that %s %g x %s is always true", LargestCount, c.Op, c.Value, c.Of)
	case c.Metric == Finished && c.Op == "<" && c.Value <= 1: // the share of a load that was finished is 1
		return ""
	case c.Of == "" && atMost && exceedsAll(c.Metric, c.Value):
		return fmt.Sprintf("%s is never over %s, so that %s is always true", c.Metric, showValue(c.Metric, highest(c.Metric)), c)
	default:
		return ""
	}
}

// Unmeetable returns why no measurement can make a claim with a plain limit true; empty if one can.
func (c Claim) Unmeetable() string {
	isTime := strings.HasSuffix(c.Metric, "-ns")
	switch limit := showValue(c.Metric, c.Value); {
	case strings.HasPrefix(c.Op, "<") && c.Value < 0, c.Op == "<" && c.Value == 0:
		return fmt.Sprintf("no metric is below 0, so that %s %s is never true", c.Op, limit)
	case isTime && c.Op == "<=" && c.Value == 0:
		return fmt.Sprintf("no time is 0, so that %s %s is never true", c.Op, limit)
	case c.Op == ">" && exceedsAll(c.Metric, c.Value), c.Op == ">=" && c.Value > highest(c.Metric):
		return fmt.Sprintf("%s is never over %s, so that %s %s is never true", c.Metric, showValue(c.Metric, highest(c.Metric)), c.Op, limit)
	default:
		return ""
	}
}

// exceedsAll reports whether no value of a metric can exceed a limit.
func exceedsAll(metric string, limit float64) bool { return limit >= highest(metric) }

// highest returns the largest value of a metric: for a time, that of the histograms.
func highest(metric string) float64 {
	if strings.HasSuffix(metric, "-ns") {
		return float64(highestLatency)
	}
	if metric == Finished {
		return 1
	}
	return LargestCount
}

// MetricNames returns every metric that a measurement of a recipe can have, by its phases, shares and losses.
func MetricNames(phases []string, shares []Share, losses []string) []string {
	names := []string{OpsPerSecond, NotificationsPerOp, RequestsPerOp, RequestsPerSecond, WritesPerOp, FailedWritesPerOp, SpuriousWakeupsPerOp, BytesPerOp,
		HerdMean, HerdP99, HerdMax, HerdSpreadP99, NotificationPeak10ms, Violations, HeapPerWatch, ConnectP99, Finished}
	names = append(names, timesOf(append([]string{BystanderPhase, BystanderService}, phases...)...)...)
	return slices.Concat(names, Map(shares, Share.metric), Map(phases, FloorMultiple), Map(floorOperations(), FloorMetric),
		openMetrics(), backgroundMetrics(), failureMetrics(), Map(losses, lossMetric))
}

// timesOf returns the names of the metrics of some phases.
func timesOf(phases ...string) []string {
	var names []string
	for _, phase := range phases {
		for _, p := range percentiles() {
			names = append(names, percentileName(phase, p))
		}
		names = append(names, maximumName(phase))
	}
	return names
}
