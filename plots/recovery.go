package plots

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// recoveries draws the time from each fault of all repeats to the next operation of another client, with one row for each variant.
// Faults without a recovery before the load ended are counted at the right edge.
func (s *Set) recoveries() []Figure {
	groups := list.Where(s.atMost(), func(g group) bool { return len(g.faults()) > 0 })
	times := slices.Concat(list.Map(groups, group.recoveryTimes)...)
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

func (g group) faults() (all []results.Fault) {
	for _, d := range g.Repeats {
		if d.Failure != nil {
			all = append(all, d.Failure.Faults...)
		}
	}
	return all
}

// recoveryTimes returns times in milliseconds, for the faults of the group after which it recovered.
func (g group) recoveryTimes() []float64 {
	recovered := list.Where(g.faults(), results.Fault.Recovered)
	return list.Map(recovered, func(f results.Fault) float64 { return max(milliseconds(f.Recovery), 0.001) })
}

// addRecoveries draws the recoveries of a group around its row, so that equal ones can be distinguished.
func (g group) addRecoveries(p *plot.Plot, row, right float64) {
	var all []spot
	for i, t := range g.recoveryTimes() {
		text := fmt.Sprintf("%s: recovered after %s", g.Variant, table.Latency(t*1e6))
		all = append(all, spot{plotter.XY{X: t, Y: row + 0.12*float64(i%3-1)}, text})
	}
	addSpots(p, g.look, glyphRadius-0.5, all...)
	if n := len(g.faults()) - len(all); n > 0 {
		p.Add(note(plotter.XY{X: right / 1.75, Y: row + 0.3}, fmt.Sprintf("%d without", n)))
	}
}
