package metric

import (
	"cmp"
	"math"

	"github.com/zkbench/zkbench/results"
)

// cutSteps is the number of steps of each client that the two edges of a window may cut. Their requests are counted, and
// the operations to which these belong are not.
const cutSteps = 2

// Guessed reports whether the metric is a guess, such as the size of herds that are not grouped by zxid.
func Guessed(d *results.Document, metric string) bool {
	return Named(metric).OfHerds() && d.Herd.Grouping == results.GroupedByPathAndTime
}

// AgainstCount returns -1, 0 or 1 if a metric is less than, equal to or more than an exact value. It compares averages as the
// whole numbers from which they were computed, so that rounding makes no difference.
func AgainstCount(d *results.Document, metric string, want float64) int {
	ops := float64(d.Window.Operations)
	return cmp.Compare(math.Round(d.Metrics[metric].Value*ops), math.Round(want*ops))
}

// Exceeds reports whether a metric is over an upper bound. An average may be over it by the steps that the two edges of the
// window cut, except under a load of a number of operations, whose window begins and ends at rest.
func Exceeds(d *results.Document, metric string, bound float64) bool {
	if metric == HerdMax || d.Scenario.Operations > 0 {
		return d.Metrics[metric].Value > bound
	}
	ops := float64(d.Window.Operations)
	return d.Metrics[metric].Value*ops > bound*(ops+float64(cutSteps*d.Batch*d.Clients))
}

// LargestCount is more than any count for one operation or in one second can be. A limit beyond it has no effect.
const LargestCount = 1e12
