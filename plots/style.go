package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/table"
)

// The size of an ordinary figure below its header, and the margin around it.
const (
	figureWidth  = 8 * vg.Inch
	figureHeight = 3.9 * vg.Inch
	figureMargin = vg.Length(8)
)

// The sizes of texts.
const (
	titleSize = 14
	labelSize = 11
	tickSize  = 10
	noteSize  = 9 // on data, such as the names of faults
)

// look is how a variant is drawn: its color, and a shape that tells it apart without color.
type look struct {
	color color.RGBA
	glyph draw.GlyphDrawer
}

// The families of colors: warm for naive variants, cool for optimized ones and plain for those of libraries. Neighbours in a
// family differ in lightness, and so do the first ones of different families, which are drawn together most often. Most of the
// colors are from the palette of Okabe and Ito, which people with any color vision can tell apart.
func warm() []color.RGBA {
	return []color.RGBA{{0xd5, 0x5e, 0x00, 0xff}, {0x7f, 0x1d, 0x1d, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0x8c, 0x5a, 0x2b, 0xff}}
}

func cool() []color.RGBA {
	return []color.RGBA{{0x0b, 0x4f, 0x8a, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0x9b, 0x72, 0xcf, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x00, 0x5f, 0x56, 0xff}}
}

func plain() []color.RGBA {
	return []color.RGBA{{0x25, 0x25, 0x25, 0xff}, {0x73, 0x73, 0x73, 0xff}, {0xa6, 0xa6, 0xa6, 0xff}}
}

// palette has the look of each variant in all figures of a set.
type palette map[string]look

func newPalette(docs []*results.Document) palette {
	names := map[string][]string{}
	for _, d := range docs {
		names[d.Kind] = append(names[d.Kind], d.Variant)
	}
	p := palette{}
	for kind, variants := range names {
		slices.Sort(variants)
		colors, glyphs := cool(), round()
		switch kind {
		case "naive":
			colors, glyphs = warm(), angular()
		case "library":
			colors, glyphs = plain(), crosses()
		}
		for i, v := range slices.Compact(variants) {
			p[v] = look{colors[i%len(colors)], glyphs[i%len(glyphs)]}
		}
	}
	return p
}

func paper() color.RGBA     { return color.RGBA{0xff, 0xff, 0xff, 0xff} }
func gray() color.RGBA      { return color.RGBA{0x55, 0x55, 0x55, 0xff} }
func ink() color.RGBA       { return color.RGBA{0x22, 0x22, 0x22, 0xff} }
func gridColor() color.RGBA { return color.RGBA{0xe4, 0xe4, 0xe4, 0xff} }

// shadeColor marks what was not recorded or not measured, and outageColor the time until a fault was undone.
func shadeColor() color.RGBA  { return color.RGBA{0xee, 0xee, 0xee, 0xff} }
func outageColor() color.RGBA { return color.RGBA{0xff, 0xf1, 0xc9, 0xff} }

// textStyle returns the style of texts in figures.
func textStyle(size vg.Length) text.Style {
	return text.Style{
		Color: ink(), Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		YAlign: draw.YTop, Handler: plot.DefaultTextHandler,
	}
}

// newPlot returns an empty plot in the common style. A title is a small one, for a panel among others.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text = title
	p.Title.TextStyle.Font = textStyle(labelSize).Font
	p.Title.Padding = 4
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = textStyle(labelSize).Font
		axis.Tick.Label.Font = textStyle(tickSize).Font
		axis.Padding = 2
		axis.Tick.Marker = plot.TickerFunc(plainTicks)
		axis.Color, axis.Tick.Color = gray(), gray()
		axis.Label.TextStyle.Color, axis.Tick.Label.Color = ink(), ink()
	}
	p.Title.TextStyle.Color = ink()
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = gridColor(), gridColor()
	p.Add(grid)
	return p
}

// lineWidth is the width of most lines.
const lineWidth = vg.Length(1.8)

// solid is the style of measured values.
func solid(c color.Color) draw.LineStyle { return draw.LineStyle{Color: c, Width: lineWidth} }

// dashed is the style of formulas. Its darker color shows on top of an equal measurement.
func dashed(c color.RGBA) draw.LineStyle {
	dark := color.RGBA{c.R / 2, c.G / 2, c.B / 2, 0xff}
	return draw.LineStyle{Color: dark, Width: 1.2, Dashes: []vg.Length{4, 3}}
}

// addLine adds a line.
func addLine(p *plot.Plot, xys plotter.XYs, style draw.LineStyle) {
	if len(xys) > 0 {
		p.Add(&plotter.Line{XYs: xys, LineStyle: style})
	}
}

// addGlyphs adds the shape of a variant at each point.
func addGlyphs(p *plot.Plot, xys plotter.XYs, l look, radius vg.Length) {
	if len(xys) > 0 {
		p.Add(&plotter.Scatter{XYs: xys, GlyphStyle: draw.GlyphStyle{Color: l.color, Radius: radius, Shape: l.glyph}})
	}
}

// milliseconds converts a latency to the unit of the axes.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// decades ticks a logarithmic axis at powers of ten, and also between them if the axis spans few of them. If it spans less
// than a factor of five, it looks much like a linear axis, and is ticked like one.
func decades(low, high float64) []plot.Tick {
	if high <= 5*low {
		return plainTicks(low, high)
	}
	var ticks []plot.Tick
	steps := []float64{1, 2, 5}
	switch {
	case high > 1000*low:
		steps = []float64{1}
	case high > 50*low:
		steps = []float64{1, 3}
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

// plainNumber formats a number without superfluous digits, and large ones with commas.
func plainNumber(v float64) string {
	if math.Abs(v) >= 10000 && v == math.Trunc(v) {
		return table.Grouped(int64(v))
	}
	digits := fmt.Sprintf("%.6f", v)
	return strings.TrimRight(strings.TrimRight(digits, "0"), ".")
}

// mostTicks is the largest number of ticks of a linear axis.
const mostTicks = 6

// plainTicks ticks a linear axis at multiples of 1, 2 or 5 times a power of ten.
func plainTicks(low, high float64) []plot.Tick {
	if high <= low {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/mostTicks)))
	for _, factor := range []float64{2, 2.5, 2} { // 1, 2, 5 and 10 times
		if (high-low)/step <= mostTicks-1 {
			break
		}
		step *= factor
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high*(1+1e-9); i++ {
		value := i*step + 0 // without the sign of a negative zero
		ticks = append(ticks, plot.Tick{Value: value, Label: plainNumber(value)})
	}
	return ticks
}

// unlabelledTicks are those of an axis whose numbers are shown by another panel.
func unlabelledTicks(low, high float64) []plot.Tick {
	ticks := plainTicks(low, high)
	for i := range ticks {
		ticks[i].Label = " " // a tick without a label would be minor, without a grid line
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

// logarithmic makes an axis logarithmic with the given range, and says so in its label.
func logarithmic(axis *plot.Axis, low, high float64) {
	axis.Scale = plot.LogScale{}
	axis.Tick.Marker = plot.TickerFunc(decades)
	axis.Min, axis.Max = low, high
}
