package results

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/table"
)

// lossFenced is the only loss that is reported per operation.
const lossFenced = "fenced"

// losses returns the names of all losses.
func losses() []string { return Map(lossColumns(), column.loss) }

// lossMetric returns the name of the metric of a loss.
func lossMetric(loss string) string {
	if loss == lossFenced {
		return FencedPerOp
	}
	return loss
}

// addsUp reports whether the amounts of a metric in several repeats are added up, because the median would hide what
// happened in one repeat of three.
func addsUp(metric string) bool {
	return slices.Contains([]string{Violations, ItemsLost, ItemsDoubled, OutOfStep, Orphans, TornReads}, metric)
}

// isRecovery reports whether a metric is about the time until a recovery.
func isRecovery(metric string) bool { return metric == RecoveryP50 || metric == RecoveryMax }

// failureMetrics returns the metrics that every measurement with faults can have.
func failureMetrics() []string {
	return []string{RecoveryP50, RecoveryMax, Unavailable, FailedOperationsPerOp, RequestsPeak, BytesPeak}
}

// FailureMetrics returns the metrics of faults. Measurements without faults have none of them, except for [Document.Losses].
func FailureMetrics() []string {
	return append(failureMetrics(), Map(lossColumns(), func(c column) string { return c.metric })...)
}

// missed returns the number of faults that met no victim.
func (d *Document) missed() int64 {
	if d.Failure == nil {
		return 0
	}
	return d.Failure.Missed
}

// AtLeast reports whether the true value of a metric may be larger, because the load ended before a recovery did.
func (d *Document) AtLeast(metric string) bool {
	return isRecovery(metric) && d.Failure != nil && d.Failure.Unrecovered > 0
}

// AtLeast reports the same of the row's value.
func (r Row) AtLeast(metric string) bool { return isRecovery(metric) && r.Unrecovered > 0 }

// addFailure adds the metrics of faults, and of what was lost with or without them.
func (d *Document) addFailure(metrics map[string]Metric) error {
	f := d.Failure
	if f == nil {
		d.addLosses(metrics, d.Losses)
		return nil
	}
	d.addLosses(metrics, f.Losses)
	metrics[Unavailable] = Metric{float64(f.Unavailable), "ns"}
	metrics[RequestsPeak] = Metric{float64(f.PeakRequests), "requests in a second"}
	metrics[BytesPeak] = Metric{float64(f.PeakBytesIn), "bytes in a second"}
	if ops := float64(d.Window.Operations); ops > 0 {
		metrics[FailedOperationsPerOp] = Metric{float64(f.FailedOperations) / ops, "per op"}
	}
	median, longest, ok, err := f.recoveries()
	if ok {
		metrics[RecoveryP50], metrics[RecoveryMax] = Metric{float64(median), "ns"}, Metric{float64(longest), "ns"}
	}
	return err
}

// addLosses adds the metrics of losses.
func (d *Document) addLosses(metrics map[string]Metric, losses map[string]int64) {
	ops := float64(d.Window.Operations)
	for loss, amount := range losses {
		switch {
		case strings.HasSuffix(loss, "-ns"):
			metrics[loss] = Metric{float64(amount), "ns"}
		case loss != lossFenced:
			metrics[loss] = Metric{float64(amount), lossUnit(loss)}
		case ops > 0:
			metrics[FencedPerOp] = Metric{float64(amount) / ops, "per op"}
		}
	}
}

// lossUnit returns the unit of a loss that is counted.
func lossUnit(loss string) string {
	switch loss {
	case Orphans:
		return "znodes"
	case OutOfStep:
		return "times"
	case TornReads:
		return "uses"
	default:
		return "items"
	}
}

// recoveries returns the median and the maximum of the times until a recovery; ok is false without faults. A fault without a
// recovery counts as the longest of all: as long as the load went on after the first such fault, or as long as the longest
// recovery, whichever is longer.
func (f *Failure) recoveries() (median, longest time.Duration, ok bool, err error) {
	h, err := f.Recovery.Decode()
	all := f.Recovery.Samples + f.Unrecovered
	if err != nil || all == 0 {
		return 0, 0, false, err
	}
	longest = time.Duration(h.Max())
	if f.Unrecovered > 0 {
		longest = max(longest, f.LongestUnrecovered)
	}
	rank := (all + 1) / 2
	if rank > f.Recovery.Samples {
		return longest, longest, true, nil
	}
	return time.Duration(h.ValueAtPercentile(100 * float64(rank) / float64(f.Recovery.Samples))), longest, true, nil
}

// failureFirst returns the columns of a table of measurements with faults: first what the faults cost, then the given ones,
// which are dropped before those. Violations are dropped early, because
// the mark of a broken variant and the verdict below the table report them, too.
func failureFirst(others []column) []column {
	out := []column{
		{"recovery max", 0, RecoveryMax, table.Latency},
		{"recovery p50", 5, RecoveryP50, table.Latency},
		{"unavailable", 0, Unavailable, table.Latency},
		{"failed ops/op", 3, FailedOperationsPerOp, table.Count},
	}
	out = append(out, lossColumns()...)
	out = append(out,
		column{"violations", 2, Violations, table.Whole},
		column{"peak req/s", 12, RequestsPeak, table.Whole},
		column{"peak bytes/s", 12, BytesPeak, table.Bytes})
	for _, c := range others {
		c.need += 5
		out = append(out, c)
	}
	return out
}

// perOp ends the name of a metric that is a loss per operation.
const perOp = "/op"

// loss returns the name of the loss that the column shows.
func (c column) loss() string { return strings.TrimSuffix(c.metric, perOp) }

// lossColumns returns the columns of what was lost, one for each loss.
func lossColumns() []column {
	return []column{
		{"lost", 0, ItemsLost, table.Whole},
		{"doubled", 0, ItemsDoubled, table.Whole},
		{"out of step", 0, OutOfStep, table.Whole},
		{"orphans", 0, Orphans, table.Whole},
		{"blocked", 0, Blocked, table.Latency},
		{"torn", 0, TornReads, table.Whole},
		{"fenced/op", 1, FencedPerOp, table.Count},
	}
}

// faultsLine describes what happened to a faulty scenario's measurements, such as "faults: kill leader at 5s"; empty without
// faults. The formulas of variants hold for loads without faults.
func faultsLine(rows []Row) string {
	if len(rows[0].Faults) == 0 {
		return ""
	}
	text := fmt.Sprintf("faults: %s; counts contain recoveries, so that they are not compared with formulas", strings.Join(rows[0].Faults, "; "))
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Unrecovered > 0 }) {
		text += "; ≥: the load ended before a recovery"
	}
	return text
}
