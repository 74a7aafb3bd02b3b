package report

import (
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

type column struct {
	need   int // see [table.Column]
	metric string
}

func (c column) header() table.Column {
	return table.Column{Title: metric.Named(c.metric).Head, Right: true, Need: c.need}
}

func cells(r summary.Row, columns []column) []any {
	return list.Map(columns, func(c column) any { return Show(r, c.metric) })
}

// columns returns the columns after the number of clients and the variant, from left to right. Throughput, requests and notifications are
// never dropped. Of the latencies, those of the first phases of a recipe are the most informative, so that they are dropped last.
func columns(phases []string) []column {
	out := []column{{0, metric.Finished}, {0, metric.OpsPerSecond}}
	for i, phase := range phases {
		middle, tail := 2*i+1, 2*i+6
		if i > 0 { // the tails of the other phases are more informative than their medians
			middle, tail = tail, 2*i+1
		}
		out = append(out, column{middle, metric.Quantile(phase, 50)})
		if i == 0 {
			out = append(out, column{2, metric.FloorMultiple(phase)}) // dropped before the median to its left
		}
		out = append(out, column{tail, metric.Quantile(phase, 99)})
	}
	for _, s := range metric.Shares(phases) { // tableOf drops those that were not measured
		out = append(out, column{0, s.Metric()})
	}
	return append(out,
		column{0, metric.HeapPerWatch},
		column{0, metric.NotificationsPerOp},
		column{7, metric.SpuriousWakeupsPerOp},
		column{0, metric.RequestsPerOp},
		column{0, metric.RequestsPerSecond}, // only if a variant polls
		column{4, metric.FailedWritesPerOp},
		column{1, metric.HerdMax},
		column{3, metric.Quantile(results.BystanderPhase, 99)},
		column{1, metric.BackgroundLatency("read", 50)},
		column{1, metric.BackgroundSlowdown("read", 50)},
		column{5, metric.BackgroundLatency("read", 99)},
		column{4, metric.BackgroundLatency("write", 50)},
		column{5, metric.BackgroundSlowdown("write", 50)}, // dropped before the time to its left
	)
}

// failureFirst returns the columns of a table of measurements with faults: the costs of the faults, then the given ones, which are dropped
// earlier. So are violations, because the mark of a broken variant and the verdict below the table report them, too.
func failureFirst(others []column) []column {
	return slices.Concat(
		[]column{{0, metric.RecoveryMax}, {5, metric.RecoveryP50}, {0, metric.Unavailable}, {3, metric.FailedOperationsPerOp}},
		lossColumns(),
		[]column{{2, metric.Violations}, {12, metric.RequestsPeak}, {12, metric.BytesPeak}},
		list.Map(others, func(c column) column { return column{c.need + 5, c.metric} }))
}

func lossColumns() []column {
	columns := list.Map(metric.Losses(), func(m metric.Descriptor) column { return column{0, m.Name} })
	columns[len(columns)-1].need = 1 // fenced operations were stopped in time
	return columns
}

// openFirst returns the columns of the table of an open load: first arrivals and response times, and the achieved rate for the throughput.
func openFirst(all []column) []column {
	first := []column{
		{0, metric.AchievedPerSecond},
		{0, metric.Quantile(results.ResponsePhase, 50)},
		{0, metric.Quantile(results.ResponsePhase, 99)},
		{2, metric.Quantile(results.ServicePhase, 50)},
		{3, metric.Quantile(results.ServicePhase, 99)},
		{1, metric.BacklogMax},
	}
	others := list.Where(all, func(c column) bool { return c.metric != metric.OpsPerSecond })
	return append(first, list.Map(others, func(c column) column { return column{c.need + 4, c.metric} })...) // dropped before these
}

// keepAsked drops the columns that the scenario asks about last, with throughput, requests, notifications and outages.
func keepAsked(all []column, asks []string) []column {
	kept := slices.Concat(asks, []string{
		metric.OpsPerSecond, metric.RequestsPerOp, metric.NotificationsPerOp, metric.RecoveryMax, metric.Unavailable,
	})
	return list.Map(all, func(c column) column {
		switch {
		case slices.Contains(kept, c.metric):
			c.need = min(c.need, 1)
		case c.need > 0:
			c.need++
		}
		return c
	})
}
