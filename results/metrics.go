package results

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// The metrics of a measurement. There are also <phase>-p50-ns, -p90-ns, -p99-ns and -max-ns for each phase of the recipe
// and for the bystanders, <phase>/<phase> for each [Share] of the recipe, and the metrics of the floor; see [FloorMetric]
// and [FloorMultiple]. Files, tables and gates use these names.
const (
	OpsPerSecond         = "ops/s"
	NotificationsPerOp   = "notifications/op"
	RequestsPerOp        = "requests/op"
	RequestsPerSecond    = "requests/s"
	WritesPerOp          = "writes/op"
	FailedWritesPerOp    = "failed-writes/op"
	BytesPerOp           = "bytes/op"
	HerdMean             = "herd-mean"
	HerdP99              = "herd-p99"
	HerdMax              = "herd-max"
	HerdSpreadP99        = "herd-spread-p99-ns"
	NotificationPeak10ms = "notification-peak-10ms"
	SpuriousWakeupsPerOp = "spurious-wakeups/op"
	Violations           = "violations"
	HeapPerWatch         = "heap-bytes/watch"
)

// The metrics of measurements with faults; see [Failure].
const (
	RecoveryP50           = "recovery-p50-ns"
	RecoveryMax           = "recovery-max-ns"
	Unavailable           = "unavailable-ns"
	FailedOperationsPerOp = "operations-failed/op"
	RequestsPeak          = "requests-peak/s"
	BytesPeak             = "bytes-peak/s"
)

// The metrics of the losses that a recipe can have.
const (
	ItemsLost    = "items-lost"
	ItemsDoubled = "items-doubled"
	OutOfStep    = "out-of-step"
	Orphans      = "orphans"
	Blocked      = "blocked-ns"
	TornReads    = "torn-reads"
	FencedPerOp  = "fenced/op"
)

// BystanderPhase is the phase of the bystanders' response times, and BystanderService that of their service times, which do
// not contain the delay before a read is sent.
const (
	BystanderPhase   = "bystander"
	BystanderService = "bystander-service"
)

// WarmUpPrefix precedes the names of phases in histograms of the warm-up.
const WarmUpPrefix = "warm-up/"

// TimelineLength is the largest length of a timeline.
const TimelineLength = time.Second

// Share is a metric: the number of samples of one phase per sample of another phase.
type Share struct {
	Phase string `json:"phase"`
	Of    string `json:"of"`
}

// IsShare reports whether a metric is a [Share], by its name: other names with a slash are fixed, or multiples of the floor.
func IsShare(metric string) bool {
	fixed := []string{OpsPerSecond, RequestsPerSecond, NotificationsPerOp, RequestsPerOp, WritesPerOp, FailedWritesPerOp, BytesPerOp, SpuriousWakeupsPerOp, HeapPerWatch,
		OfferedPerSecond, AchievedPerSecond, FailedOperationsPerOp, RequestsPeak, BytesPeak, FencedPerOp}
	return strings.Contains(metric, "/") && !slices.Contains(fixed, metric) && !IsFloorMultiple(metric) && !IsBackground(metric)
}

// metric returns the name of the metric.
func (s Share) metric() string { return s.Phase + "/" + s.Of }

// shares returns all shares that a recipe with these phases can have.
func shares(phases []string) []Share {
	var out []Share
	for _, part := range phases {
		for _, of := range phases {
			out = append(out, Share{part, of})
		}
	}
	return out
}

// Starves reports whether more unfinished waits were older than the p99 than chance explains.
func (w Window) Starves() bool {
	return !w.Lockstep && w.StarvingWaits > max(1, w.UnfinishedWaits/50)
}

// cutSteps is the number of steps of each client that the two edges of a window may cut. Their requests are counted, and
// the operations to which these belong are not.
const cutSteps = 2

// CountMetrics returns the metrics for which a variant can have a formula.
func CountMetrics() []string {
	return []string{NotificationsPerOp, RequestsPerOp, WritesPerOp, FailedWritesPerOp, HerdMax}
}

// IsMaximum reports whether the metric is the maximum of a phase, or the longest of other times.
func IsMaximum(metric string) bool {
	return strings.HasSuffix(metric, "-max-ns") || strings.HasSuffix(metric, BacklogMax) || metric == Unavailable || metric == Blocked
}

// HasDirection reports whether a smaller or a larger value of a metric is better. The spread of a herd has no direction: a
// short spread is a higher load, and in a long one the last clients wait. Nor have requests per second: a higher value may mean more
// operations or more polls. The floor, the offered rate and the background before the load do not depend on the variant.
func HasDirection(metric string) bool {
	return metric != HerdSpreadP99 && metric != RequestsPerSecond && metric != OfferedPerSecond && !IsFloor(metric) && !isAlone(metric)
}

// MoreIsBetter reports whether a larger value of the metric is better.
func MoreIsBetter(metric string) bool {
	return metric == OpsPerSecond || metric == AchievedPerSecond || metric == Finished || isBackgroundRate(metric) && !isAlone(metric)
}

// isRate reports whether a metric is a number of operations or requests per second.
func isRate(metric string) bool {
	return slices.Contains([]string{OpsPerSecond, RequestsPerSecond, OfferedPerSecond, AchievedPerSecond}, metric)
}

// IsTime reports whether a metric is a time, a rate or a capacity, or follows from them: multiples of the floor, the backlog of an open
// load, and all metrics of the background.
func IsTime(metric string) bool {
	return isRate(metric) || metric == Capacity || metric == BacklogMax || strings.HasSuffix(metric, "-ns") || IsFloorMultiple(metric) || IsBackground(metric)
}

// Capacity is the metric of rules about the largest load at which an objective holds. No single measurement has it.
const Capacity = "capacity"

// Guessed reports whether the metric is a guess, such as the size of herds that are not grouped by zxid.
func (d *Document) Guessed(metric string) bool {
	return metric == HerdMax && d.Herd.Grouping == GroupedByPathAndTime
}

// AgainstCount returns -1, 0 or 1 if a metric is less than, equal to or more than an exact value. It compares averages as the
// whole numbers from which they were computed, so that rounding makes no difference.
func (d *Document) AgainstCount(metric string, want float64) int {
	ops := float64(d.Window.Operations)
	return cmp.Compare(math.Round(d.Metrics[metric].Value*ops), math.Round(want*ops))
}

// Exceeds reports whether a metric is over an upper bound. An average may be over it by the steps that the two edges of the
// window cut, except under a load of a number of operations, whose window begins and ends at rest.
func (d *Document) Exceeds(metric string, bound float64) bool {
	if metric == HerdMax || d.Scenario.Operations > 0 {
		return d.Metrics[metric].Value > bound
	}
	ops := float64(d.Window.Operations)
	return d.Metrics[metric].Value*ops > bound*(ops+float64(cutSteps*d.Batch*d.Clients))
}

// LargestCount is more than any count for one operation or in one second can be. A limit beyond it has no effect.
const LargestCount = 1e12

// Highest returns a value that no value of the metric exceeds: of a time, the longest one of a histogram.
func Highest(metric string) float64 {
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
