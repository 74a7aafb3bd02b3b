package doubts

import (
	"fmt"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
)

// The shares of a response time that may be delay within zkbench: of the medians, and of the 99th percentiles.
const (
	latenessWarning = 0.10
	latenessInvalid = 0.25
)

// lateArrivals compares the delay of arrivals within zkbench with the times that are reported. It returns the percentile in which the
// delay is the largest share, and that share; 0 without an open load.
func lateArrivals(d *results.Document) (percentile, share float64) {
	if d.Open == nil {
		return 0, 0
	}
	late, err := d.Open.Lateness.Decode()
	if err != nil {
		return 0, 0
	}
	for _, p := range []float64{50, 99} {
		if late.TotalCount() < metric.SamplesOf(p) {
			continue
		}
		reported := d.Metrics[metric.Quantile(results.ServicePhase, p)].Value
		if m, ok := d.Metrics[metric.Quantile(results.ResponsePhase, p)]; ok {
			reported = m.Value
		}
		if s := float64(late.ValueAtPercentile(p)) / reported; reported > 0 && s > share {
			percentile, share = p, s
		}
	}
	return percentile, share
}

// lateness describes the delay of arrivals within zkbench if it is a large share of the times. It is invalid if the times must not be
// used. Those of the embedded server, which runs in the same process, are not those of an ensemble in any case.
func lateness(d *results.Document) (text string, invalid bool) {
	p, share := lateArrivals(d)
	if share <= latenessWarning {
		return "", false
	}
	invalid = share > latenessInvalid && d.Environment.Engine != results.Embedded
	text = fmt.Sprintf("zkbench began arrivals late: %.0f%% of the p%g of the response times is its own delay", 100*share, p)
	return text, invalid
}

// unserved returns how many arrivals of the window have no response time although there are response times; 0 of an open load that
// was served, or beyond the capacity.
func unserved(d *results.Document) int64 {
	if d.Open == nil || d.BeyondCapacity() {
		return 0
	}
	return d.Open.Arrivals - d.Open.Served
}
