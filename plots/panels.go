package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results/list"
)

// metricFigure returns a figure with a panel for each of the metrics that has something to show; none if there is no such metric.
func (s *set) metricFigure(name, shows string, metrics []string) []Figure {
	panels, drawn := s.metricPanels(metrics)
	if len(panels) == 0 {
		return nil
	}
	if len(s.clients()) == 1 { // rows have their names beside them
		f := s.gridFigure(name, shows, panels, nil)
		return []Figure{f.rowsOf(panels, len(drawn))}
	}
	formulas := s.formulaEntries(metrics)
	if len(panels) > 1 || len(drawn) > mostLabels {
		return []Figure{s.gridFigure(name, shows, panels, append(legendOf(drawn), formulas...))}
	}
	f := s.gridFigure(name, shows, panels, formulas)
	f.body = endLabels{panels[0], drawn, scaleOf(values(drawn))}.drawOn
	return []Figure{f}
}

// metricPanels returns a panel for each of the metrics whose values differ, between variants or with the number of clients, and
// the series that are in them. Metrics without a difference are noted as not drawn.
func (s *set) metricPanels(metrics []string) (panels []*plot.Plot, drawn []series) {
	for _, metric := range metrics {
		q := quantityOf(metric)
		all := s.againstClients(q)
		if len(all) == 0 {
			continue
		}
		if !differ(all) {
			s.same(q, all)
			continue
		}
		panels = append(panels, s.metricPanel(q, all, len(panels)))
		for _, one := range all {
			if !slices.ContainsFunc(drawn, func(o series) bool { return o.name == one.name }) {
				drawn = append(drawn, one)
			}
		}
	}
	return panels, drawn
}

// metricPanel draws a metric against the number of clients, or with one row for each variant if there is only one number. Rows
// have their names only in the first panel of a figure.
func (s *set) metricPanel(q quantity, all []series, place int) *plot.Plot {
	if len(s.clients()) > 1 {
		return s.curvePanel(q, all)
	}
	return rowPanel(q, all, place%panelColumns == 0)
}

// curvePanel draws a metric against the number of clients, with the formulas that are near to what was measured.
func (s *set) curvePanel(q quantity, all []series) *plot.Plot {
	y := scaleOf(slices.Concat(values(all), s.formulaValues(q)))
	p := newPlot(y.label(q), "clients", "")
	for _, one := range all {
		addSeries(p, one, y, q)
	}
	for _, f := range s.formulas(q) {
		for i := range f.xys {
			f.xys[i].Y = y.at(f.xys[i].Y)
		}
		addLine(p, f.xys, dashed(f.look.color))
	}
	y.set(&p.Y)
	s.clientAxis(p)
	return p
}

// clientAxis gives a plot the set's numbers of clients as its x axis.
func (s *set) clientAxis(p *plot.Plot) { setClients(p, s.clients()) }

// setClients gives the x axis ticks at numbers of clients. It is logarithmic if they span about one order of magnitude or more.
func setClients(p *plot.Plot, clients []int) {
	first, last := float64(clients[0]), float64(clients[len(clients)-1])
	p.X.Min, p.X.Max = first-0.05*(last-first), last+0.05*(last-first)
	if last >= 8*first {
		logarithmic(&p.X, first*0.9, last*1.1)
		p.X.Label.Text += logLabel
	}
	p.X.Tick.Marker = clientTicks(clients)
}

// clientTicks ticks an axis at numbers of clients.
func clientTicks(clients []int) plot.ConstantTicks {
	return list.Map(clients, func(n int) plot.Tick { return plot.Tick{Value: float64(n), Label: fmt.Sprint(n)} })
}

// formula is what a variant's formula says for each number of clients.
type formula struct {
	look look
	xys  plotter.XYs
}

// nearFormula is the largest ratio of a bound to what was measured at which the bound is drawn. A bound far above every measurement
// would look like an expectation that was missed.
const nearFormula = 1.5

