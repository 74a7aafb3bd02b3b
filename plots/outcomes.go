package plots

import (
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
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
	for _, metric := range slices.Concat(s.asked(), slices.Sorted(maps.Keys(measured))) {
		if measured[metric] && isOutcome(metric) {
			out = results.AppendNew(out, metric)
		}
	}
	return out
}

// isOutcome reports whether a metric is a share, a loss, or a number of failures.
func isOutcome(metric string) bool {
	lost := []string{
		results.ItemsLost, results.ItemsDoubled, results.OutOfStep, results.Orphans, results.TornReads, results.FencedPerOp,
		results.FailedOperationsPerOp, results.Violations,
	}
	return slices.Contains(lost, metric) || results.IsShare(metric) && !strings.HasSuffix(metric, "/s")
}
