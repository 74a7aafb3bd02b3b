package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
)

// The size of an ordinary figure.
const (
	figureWidth  = 8 * vg.Inch
	figureHeight = 4.5 * vg.Inch
	figureMargin = vg.Length(8)
)

// The color families, warm for naive variants, cool for optimized ones and plain for those of libraries, also differ in lightness.
func warm() []color.RGBA {
	return []color.RGBA{{0xd9, 0x48, 0x01, 0xff}, {0x99, 0x00, 0x0d, 0xff}, {0xf1, 0xa3, 0x40, 0xff}, {0xe7, 0x29, 0x8a, 0xff}}
}

func cool() []color.RGBA {
	return []color.RGBA{{0x08, 0x51, 0x9c, 0xff}, {0x1b, 0x9e, 0x77, 0xff}, {0x6a, 0x51, 0xa3, 0xff}, {0x41, 0xb6, 0xc4, 0xff}}
}

func plain() []color.RGBA {
	return []color.RGBA{{0x25, 0x25, 0x25, 0xff}, {0x73, 0x73, 0x73, 0xff}, {0xa6, 0xa6, 0xa6, 0xff}}
}

// palette has the color of each variant in all figures of a set.
type palette map[string]color.RGBA

func newPalette(docs []*results.Document) palette {
	names := map[string][]string{}
	for _, d := range docs {
		names[d.Kind] = append(names[d.Kind], d.Variant)
	}
	p := palette{}
	for kind, variants := range names {
		slices.Sort(variants)
		family := cool()
		switch kind {
		case "naive":
			family = warm()
		case "library":
			family = plain()
		}
		for i, v := range slices.Compact(variants) {
			p[v] = family[i%len(family)]
		}
	}
	return p
}

func gray() color.RGBA { return color.RGBA{0x55, 0x55, 0x55, 0xff} }

// newPlot returns an empty plot in the common style.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font.Size = 13
	p.Title.Padding = 6
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Size = 11
		axis.Tick.Label.Font.Size = 10
		axis.Padding = 2
		axis.Tick.Marker = plot.TickerFunc(plainTicks)
	}
	p.Legend.TextStyle.Font.Size = 10
	p.Legend.Padding = 2
	p.Legend.ThumbnailWidth = 22
	grid := plotter.NewGrid()
	light := color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
	grid.Vertical.Color, grid.Horizontal.Color = light, light
	p.Add(grid)
	return p
}

// solid is the style of measured values.
func solid(c color.Color) draw.LineStyle { return draw.LineStyle{Color: c, Width: 1.8} }

// dashed is the style of formulas. Its darker color shows on top of an equal measurement.
func dashed(c color.RGBA) draw.LineStyle {
	dark := color.RGBA{c.R / 2, c.G / 2, c.B / 2, 0xff}
	return draw.LineStyle{Color: dark, Width: 1.2, Dashes: []vg.Length{4, 3}}
}

// addLine adds a line, with a legend entry if label is not empty.
func addLine(p *plot.Plot, label string, xys plotter.XYs, style draw.LineStyle) {
	if len(xys) == 0 {
		return
	}
	line := &plotter.Line{XYs: xys, LineStyle: style}
	p.Add(line)
	if label != "" {
		p.Legend.Add(label, line)
	}
}

// addDots adds round dots.
func addDots(p *plot.Plot, xys plotter.XYs, c color.Color, radius vg.Length) {
	p.Add(&plotter.Scatter{XYs: xys, GlyphStyle: draw.GlyphStyle{Color: c, Radius: radius, Shape: draw.CircleGlyph{}}})
}

// figureOf returns a figure of a single plot.
func figureOf(name string, p *plot.Plot) figure {
	return figure{name: name, width: figureWidth, height: figureHeight, draw: func(c draw.Canvas) {
		p.Draw(draw.Crop(c, figureMargin, -figureMargin, figureMargin, -figureMargin))
	}}
}

// milliseconds converts a latency to the unit of the axes.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// decades ticks a logarithmic axis at powers of ten, and also at 2 and 5 times each if the axis spans few of them.
func decades(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	steps := []float64{1, 2, 5}
	if high/low > 2000 {
		steps = steps[:1]
	}
	for power := math.Floor(math.Log10(low)); power <= math.Ceil(math.Log10(high)); power++ {
		for _, step := range steps {
			if v := step * math.Pow(10, power); v >= low*0.999 && v <= high*1.001 {
				ticks = append(ticks, plot.Tick{Value: v, Label: plainNumber(v)})
			}
		}
	}
	return ticks
}

func plainNumber(v float64) string {
	text := fmt.Sprintf("%.6f", v)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// plainTicks are gonum's default ticks with labels without superfluous digits.
func plainTicks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = plainNumber(t.Value)
		}
	}
	return ticks
}

// unlabelledTicks are those of an axis whose numbers are shown by another panel.
func unlabelledTicks(low, high float64) []plot.Tick { return unlabelled(plainTicks(low, high)) }

func unlabelled(ticks []plot.Tick) []plot.Tick {
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = " " // a tick without a label would be minor, without a grid line
		}
	}
	return ticks
}

// indexTicks ticks an axis of n clients at whole indices from 0.
func indexTicks(n int) plot.TickerFunc {
	return func(float64, float64) []plot.Tick {
		ticks := plainTicks(0, float64(n-1))
		return slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value != math.Trunc(t.Value) })
	}
}

// logarithmic makes an axis logarithmic with the given range.
func logarithmic(axis *plot.Axis, low, high float64) {
	axis.Scale = plot.LogScale{}
	axis.Tick.Marker = plot.TickerFunc(decades)
	axis.Min, axis.Max = low, high
}
