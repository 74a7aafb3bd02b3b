package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
)

// pairsWidth leaves room for three panels side by side.
const pairsWidth = 13 * vg.Inch

// fewestPairs is the least number of pairs for which a figure says more than a table.
const fewestPairs = 3

// The looks of the two variants of a pair. Both variants may be optimized ones.
func fromLook() look { return warm().look(0) }
func toLook() look   { return cool().look(0) }

// Overview draws the pair of variants of each scenario's overview in a row: the notifications and requests of an operation of both, and
// the gain of the second variant. It returns no figure for fewer than three pairs.
func Overview(docs []*results.Document) []Figure {
	drawable := list.Where(docs, (*results.Document).Drawable)
	pairings := report.Pairings(summary.Of(drawable))
	if len(pairings) < fewestPairs {
		return nil
	}
	names := list.Map(pairings, func(p report.Pairing) string {
		return fmt.Sprintf("%s, %s", p.Naive.Scenario, clientsText(p.Naive.Clients))
	})
	return []Figure{{
		Name: "overview", Shows: "Every scenario's pair of variants, at its largest number of clients",
		Subject: "naive or well-known → optimized, on " + strings.Join(list.AppendNew(nil, list.Map(drawable, servers)...), " and "),
		legend:  []entry{lineEntry("the first variant of the pair", fromLook()), lineEntry("the second one", toLook())},
		width:   pairsWidth, heights: []vg.Length{rowsAxis + rowHeight*vg.Length(len(pairings))},
		rows: [][]*plot.Plot{{
			pairsPanel(pairings, metric.NotificationsPerOp, names, true),
			pairsPanel(pairings, metric.RequestsPerOp, names, false),
			gainsPanel(pairings, names),
		}},
	}}
}

func pairsPanel(pairings []report.Pairing, name string, labels []string, named bool) *plot.Plot {
	q := quantityOf(name)
	panel := rowsPlot(q.label, labels, named)
	var all []float64
	for i, pair := range pairings {
		var both []spot
		for _, row := range []summary.Row{pair.Naive, pair.Optimized} {
			if m, measured := row.Metrics[name]; measured {
				text := fmt.Sprintf("%s/%s: %s %s", row.Recipe, row.Variant, q.Format(m.Value), name)
				both = append(both, spot{plotter.XY{X: m.Value, Y: rowOf(i, labels)}, text})
				all = append(all, m.Value)
			}
		}
		if len(both) == 2 {
			addLine(panel, plotter.XYs{both[0].XY, both[1].XY}, thin(gray()))
			addSpots(panel, fromLook(), glyphRadius, both[0])
			addSpots(panel, toLook(), glyphRadius, both[1])
		}
	}
	setScale(&panel.X, &panel.Title.Text, all)
	return panel
}

// gainsPanel draws by which factor the first metric of each pair is better in its second variant. Those without a factor are written at 1.
func gainsPanel(pairings []report.Pairing, labels []string) *plot.Plot {
	panel := rowsPlot("gain, times better", labels, false)
	panel.Add(upright(1, thin(gray())))
	low, high := 1.0, 1.0
	for i, p := range pairings {
		g, row := p.Gains[0], rowOf(i, labels)
		if f := g.Factor; f > 0 {
			low, high = min(low, f), max(high, f)
			addLine(panel, plotter.XYs{{X: 1, Y: row}, {X: f, Y: row}}, solid(toLook().color))
			addSpots(panel, toLook(), glyphRadius-0.5, spot{XY: plotter.XY{X: f, Y: row}})
		}
		panel.Add(note(plotter.XY{X: max(g.Factor, 1), Y: row}, g.Label))
	}
	logarithmic(&panel.X, &panel.Title.Text, low*0.8, high*math.Pow(high/low, 1.6)*8) // room for the names of the metrics, without ticks
	most := high
	panel.X.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		return slices.DeleteFunc(decades(low, high), func(t plot.Tick) bool { return t.Value > 2*most })
	})
	return panel
}
