package plots

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// recoveries draws the time from each fault of all repeats to the next operation of another client, with one row for each variant.
// Faults without a recovery before the load ended are counted at the right edge.
func (s *Set) recoveries() []Figure {
	var groups []group
	var times []float64
	for _, g := range s.atMost() {
		recovered, unrecovered := g.recoveryTimes()
		if len(recovered)+unrecovered > 0 {
			groups = append(groups, g)
		}
		times = append(times, recovered...)
	}
	if len(times) == 0 {
		return nil
	}
	labels := list.Map(groups, func(g group) string { return g.Variant })
	p := rowsPlot("recovery, ms", labels)
	right := slices.Max(times) * 2
	for i, g := range groups {
		g.addRecoveries(p, rowOf(i, labels), right)
	}
	logarithmic(&p.X, &p.Title.Text, slices.Min(times)*0.7, right)
	return []Figure{rowsOf([]*plot.Plot{p}, len(labels), nil)}
}

// recoveryTimes returns times in milliseconds, for all listed faults of the group.
func (g group) recoveryTimes() (recovered []float64, unrecovered int) {
	for _, d := range g.docs {
		if d.Failure == nil {
			continue
		}
		for _, f := range d.Failure.Faults {
			if f.Recovered() {
				recovered = append(recovered, max(milliseconds(f.Recovery), 0.001))
			} else {
				unrecovered++
			}
		}
	}
	return recovered, unrecovered
}

// addRecoveries draws the recoveries of a group around its row, so that equal ones can be distinguished.
func (g group) addRecoveries(p *plot.Plot, row, right float64) {
	recovered, unrecovered := g.recoveryTimes()
	var all []spot
	for i, t := range recovered {
		text := fmt.Sprintf("%s: recovered after %s", g.Variant, table.Latency(t*1e6))
		all = append(all, spot{plotter.XY{X: t, Y: row + 0.12*float64(i%3-1)}, text})
	}
	addSpots(p, g.look, glyphRadius-0.5, all...)
	if unrecovered > 0 {
		p.Add(note(plotter.XY{X: right / 1.75, Y: row + 0.3}, fmt.Sprintf("%d without", unrecovered)))
	}
}
