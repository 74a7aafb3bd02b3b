package results

import (
	"slices"
	"strings"
)

// OldNames lists the former names that a file uses, each with its new name: "mode drain is now lockstep".
type OldNames []string

// Mode returns the present name of a mode, and notes a former one.
func (o *OldNames) Mode(name string) string {
	current, _ := CurrentMode(name)
	return o.note("mode", name, current)
}

// Metric returns the present name of a metric, and notes a former one.
func (o *OldNames) Metric(name string) string {
	current, _ := CurrentMetric(name)
	return o.note("metric", name, current)
}

// MetricsIn returns a text, such as that of a claim, with the present names of all metrics in it, and notes former ones.
func (o *OldNames) MetricsIn(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = o.Metric(word)
	}
	return strings.Join(words, " ")
}

func (o *OldNames) note(kind, former, current string) string {
	if text := kind + " " + former + " is now " + current; former != current && !slices.Contains(*o, text) {
		*o = append(*o, text)
	}
	return current
}

// Line returns one line that says the new names; empty if there are no former ones.
func (o OldNames) Line(file string) string {
	if len(o) == 0 {
		return ""
	}
	return file + " uses former names: " + strings.Join(o, ", ")
}
