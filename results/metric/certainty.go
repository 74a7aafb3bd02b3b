package metric

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/table"
)

// Percentile is a metric that is a percentile of times, or such a percentile in multiples of the floor.
type Percentile struct {
	results.Histogram         // the times
	Phase             string  // of the times
	Of                float64 // such as 99
}

// PercentileOf returns the times that a metric is a percentile of; ok is false if the metric is not a percentile, or was not measured.
func PercentileOf(d *results.Document, metric string) (p Percentile, ok bool) {
	m := Named(metric)
	h, there := times(d)[m.Phase]
	return Percentile{Histogram: h, Phase: m.Phase, Of: m.Percentile}, there && m.Percentile < 100
}

// SamplesOf returns how many samples are needed for one of them to lie beyond a percentile.
func SamplesOf(percentile float64) int64 { return int64(math.Round(100 / (100 - percentile))) }

// Rough reports whether a percentile has so few samples that none need lie beyond it, lacks the waits of starving clients, or is of
// times that zkbench itself has delayed.
func Rough(d *results.Document, metric string) bool {
	p, ok := PercentileOf(d, metric)
	delayed := len(d.Health.StoodStill) > 0 && (p.Phase == results.BystanderPhase || p.Phase == results.ResponsePhase)
	return ok && (delayed || p.Samples < SamplesOf(p.Of) || Hides(d, p))
}

// Hides reports whether clients starve, so that waits that had not ended could change the percentile. One such wait changes
// the tail, and many change any percentile. Only the times of the recipe's phases lack these waits: the response times of an
// open load contain the arrivals that were served after the window.
func Hides(d *results.Document, p Percentile) bool {
	isTail := p.Of > 90
	return d.Starves() && slices.Contains(d.Phases, p.Phase) && (isTail || 10*int64(d.Window.StarvingWaits) > p.Samples)
}

// The largest share of a percentile that may be an error of the workers' clocks, unmentioned and at all.
const (
	SmallClockError = 0.05
	MaxClockError   = 0.25 // above it, the percentile is left out
)

// ClockError returns which share of a percentile of a phase may be an error of the workers' clocks: 0 for phases without spans
// between workers, and infinite for a percentile that the clocks have made 0.
func ClockError(d *results.Document, phase string, percentile float64) float64 {
	if _, across := d.Across[phase]; across && d.ClockError() > 0 {
		return d.ClockError() / percentile
	}
	return 0
}

// ClockLimit says by how much the clocks of two workers may differ, as in "up to 24 µs".
func ClockLimit(d *results.Document) string { return "up to " + table.Latency(d.ClockError()) }

// OfHerds reports whether the metric depends on which notifications have the same cause.
func (m Descriptor) OfHerds() bool { return strings.HasPrefix(m.Name, "herd-") }

// Guessed reports whether the metric is a guess, because the servers do not say which notifications have the same cause.
func Guessed(d *results.Document, metric string) bool {
	return d.Herd.Grouping == results.GroupedByPathAndTime && Named(metric).OfHerds()
}

// AtLeast reports whether the true value of a metric may be larger, because the load ended before a recovery did.
func AtLeast(d *results.Document, metric string) bool {
	return d.Failure != nil && d.Failure.Unrecovered > 0 && Named(metric).Phase == recoveryPhase
}

// AgainstCount returns -1, 0 or 1 if a metric is less than, equal to or more than an exact value. It compares averages as the
// whole numbers from which they were computed, so that rounding makes no difference.
func AgainstCount(d *results.Document, metric string, want float64) int {
	ops := float64(d.Window.Operations)
	return cmp.Compare(math.Round(d.Metrics[metric].Value*ops), math.Round(want*ops))
}

// cutSteps is the number of steps of each client that the two edges of a window may cut. Their requests are counted, and
// the operations to which these belong are not.
const cutSteps = 2

// Exceeds reports whether a metric is over an upper bound. An average may be over it by the steps that the two edges of the
// window cut, and by what some workers counted longer than others, except under a load of a number of operations, whose window begins and
// ends at rest.
func Exceeds(d *results.Document, metric string, bound float64) bool {
	if metric == HerdMax || d.Scenario.Operations > 0 {
		return d.Metrics[metric].Value > bound
	}
	ops := float64(d.Window.Operations)
	longer := float64(d.Window.Apart) / float64(max(d.Window.Length(), 1))
	return d.Metrics[metric].Value*ops > bound*(ops*(1+longer)+float64(cutSteps*d.Batch*d.Clients))
}
