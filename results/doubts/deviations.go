package doubts

import (
	"fmt"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
)

// Deviation is a count that is not what the variant's formula says. If nothing disturbed the measurement, the count is true, and recipe and
// formula differ; see [Disturbed].
type Deviation struct {
	Metric, Formula string
	Got, Want       float64
	Exact           bool // otherwise, the formula is an upper bound, and Got is above it
}

// String describes the deviation in one line.
func (v Deviation) String() string {
	if v.Exact {
		return fmt.Sprintf("%s is %.6g, but %s = %.6g by the variant's formula", v.Metric, v.Got, v.Formula, v.Want)
	}
	return fmt.Sprintf("%s is %.4g, over the variant's bound of %.4g (%s)", v.Metric, v.Got, v.Want, v.Formula)
}

// Deviations compares the counts with the variant's formulas. Counts of a load with faults are not compared, because a recovery costs more
// than the operations of the formulas.
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

// Disturbed returns why a count of these repeats that is not as expected may come from a disturbance and not from the recipe; empty if it
// comes from the recipe. An exact count is certain only if all repeats have it and the servers' counters confirm it. called names a repeat,
// as [Repeat] does.
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
