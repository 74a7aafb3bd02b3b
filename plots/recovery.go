package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// recoveries draws the time from each fault of all repeats to the next operation of another client, with one row for each variant.
// Faults without a recovery before the load ended stand at the right edge.
func (s *set) recoveries() []Figure {
	var groups [][]*results.Document
	var times []float64
	for _, g := range s.atMost() {
		recovered, unrecovered := recoveryTimes(g)
		if len(recovered)+unrecovered > 0 {
			groups = append(groups, g)
		}
		times = append(times, recovered...)
	}
	if len(groups) == 0 || len(times) == 0 {
		return nil
	}
	x := recoveryScale(times)
	labels := list.Map(groups, func(g []*results.Document) string { return g[0].Variant })
	p := rowsPlot("recovery, ms"+logLabel, labels)
	for i, g := range groups {
		s.addRecoveries(p, g, rowOf(i, labels), x)
	}
	logarithmic(&p.X, x.low, x.high)
	n := s.mostClients()
	panels := []*plot.Plot{p}
	f := s.gridFigure(fmt.Sprintf("recovery-n%d", n), "Recovery after each fault, "+clientsText(n), panels, nil)
	return []Figure{f.rowsOf(panels, len(labels))}
}

// recoveryScale is logarithmic for any times.
func recoveryScale(times []float64) scale {
	x := scale{low: math.Inf(1), logarithmic: true}
	for _, t := range times {
		x.low, x.high = min(x.low, t), max(x.high, t)
	}
	x.low, x.high = x.low*0.7, x.high*2
	return x
}

// recoveryTimes returns the recoveries of all listed faults of a group, in milliseconds, and how many faults have none.
func recoveryTimes(group []*results.Document) (recovered []float64, unrecovered int) {
	for _, d := range group {
		if d.Failure == nil {
			continue
		}
		for _, f := range d.Failure.Faults {
			if !f.Recovered() {
				unrecovered++
				continue
			}
			recovered = append(recovered, max(milliseconds(f.Recovery), 0.001))
		}
	}
	return recovered, unrecovered
}

// addRecoveries draws the recoveries of a group around its row, so that equal ones are told apart.
func (s *set) addRecoveries(p *plot.Plot, group []*results.Document, row float64, x scale) {
	recovered, unrecovered := recoveryTimes(group)
	var xys plotter.XYs
	var all spots
	for i, t := range recovered {
		xy := plotter.XY{X: t, Y: row + 0.12*float64(i%3-1)}
		xys = append(xys, xy)
		all = append(all, spot{xy, fmt.Sprintf("%s: recovered after %s", group[0].Variant, table.Latency(t*1e6))})
	}
	addGlyphs(p, xys, s.looks[group[0].Variant], glyphRadius-0.5)
	p.Add(all)
	if unrecovered > 0 {
		p.Add(note{plotter.XY{X: x.high / 1.75, Y: row + 0.3}, fmt.Sprintf("%d without", unrecovered)})
	}
}
