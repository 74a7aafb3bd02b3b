package results

import (
	"fmt"
	"slices"
)

// missed returns the number of faults that met no victim.
func (d *Document) missed() int64 {
	if d.Failure == nil {
		return 0
	}
	return d.Failure.Missed
}

// AtLeast reports whether the true value of a metric may be larger, because the load ended before a recovery did.
func (d *Document) AtLeast(metric string) bool {
	return MetricNamed(metric).OfRecovery() && d.Failure != nil && d.Failure.Unrecovered > 0
}

// AtLeast reports the same of the row's value.
func (r Row) AtLeast(metric string) bool {
	return MetricNamed(metric).OfRecovery() && r.Unrecovered > 0
}

// recoveries returns the median and the maximum of the times until a recovery; ok is false without faults. A fault without a
// recovery counts as the longest of all: as long as the load went on after the first such fault, or as long as the longest
// recovery, whichever is longer.
func (d *Document) recoveries() (median, longest float64, ok bool) {
	f := d.Failure
	if f == nil {
		return 0, 0, false
	}
	h, err := f.Recovery.Decode()
	all := f.Recovery.Samples + f.Unrecovered
	if err != nil || all == 0 {
		return 0, 0, false
	}
	longest = float64(h.Max())
	if f.Unrecovered > 0 {
		longest = max(longest, float64(f.LongestUnrecovered))
	}
	rank := (all + 1) / 2
	if rank > f.Recovery.Samples {
		return longest, longest, true
	}
	return float64(h.ValueAtPercentile(100 * float64(rank) / float64(f.Recovery.Samples))), longest, true
}

// failureFirst returns the columns of a table of measurements with faults: first what the faults cost, then the given ones,
// which are dropped before those. Violations are dropped early, because
// the mark of a broken variant and the verdict below the table report them, too.
func failureFirst(others []column) []column {
	out := []column{
		{0, RecoveryMax},
		{5, RecoveryP50},
		{0, Unavailable},
		{3, FailedOperationsPerOp},
	}
	out = append(out, lossColumns()...)
	out = append(out,
		column{2, Violations},
		column{12, RequestsPeak},
		column{12, BytesPeak})
	for _, c := range others {
		c.need += 5
		out = append(out, c)
	}
	return out
}

// lossColumns returns the columns of what was lost, one for each loss.
func lossColumns() []column {
	columns := Map(losses(), func(m Descriptor) column { return column{0, m.Name} })
	columns[len(columns)-1].need = 1 // fenced operations were stopped in time
	return columns
}

// faultsLine describes what happened to a faulty scenario's measurements, such as "faults: kill leader at 5s"; empty without
// faults. The formulas of variants hold for loads without faults.
func faultsLine(rows []Row) string {
	if len(rows[0].Faults) == 0 {
		return ""
	}
	text := fmt.Sprintf("faults: %s; counts contain recoveries, so that they are not compared with formulas", FaultsText(rows[0].Faults))
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Unrecovered > 0 }) {
		text += "; ≥: the load ended before a recovery"
	}
	return text
}