// formulas returns the formulas of a metric that are near to the measurements at every number of clients.
func (s *set) formulas(q quantity) []formula {
	var out []formula
	for _, variant := range s.variants() {
		f := formula{look: s.looks[variant[0][0].Variant]}
		for _, group := range variant {
			cost, stated := group[0].Expected.Costs[q.Name]
			measured, ok := s.rows[group[0]].Metrics[q.Name]
			if !stated || !ok || cost.Value > nearFormula*measured.Value {
				f.xys = nil
				break
			}
			f.xys = append(f.xys, plotter.XY{X: float64(group[0].Clients), Y: q.factor * cost.Value})
		}
		if len(f.xys) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// formulaValues returns the values of the formulas that are drawn.
func (s *set) formulaValues(q quantity) []float64 {
	var out []float64
	for _, f := range s.formulas(q) {
		for _, xy := range f.xys {
			out = append(out, xy.Y)
		}
	}
	return out
}

// formulaEntries returns the legend entry of formulas; none if no formula of the metrics is drawn.
func (s *set) formulaEntries(metrics []string) []entry {
	for _, metric := range metrics {
		if len(s.clients()) > 1 && len(s.formulas(quantityOf(metric))) > 0 {
			label := "formula, an upper bound"
			if s.docs[0].CountsExactly() {
				label = "formula"
			}
			return []entry{{label, []plot.Thumbnailer{&plotter.Line{LineStyle: dashed(gray())}}}}
		}
	}
	return nil
}

// rowPanel draws a metric with one row for each series, the first one at the top, and the value beside each.
func rowPanel(q quantity, all []series, named bool) *plot.Plot {
	x := scaleOf(values(all))
	if !x.logarithmic {
		x.high *= 1 + valueRoom
	} else {
		x.high *= math.Pow(x.high/x.low, valueRoom)
	}
	labels := make([]string, len(all))
	for i, one := range all {
		labels[i] = " "
		if named {
			labels[i] = one.name
		}
	}
	p := rowsPlot(x.label(q), labels)
	for i, one := range all {
		addRow(p, one, rowOf(i, labels), x, q)
	}
	x.set(&p.X)
	return p
}

// valueRoom is the share of an axis that is left free for a value beside the largest one.
const valueRoom = 0.22

// addRow draws the points of a series in one row.
func addRow(p *plot.Plot, one series, row float64, x scale, q quantity) {
	var all spots
	for _, pt := range one.points {
		xy := plotter.XY{X: x.at(pt.value), Y: row}
		if pt.high > pt.low {
			addLine(p, plotter.XYs{{X: x.at(pt.low), Y: row}, {X: x.at(pt.high), Y: row}}, solid(one.look.color))
		}
		addGlyphs(p, plotter.XYs{xy}, one.look, glyphRadius+0.5)
		p.Add(note{plotter.XY{X: x.at(pt.high), Y: row}, q.format(pt.value)})
		all = append(all, spot{xy, one.name + ": " + q.text(pt)})
	}
	p.Add(all)
}

// note is a text to the right of a point.
type note struct {
	at   plotter.XY
	text string
}

// Plot implements [plot.Plotter].
func (n note) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := textStyle(noteSize)
	style.YAlign = draw.YCenter
	c.FillText(style, vg.Point{X: x(n.at.X) + 7, Y: y(n.at.Y)}, n.text)
}

// mostLabels is the number of curves up to which each is named at its end, without a legend.
const mostLabels = 5

// endLabels names the curves of a plot at their right ends.
type endLabels struct {
	plot   *plot.Plot
	series []series
	y      scale
}

// drawOn draws the plot, and the labels to its right. Labels keep their distance, in the order of the curves' ends.
func (l endLabels) drawOn(c draw.Canvas) {
	const gap = vg.Length(8)
	style := textStyle(tickSize)
	style.YAlign = draw.YCenter
	var widest vg.Length
	for _, one := range l.series {
		widest = max(widest, style.Width(one.name))
	}
	area := draw.Crop(c, 0, -widest-gap-thumbWidth, 0, 0)
	l.plot.Draw(area)
	data := l.plot.DataCanvas(area)
	_, y := l.plot.Transforms(&data)
	ordered := slices.SortedStableFunc(slices.Values(l.series), func(a, b series) int { return cmp.Compare(b.last().value, a.last().value) })
	spread := l.heights(ordered, y, data)
	for i, one := range ordered {
		thumb := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: data.Max.X + gap/2, Y: spread[i] - 5}, Max: vg.Point{X: data.Max.X + gap/2 + thumbWidth - 5, Y: spread[i] + 5},
		}}
		for _, t := range lineEntry(one.name, one.look).thumb {
			t.Thumbnail(&thumb)
		}
		c.FillText(style, vg.Point{X: data.Max.X + gap/2 + thumbWidth, Y: spread[i]}, one.name)
	}
}

// heights returns the heights of labels from the top down: each at the end of its curve, or as far below the one before it as it needs.
// If the last ones leave the plot, all of them move up.
func (l endLabels) heights(ordered []series, y func(float64) vg.Length, data draw.Canvas) []vg.Length {
	out := make([]vg.Length, len(ordered))
	for i, one := range ordered {
		out[i] = y(l.y.at(one.last().value))
		if i > 0 {
			out[i] = min(out[i], out[i-1]-legendRow)
		}
	}
	if below := data.Min.Y - out[len(out)-1]; below > 0 {
		for i := len(out) - 1; i >= 0; i-- {
			lowest := data.Min.Y + legendRow*vg.Length(len(out)-1-i)
			out[i] = max(out[i], lowest)
		}
	}
	return out
}

// last returns the point with the largest number of clients.
func (s series) last() point { return s.points[len(s.points)-1] }
