package plots

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results/list"
)

// point is a metric's median at a place of the axis, such as a number of clients, with the extremes of its repeats.
type point struct{ x, value, low, high float64 }

// series is a metric of one variant at several places of the axis.
type series struct {
	name   string
	look   look
	points []point
}

// againstClients returns a metric of each variant for each number of clients, in the unit of its quantity. Variants without a value
// are left out.
func (s *set) againstClients(q quantity) []series {
	var out []series
	for _, variant := range s.variants() {
		one := series{name: variant[0][0].Variant, look: s.looks[variant[0][0].Variant]}
		for _, group := range variant {
			row := s.rows[group[0]]
			if m, ok := row.Metrics[q.Name]; ok {
				one.points = append(one.points, point{float64(row.Clients), q.factor * m.Value, q.factor * min(m.Min, m.Value), q.factor * max(m.Max, m.Value)})
			}
		}
		if len(one.points) > 0 {
			out = append(out, one)
		}
	}
	return out
}

// leastDifference is the ratio of two medians from which on they are different enough to be drawn.
const leastDifference = 1.05

// differ reports whether the series show anything: whether two of their medians differ.
func differ(all []series) bool {
	var least, most float64
	for i, s := range all {
		for j, pt := range s.points {
			if i+j == 0 {
				least, most = pt.value, pt.value
			}
			least, most = min(least, pt.value), max(most, pt.value)
		}
	}
	return most > 0 && most >= leastDifference*least
}

// values returns all values of the series, those of their extremes included.
func values(all []series) []float64 {
	var out []float64
	for _, s := range all {
		for _, pt := range s.points {
			out = append(out, pt.low, pt.value, pt.high)
		}
	}
	return out
}

// addSeries draws a line through the medians, and a whisker from the lowest to the highest repeat of each.
func addSeries(p *plot.Plot, s series, y scale, q quantity) {
	xys := make(plotter.XYs, 0, len(s.points))
	var all spots
	for _, pt := range s.points {
		xy := plotter.XY{X: pt.x, Y: y.at(pt.value)}
		xys = append(xys, xy)
		all = append(all, spot{xy, fmt.Sprintf("%s, %s: %s", s.name, clientsText(int(pt.x)), q.text(pt))})
		if pt.high > pt.low {
			addLine(p, plotter.XYs{{X: pt.x, Y: y.at(pt.low)}, {X: pt.x, Y: y.at(pt.high)}}, draw.LineStyle{Color: s.look.color, Width: 1})
		}
	}
	addLine(p, xys, solid(s.look.color))
	addGlyphs(p, xys, s.look, glyphRadius)
	p.Add(all)
}

// glyphRadius is the size of the shape at a median.
const glyphRadius = vg.Length(3)

// text returns a point's value with its unit and the extremes of its repeats. The title of the panel names the metric.
func (q quantity) text(pt point) string {
	if pt.high > pt.low {
		return fmt.Sprintf("%s (%s to %s)", q.format(pt.value), q.format(pt.low), q.format(pt.high))
	}
	return q.format(pt.value)
}

// format formats a value on the axis as tables do, unless only zeros would be left of it.
func (q quantity) format(value float64) string {
	text := q.Format(value / q.factor)
	if value != 0 && !strings.ContainsAny(text, "123456789") {
		return fmt.Sprintf("%.2g", value)
	}
	return text
}

// spot is a place of a figure that a reader can point at, to see its numbers.
type spot struct {
	plotter.XY
	text string
}

// spots are the spots of a plot. They are invisible: only a canvas that is a spotter takes notice.
type spots []spot

// spotter is a canvas that keeps spots.
type spotter interface {
	spot(at vg.Point, text string)
}

// Plot implements [plot.Plotter].
func (s spots) Plot(c draw.Canvas, p *plot.Plot) {
	canvas, ok := innermost(c).(spotter)
	if !ok {
		return
	}
	x, y := p.Transforms(&c)
	for _, one := range s {
		if at := (vg.Point{X: x(one.X), Y: y(one.Y)}); c.Contains(at) {
			canvas.spot(at, one.text)
		}
	}
}

// innermost returns the canvas that a cropped one draws on.
func innermost(c draw.Canvas) vg.Canvas {
	for {
		inner, cropped := c.Canvas.(draw.Canvas)
		if !cropped {
			return c.Canvas
		}
		c = inner
	}
}

// lineEntry returns the legend entry of a variant's line.
func lineEntry(name string, l look) entry {
	return entry{name, []plot.Thumbnailer{
		&plotter.Line{LineStyle: solid(l.color)},
		&plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: l.color, Radius: glyphRadius, Shape: l.glyph}},
	}}
}

// legendOf returns an entry for each of the series.
func legendOf(all []series) []entry {
	return list.Map(all, func(s series) entry { return lineEntry(s.name, s.look) })
}
