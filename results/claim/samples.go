package claim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// IsTail reports whether a metric is a percentile beyond the 90th.
func IsTail(metric string) bool { return needed(metric) > 1 }

// needed returns how many samples a run must have so that the metric rests on more than a few operations.
func needed(metric string) int64 {
	switch {
	case strings.HasSuffix(metric, "-p99-ns"), strings.HasSuffix(metric, "-p99-slowdown"):
		return 1_000
	case strings.HasSuffix(metric, "-p99.9-ns"):
		return 10_000
	default:
		return 1
	}
}

// Scarce returns why a percentile, or a ratio of two, rests on too few samples to decide anything; nil if it has enough or is none.
func Scarce(d *results.Document, metric string) error {
	if during, alone, ok := results.SlowdownOf(metric); ok {
		return errors.Join(Scarce(d, during), Scarce(d, alone))
	}
	p, ok := d.Percentile(metric)
	switch {
	case !ok:
		return nil
	case p.Dropped > 0:
		return fmt.Errorf("%d latencies were too long for the histogram of %s", p.Dropped, metric)
	case p.Samples < needed(metric):
		return fmt.Errorf("%s of %d samples: each run needs %d; lengthen --duration", metric, p.Samples, needed(metric))
	case d.Hides(p):
		return fmt.Errorf("%s leaves out %d waits that had lasted longer than the p99 when the window ended: clients starve", metric, d.Window.StarvingWaits)
	default:
		return nil
	}
}
