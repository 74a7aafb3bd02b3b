package doubts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
)

// Deviation is a count that is not what the variant's formula says. Unless it is [Disturbed], it is true, and recipe and formula differ.
type Deviation struct {
	Metric, Formula string
	Got, Want       float64
	Exact           bool // otherwise, the formula is an upper bound, and Got is above it
}

// String describes the deviation in one line.
func (v Deviation) String() string { return describe([]Deviation{v}, 1) }

// Deviating describes the deviations of repeats, in one line for each count.
func Deviating(repeats []*results.Document) []string {
	all := slices.Concat(list.Map(repeats, Deviations)...)
	same := list.GroupBy(all, func(v Deviation) Deviation { v.Got = 0; return v })
	return list.Map(same, func(of []Deviation) string { return describe(of, len(repeats)) })
}

func describe(of []Deviation, repeats int) string {
	v, show, rule := of[0], "%.4g", "over the bound of"
	if v.Exact {
		show, rule = "%.6g", "not"
	}
	got := list.Map(of, func(v Deviation) float64 { return v.Got })
	ends := list.AppendNew(nil, fmt.Sprintf(show, slices.Min(got)), fmt.Sprintf(show, slices.Max(got)))
	text := v.Metric + " is " + strings.Join(ends, " to ")
	if len(of) < repeats {
		text += fmt.Sprintf(" in %d of %d repeats", len(of), repeats)
	}
	return fmt.Sprintf("%s, %s "+show+" by its formula, %s", text, rule, v.Want, v.Formula)
}

// Deviations compares the counts with the variant's formulas, except for a load with faults, in which a recovery costs more than they say.
func Deviations(d *results.Document) (out []Deviation) {
	if d.Scenario.Faulty() {
		return nil
	}
	exact := d.CountsExactly()
	for _, name := range metric.WithFormula() {
		cost, stated := d.Expected.Costs[name]
		m, measured := d.Metrics[name]
		if !stated || !measured || metric.Guessed(d, name) {
			continue
		}
		if exact && metric.AgainstCount(d, name, cost.Value) != 0 || !exact && metric.Exceeds(d, name, cost.Value) {
			out = append(out, Deviation{Metric: name, Formula: cost.Formula, Got: m.Value, Want: cost.Value, Exact: exact})
		}
	}
	return out
}

// Disturbed returns why a count of these repeats that is not as expected may come from a disturbance; empty if it comes from the recipe. An
// exact count is certain only if all repeats have it and the servers' counters confirm it. called names a repeat, as [Repeat] does.
func Disturbed(repeats []*results.Document, name string, exact bool, called func(*results.Document) string) string {
	for _, d := range repeats {
		switch {
		case len(d.Invalid) > 0:
			return fmt.Sprintf("%s was disturbed: %s", called(d), d.Invalid[0])
		case !exact:
		case !d.Oracle.Checked || d.Oracle.Doubtful():
			return fmt.Sprintf("no second oracle confirms %s: %s", called(d), d.Oracle.Why)
		case metric.AgainstCount(d, name, repeats[0].Metrics[name].Value) != 0:
			return fmt.Sprintf("it is %.6g in %s and %.6g in %s, and exact counts do not vary", repeats[0].Metrics[name].Value,
				called(repeats[0]), d.Metrics[name].Value, called(d))
		}
	}
	return ""
}

// Repeat names a document among the repeats of a run.
func Repeat(d *results.Document) string { return fmt.Sprintf("repeat %d", d.Repeat) }

// EqualsFormulas reports whether the formulas are exact and each count equals its formula.
func EqualsFormulas(d *results.Document) bool {
	return d.CountsExactly() && len(d.Expected.Costs) > 0 && len(Deviations(d)) == 0
}
