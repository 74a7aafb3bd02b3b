package compare

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// defaultMetrics returns the metrics that are compared by default: throughput, the median of the first two phases, and the
// counts that load the ensemble. Tails are left out, because a few repeats cannot distinguish them. Of measurements with faults,
// what the faults cost comes first. Of open loads, whose throughput is the rate, the response times take its place.
func defaultMetrics(d *results.Document) []string {
	out, phases := results.FailureMetrics(), d.Phases
	if d.Rate > 0 {
		out = append(out, results.Quantile(results.ResponsePhase, 50), results.Quantile(results.ResponsePhase, 90))
	} else {
		out = append(out, results.OpsPerSecond)
	}
	for _, phase := range phases[:min(len(phases), 2)] {
		out = append(out, results.Quantile(phase, 50))
	}
	return append(out, results.RequestsPerOp, results.WritesPerOp, results.NotificationsPerOp, results.HerdMax)
}

// names returns the names of all metrics that any of the documents has, sorted.
func names(docs []*results.Document) []string {
	var all []string
	for _, d := range docs {
		all = slices.AppendSeq(all, maps.Keys(d.Metrics))
	}
	return results.Distinct(all)
}

// metrics returns the metrics to compare, in the order of the patterns.
func (m match) metrics(patterns []string) []string {
	if len(patterns) == 0 {
		patterns = defaultMetrics(m.base.docs[0])
	}
	var out []string
	for _, p := range patterns {
		for _, name := range names(m.documents()) {
			if fits(p, name) {
				out = results.AppendNew(out, name)
			}
		}
	}
	return out
}

// fits reports whether a name matches a pattern. A slash in a metric is an ordinary character, and is hidden from path.Match.
func fits(pattern, name string) bool {
	hide := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(hide(pattern), hide(name))
	return ok && err == nil
}

// checkMetrics returns an error for a pattern without a match.
func checkMetrics(matches []match, patterns []string) error {
	var docs []*results.Document
	for _, m := range matches {
		docs = append(docs, m.documents()...)
	}
	known := names(docs)
	for _, p := range patterns {
		if !slices.ContainsFunc(known, func(name string) bool { return fits(p, name) }) {
			return fmt.Errorf("--metrics: no metric matches %q; there are: %s", p, strings.Join(known, ", "))
		}
	}
	return nil
}
