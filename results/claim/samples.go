package claim

import (
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
)

// Scarce returns why a percentile, or a ratio of two, rests on too few samples to decide anything; nil if it has enough or is none.
func Scarce(d *results.Document, name string) error {
	m := metric.Named(name)
	if during, alone, ok := m.Slowdown(); ok {
		return errors.Join(Scarce(d, during), Scarce(d, alone))
	}
	p, ok := metric.PercentileOf(d, name)
	switch {
	case !ok:
		return nil
	case p.Dropped > 0:
		return fmt.Errorf("%d latencies were too long for the histogram of %s", p.Dropped, name)
	case p.Samples < m.Samples():
		return fmt.Errorf("%s of %d samples: each run needs %d; lengthen --duration", name, p.Samples, m.Samples())
	case metric.Hides(d, p):
		return fmt.Errorf("%s leaves out %d waits that had lasted longer than the p99 when the window ended: clients starve",
			name, d.Window.StarvingWaits)
	default:
		return nil
	}
}
