package plots

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
)

// quantity is a metric with the label of its axis, and the factor from its values to the axis.
type quantity struct {
	metric.Descriptor
	label  string
	factor float64
}

func quantityOf(name string) quantity {
	m := metric.Named(name)
	label, factor := m.Axis()
	return quantity{m, label, factor}
}

// format formats a value on the axis as tables do. If that has only zeros, it uses two significant digits.
func (q quantity) format(value float64) string {
	text := q.Format(value / q.factor)
	if value != 0 && !strings.ContainsAny(text, "123456789") {
		return fmt.Sprintf("%.2g", value)
	}
	return text
}

// point is a value at a place of the x axis, such as the median of a metric at a number of clients, with the extremes of its repeats.
type point struct {
	x, value, low, high float64
	text                string // shown to a reader who points at it
}

type series struct {
	name   string
	look   look
	points []point
}

func (s series) last() point { return s.points[len(s.points)-1] }

func (s series) xys() plotter.XYs {
	return list.Map(s.points, func(pt point) plotter.XY { return plotter.XY{X: pt.x, Y: pt.value} })
}

func pointsOf(all []series) []point {
	return slices.Concat(list.Map(all, func(s series) []point { return s.points })...)
}

func values(all []series) []float64 {
	return slices.Concat(list.Map(pointsOf(all), func(pt point) []float64 { return []float64{pt.low, pt.value, pt.high} })...)
}

func legendOf(all []series) []entry {
	return list.Map(all, func(s series) entry { return lineEntry(s.name, s.look) })
}

func (s series) addTo(p *plot.Plot, style draw.LineStyle) {
	for _, pt := range s.points {
		if pt.high > pt.low {
			addLine(p, plotter.XYs{{X: pt.x, Y: pt.low}, {X: pt.x, Y: pt.high}}, thin(s.look.color))
		}
	}
	addLine(p, s.xys(), style)
	addSpots(p, s.look, glyphRadius, list.Map(s.points, func(pt point) spot { return spot{plotter.XY{X: pt.x, Y: pt.value}, pt.text} })...)
}

func addLine(p *plot.Plot, xys plotter.XYs, style draw.LineStyle) {
	if len(xys) > 0 {
		p.Add(&plotter.Line{XYs: xys, LineStyle: style})
	}
}

const glyphRadius = vg.Length(3)

func addSpots(p *plot.Plot, l look, radius vg.Length, all ...spot) {
	if len(all) > 0 {
		xys := list.Map(all, func(s spot) plotter.XY { return s.XY })
		p.Add(&plotter.Scatter{XYs: xys, GlyphStyle: l.style(radius)}, spots(all...))
	}
}

// spot is a place of a figure where a reader can point to see its numbers.
type spot struct {
	plotter.XY
	text string // empty if it has no numbers
}

// plotFunc is a [plot.Plotter] that takes no room from the data.
type plotFunc func(c draw.Canvas, p *plot.Plot)

// Plot implements [plot.Plotter].
func (f plotFunc) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// spots returns spots for a plot. They are invisible: only an [inlineCanvas] draws them.
func spots(all ...spot) plotFunc {
	return func(c draw.Canvas, p *plot.Plot) {
		inline, ok := innermost(c).(*inlineCanvas)
		if !ok {
			return
		}
		x, y := p.Transforms(&c)
		for _, one := range all {
			if at := (vg.Point{X: x(one.X), Y: y(one.Y)}); one.text != "" && c.Contains(at) {
				inline.spot(at, one.text)
			}
		}
	}
}

func innermost(c draw.Canvas) vg.Canvas {
	for {
		inner, cropped := c.Canvas.(draw.Canvas)
		if !cropped {
			return c.Canvas
		}
		c = inner
	}
}

// note returns a text to the right of a point.
func note(at plotter.XY, text string) plotFunc {
	return func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		style := textStyle(noteSize)
		style.YAlign = draw.YCenter
		c.FillText(style, vg.Point{X: x(at.X) + 7, Y: y(at.Y)}, text)
	}
}

func upright(at float64, style draw.LineStyle) plotFunc {
	return func(c draw.Canvas, p *plot.Plot) {
		x, _ := p.Transforms(&c)
		if at := x(at); at >= c.Min.X && at <= c.Max.X {
			c.StrokeLine2(style, at, c.Min.Y, at, c.Max.Y)
		}
	}
}

func band(from, to float64, color color.Color) plotFunc {
	return func(c draw.Canvas, p *plot.Plot) {
		x, _ := p.Transforms(&c)
		left, right := max(x(from), c.Min.X), min(x(to), c.Max.X)
		if right >= left {
			c.FillPolygon(color, []vg.Point{{X: left, Y: c.Min.Y}, {X: right, Y: c.Min.Y}, {X: right, Y: c.Max.Y}, {X: left, Y: c.Max.Y}})
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
