package metric

import (
	"github.com/zkbench/zkbench/results"
)

// AtLeast reports whether the true value of a metric may be larger, because the load ended before a recovery did.
func AtLeast(d *results.Document, metric string) bool {
	return Named(metric).OfRecovery() && d.Failure != nil && d.Failure.Unrecovered > 0
}

// recoveries returns the median and the maximum of the times until a recovery; ok is false without faults. A fault without a
// recovery counts as the longest of all: as long as the load went on after the first such fault, or as long as the longest
// recovery, whichever is longer.
func recoveries(d *results.Document) (median, longest float64, ok bool) {
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
