package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
)

// pairsWidth is the width of the figure of all pairs, which has three panels side by side.
const pairsWidth = 11 * vg.Inch

// fewestPairs is the number of pairs from which on the figure says more than a table.
const fewestPairs = 3

// The looks of the two variants of a pair, which may both be optimized.
func fromLook() look { return look{warm()[0], angular()[0]} }
func toLook() look   { return look{cool()[0], round()[0]} }

// pairsFigure draws the pair of variants of each scenario's overview in a row: how many notifications and requests an operation of
// both costs, and what the second variant gains.
func pairsFigure(docs []*results.Document) []Figure {
	drawable := list.Where(docs, (*results.Document).Drawable)
	pairings := report.Pairings(summary.Of(drawable))
	if len(pairings) < fewestPairs {
		return nil
	}
	rows := [][]*plot.Plot{{
		pairsPanel(pairings, metric.NotificationsPerOp, pairNames(pairings)),
		pairsPanel(pairings, metric.RequestsPerOp, blank(pairings)),
		gainsPanel(pairings),
	}}
	height := rowsAxis + rowHeight*vg.Length(len(pairings))
	return []Figure{{
		Name: "overview", Shows: "Every scenario's pair of variants, at its largest number of clients", Subject: "naive or well-known → optimized, on " + serversOf(drawable),
		legend: []entry{lineEntry("the first variant of the pair", fromLook()), lineEntry("the second one", toLook())},
		width:  pairsWidth, height: height,
		body: func(c draw.Canvas) { drawGrid(rows, []vg.Length{height}, c) },
	}}
}

// serversOf names the servers of all documents.
func serversOf(docs []*results.Document) string {
	return strings.Join(list.AppendNew(nil, list.Map(docs, servers)...), " and ")
}

// pairNames returns the labels of the rows.
func pairNames(pairings []report.Pairing) []string {
	return list.Map(pairings, func(p report.Pairing) string {
		return fmt.Sprintf("%s, %s", p.Naive.Scenario, clientsText(p.Naive.Clients))
	})
}

func blank(pairings []report.Pairing) []string { return slices.Repeat([]string{" "}, len(pairings)) }

// rowsPlot returns a plot with a labelled row for each label, the first one at the top.
func rowsPlot(title string, labels []string) *plot.Plot {
	p := newPlot(title, "", "")
	var ticks plot.ConstantTicks
	for i, label := range labels {
		ticks = append(ticks, plot.Tick{Value: rowOf(i, labels), Label: label})
	}
	p.Y.Min, p.Y.Max = 0.4, float64(len(labels))+0.6
	p.Y.Tick.Marker = ticks
	p.Y.Tick.Width, p.Y.Width = 0, 0
	return p
}

// rowOf returns where the row of a label stands.
func rowOf(i int, labels []string) float64 { return float64(len(labels) - i) }

// pairsPanel draws a cost of both variants, with a line from the first one to the second one.
func pairsPanel(pairings []report.Pairing, metric string, labels []string) *plot.Plot {
	q := quantityOf(metric)
	var all []float64
	for _, p := range pairings {
		for _, row := range []summary.Row{p.Naive, p.Optimized} {
			if m, measured := row.Metrics[metric]; measured {
				all = append(all, m.Value)
			}
		}
	}
	x := scaleOf(all)
	panel := rowsPlot(x.label(q), labels)
	for i, pair := range pairings {
		addPair(panel, pair, rowOf(i, labels), x, q)
	}
	x.set(&panel.X)
	return panel
}

// addPair draws both variants of a pair in a row, unless one of them was not measured.
func addPair(p *plot.Plot, pair report.Pairing, row float64, x scale, q quantity) {
	naive, measured := pair.Naive.Metrics[q.Name]
	optimized, also := pair.Optimized.Metrics[q.Name]
	if !measured || !also {
		return
	}
	from, to := plotter.XY{X: x.at(naive.Value), Y: row}, plotter.XY{X: x.at(optimized.Value), Y: row}
	addLine(p, plotter.XYs{from, to}, draw.LineStyle{Color: gray(), Width: 1})
	addGlyphs(p, plotter.XYs{from}, fromLook(), glyphRadius)
	addGlyphs(p, plotter.XYs{to}, toLook(), glyphRadius)
	p.Add(spots{pairSpot(from, pair.Naive, q), pairSpot(to, pair.Optimized, q)})
}

func pairSpot(at plotter.XY, row summary.Row, q quantity) spot {
	return spot{at, fmt.Sprintf("%s/%s: %s %s", row.Recipe, row.Variant, q.Format(row.Metrics[q.Name].Value), q.Name)}
}

// gainsPanel draws the factor by which the first metric of each pair is better in its second variant, and names the metric. Metrics
// without a factor are written at 1.
func gainsPanel(pairings []report.Pairing) *plot.Plot {
	const label = "gain, times better" + logLabel
	panel := rowsPlot(label, blank(pairings))
	low, high := 1.0, 1.0
	for _, p := range pairings {
		if f := p.Gains[0].Factor; f > 0 {
			low, high = min(low, f), max(high, f)
		}
	}
	panel.Add(verticalLine{1, gray()})
	for i, p := range pairings {
		g, row := p.Gains[0], rowOf(i, blank(pairings))
		at := plotter.XY{X: 1, Y: row}
		if g.Factor > 0 {
			at.X = g.Factor
			addLine(panel, plotter.XYs{{X: 1, Y: row}, at}, draw.LineStyle{Color: toLook().color, Width: 1.8})
			addGlyphs(panel, plotter.XYs{at}, toLook(), glyphRadius-0.5)
		}
		panel.Add(note{plotter.XY{X: max(at.X, 1), Y: row}, g.Text})
	}
	most := high
	logarithmic(&panel.X, low*0.8, high*math.Pow(high/low, 1.1)*4) // room for the names of the metrics, without ticks
	panel.X.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		return slices.DeleteFunc(decades(low, high), func(t plot.Tick) bool { return t.Value > 2*most })
	})
	return panel
}

// verticalLine is a line across a plot at a value of its x axis.
type verticalLine struct {
	at    float64
	color color.Color
}

// Plot implements [plot.Plotter].
func (l verticalLine) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	if at := x(l.at); at >= c.Min.X && at <= c.Max.X {
		c.StrokeLine2(draw.LineStyle{Color: l.color, Width: 1}, at, c.Min.Y, at, c.Max.Y)
	}
}
