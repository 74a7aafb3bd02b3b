package results

import (
	"math"
	"slices"
)

// Percentile is a metric that is a percentile of times, or such a percentile in multiples of the floor.
type Percentile struct {
	Histogram         // the times
	Phase     string  // of the times
	Of        float64 // such as 99
}

// Percentile returns the times that a metric is a percentile of; ok is false if it is none, or was not measured.
func (d *Document) Percentile(metric string) (p Percentile, ok bool) {
	m := MetricNamed(metric)
	times, there := d.Times(m.Phase)
	return Percentile{Histogram: times, Phase: m.Phase, Of: m.Percentile}, there && m.Percentile < 100
}

// Scarce reports whether there are too few samples for the percentile to leave out one of them.
func (p Percentile) Scarce() bool { return p.Samples < p.Least() }

// Least returns how many samples there must be so that the percentile leaves out one of them.
func (p Percentile) Least() int64 { return samplesOf(p.Of) }

// samplesOf returns how many samples there must be so that one of them lies beyond a percentile.
func samplesOf(percentile float64) int64 { return int64(math.Round(100 / (100 - percentile))) }

// Hides reports whether clients starve, and the waits that had not ended could change the percentile. One such wait changes the tail,
// and many change any percentile. Only the times of the recipe's phases lack these waits: the response times of an open load contain
// the arrivals that were served after the window.
func (d *Document) Hides(p Percentile) bool {
	isTail := p.Of > 90
	return d.Window.Starves() && slices.Contains(d.Phases, p.Phase) && (isTail || 10*int64(d.Window.StarvingWaits) > p.Samples)
}
