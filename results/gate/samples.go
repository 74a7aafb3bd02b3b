package gate

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// isTail reports whether a metric is a percentile beyond the 90th.
func isTail(metric string) bool { return needed(metric) > 1 }

// needed returns how many samples a run must have so that the metric rests on more than a few operations.
func needed(metric string) int64 {
	switch {
	case strings.HasSuffix(metric, "-p99-ns"):
		return 1_000
	case strings.HasSuffix(metric, "-p99.9-ns"):
		return 10_000
	default:
		return 1
	}
}

// percentileOf returns the latencies of which a metric is a percentile or a multiple of the floor; false if it is neither.
func percentileOf(d *results.Document, metric string) (results.Histogram, bool) {
	if time, ok := results.TimeOfMultiple(metric); ok {
		metric = time
	}
	name, isTime := strings.CutSuffix(metric, "-ns")
	h, there := d.Times(name[:max(strings.LastIndex(name, "-p"), 0)])
	return h, isTime && there
}

// scarce returns why a percentile rests on too few samples to decide anything; nil if it has enough or is none.
func scarce(d *results.Document, metric string) error {
	h, ok := percentileOf(d, metric)
	switch {
	case !ok:
		return nil
	case h.Dropped > 0:
		return fmt.Errorf("%d latencies were too long for the histogram of %s", h.Dropped, metric)
	case h.Samples < needed(metric):
		return fmt.Errorf("%s of %d samples: each run needs %d; lengthen --duration", metric, h.Samples, needed(metric))
	case hides(d, metric, h.Samples):
		return fmt.Errorf("%s leaves out %d waits that had lasted longer than the p99 when the window ended: clients starve", metric, d.Window.StarvingWaits)
	default:
		return nil
	}
}

// hides reports whether the waits that had not ended could change a percentile. One such wait changes the tail, and many
// change any percentile.
func hides(d *results.Document, metric string, samples int64) bool {
	return d.Window.Starves() && (isTail(metric) || 10*int64(d.Window.StarvingWaits) > samples)
}
