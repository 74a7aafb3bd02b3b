package claim

import (
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/results"
)

// Scarce returns why a percentile, or a ratio of two, rests on too few samples to decide anything; nil if it has enough or is none.
func Scarce(d *results.Document, metric string) error {
	m := results.MetricNamed(metric)
	if during, alone, ok := m.Slowdown(); ok {
		return errors.Join(Scarce(d, during), Scarce(d, alone))
	}
	p, ok := d.Percentile(metric)
	switch {
	case !ok:
		return nil
	case p.Dropped > 0:
		return fmt.Errorf("%d latencies were too long for the histogram of %s", p.Dropped, metric)
	case p.Samples < m.Samples():
		return fmt.Errorf("%s of %d samples: each run needs %d; lengthen --duration", metric, p.Samples, m.Samples())
	case d.Hides(p):
		return fmt.Errorf("%s leaves out %d waits that had lasted longer than the p99 when the window ended: clients starve",
			metric, d.Window.StarvingWaits)
	default:
		return nil
	}
}
