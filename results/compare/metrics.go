package compare

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// usual is what is compared if nothing else is asked for: the pace, how long it takes where it matters most, and the
// counts that others pay for. Tails are left out, which few repeats cannot tell apart.
func usual(phases []string) []string {
	out := []string{results.OpsPerSecond}
	for _, phase := range phases[:min(len(phases), 2)] {
		out = append(out, phase+"-p50-ns")
	}
	return append(out, results.RequestsPerOp, results.WritesPerOp, results.NotificationsPerOp, results.HerdMax)
}

// names returns all metrics that any of the documents have, sorted.
func (m match) names() []string {
	var out []string
	for _, d := range slices.Concat(m.base.docs, m.other.docs) {
		for name := range d.Metrics {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// metrics returns those to compare, in the order in which they were asked for.
func (m match) metrics(patterns []string) []string {
	if len(patterns) == 0 {
		patterns = usual(m.base.docs[0].Phases)
	}
	var out []string
	for _, p := range patterns {
		for _, name := range m.names() {
			if fits(p, name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// fits matches a name with a pattern. A metric's slash separates no folders, and so is hidden from path.Match.
func fits(pattern, name string) bool {
	hide := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(hide(pattern), hide(name))
	return ok && err == nil
}

// checkMetrics refuses names and patterns that fit nothing.
func checkMetrics(matches []match, patterns []string) error {
	var known []string
	for _, m := range matches {
		known = append(known, m.names()...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, p := range patterns {
		if !slices.ContainsFunc(known, func(name string) bool { return fits(p, name) }) {
			return fmt.Errorf("--metrics: nothing is called, or matches, %q; there are: %s", p, strings.Join(known, ", "))
		}
	}
	return nil
}

// isCount tells whether a metric is among those that the formulas of a stepped run make the same each time. Bytes are
// not: the lengths of names are no part of any formula.
func isCount(metric string) bool {
	return slices.Contains([]string{
		results.RequestsPerOp, results.WritesPerOp, results.FailedWritesPerOp, results.NotificationsPerOp, results.UselessWakeupsPerOp,
		results.HerdMean, results.HerdP99, results.HerdMax, results.Violations,
	}, metric)
}

// isHerd tells whether a metric depends on which notifications belong together, which old servers do not tell.
func isHerd(metric string) bool { return strings.HasPrefix(metric, "herd-") }
