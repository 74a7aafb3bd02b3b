package plots

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
)

// outcomes draws what the users of a variant get: shares such as stale reads, items lost or processed twice, and operations that
// failed.
func (s *set) outcomes() []Figure {
	return s.metricFigure("outcomes", "What users get", s.outcomeMetrics())
}

// outcomeMetrics returns the outcomes that were measured, those that the scenario is about first.
func (s *set) outcomeMetrics() []string {
	measured := map[string]bool{}
	for _, d := range s.docs {
		for metric := range d.Metrics {
			measured[metric] = true
		}
	}
	var out []string
	for _, name := range slices.Concat(s.asked(), slices.Sorted(maps.Keys(measured))) {
		if kind := metric.Named(name).Kind; measured[name] && (kind == metric.KindLoss || kind == metric.KindShare) {
			out = list.AppendNew(out, name)
		}
	}
	return out
}
