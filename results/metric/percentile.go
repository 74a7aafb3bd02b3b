package metric

import (
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// Times returns the latencies from which the percentiles of a phase are computed: of the recipe, the bystanders, the background, an
// open load, or of connecting. ok is false if there are none.
func Times(d *results.Document, phase string) (h results.Histogram, ok bool) {
	if h, ok = d.Histograms[phase]; ok {
		return h, true
	}
	if name, isAlone := strings.CutPrefix(phase, alonePrefix); isAlone && d.Background != nil {
		return times(d.Background.Alone, name)
	}
	if name, isDuring := strings.CutPrefix(phase, backgroundPrefix); isDuring && d.Background != nil && d.Background.During != nil {
		return times(*d.Background.During, name)
	}
	if phase == connectPhase && d.Connect != nil {
		return d.Connect.Each, true
	}
	return results.Histogram{}, false
}

// Percentile is a metric that is a percentile of times, or such a percentile in multiples of the floor.
type Percentile struct {
	results.Histogram         // the times
	Phase             string  // of the times
	Of                float64 // such as 99
}

// PercentileOf returns the times that a metric is a percentile of; ok is false if it is none, or was not measured.
func PercentileOf(d *results.Document, metric string) (p Percentile, ok bool) {
	m := Named(metric)
	times, there := Times(d, m.Phase)
	return Percentile{Histogram: times, Phase: m.Phase, Of: m.Percentile}, there && m.Percentile < 100
}

// Scarce reports whether there are too few samples for the percentile to leave out one of them.
func (p Percentile) Scarce() bool { return p.Samples < p.Least() }

// Least returns how many samples there must be so that the percentile leaves out one of them.
func (p Percentile) Least() int64 { return SamplesOf(p.Of) }

// SamplesOf returns how many samples there must be so that one of them lies beyond a percentile.
func SamplesOf(percentile float64) int64 { return int64(math.Round(100 / (100 - percentile))) }

// Hides reports whether clients starve, and the waits that had not ended could change the percentile. One such wait changes the tail,
// and many change any percentile. Only the times of the recipe's phases lack these waits: the response times of an open load contain
// the arrivals that were served after the window.
func Hides(d *results.Document, p Percentile) bool {
	isTail := p.Of > 90
	return d.Starves() && slices.Contains(d.Phases, p.Phase) && (isTail || 10*int64(d.Window.StarvingWaits) > p.Samples)
}
