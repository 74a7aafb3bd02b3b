package plots

import (
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

// The sizes of texts.
const (
	titleSize = 14
	labelSize = 11
	tickSize  = 11
	noteSize  = 11 // on data, such as the names of faults
)

// look is a variant's color, and a shape that identifies it without color.
type look struct {
	color color.RGBA
	glyph draw.GlyphDrawer
}

func (l look) style(radius vg.Length) draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.color, Radius: radius, Shape: l.glyph}
}

func rgb(hex uint32) color.RGBA {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 0xff}
}

// family is the looks of the variants of a kind. Neighbours differ in lightness, and so do the first ones of different families, which
// are drawn together most often. Most of the colors are from the palette of Okabe and Ito, which people with any color vision can
// distinguish.
type family struct {
	colors []color.RGBA
	glyphs []draw.GlyphDrawer
}

func (f family) look(i int) look { return look{f.colors[i%len(f.colors)], f.glyphs[i%len(f.glyphs)]} }

func warm() family {
	return family{
		[]color.RGBA{rgb(0xd55e00), rgb(0x7f1d1d), rgb(0xe69f00), rgb(0xcc79a7), rgb(0x8c5a2b)},
		[]draw.GlyphDrawer{draw.BoxGlyph{}, draw.PyramidGlyph{}, hollow{draw.BoxGlyph{}}, hollow{draw.PyramidGlyph{}}},
	}
}

func cool() family {
	return family{
		[]color.RGBA{rgb(0x0b4f8a), rgb(0x009e73), rgb(0x9b72cf), rgb(0x56b4e9), rgb(0x005f56)},
		[]draw.GlyphDrawer{draw.CircleGlyph{}, ring()},
	}
}

func plain() family {
	return family{
		[]color.RGBA{rgb(0x252525), rgb(0x737373), rgb(0xa6a6a6)},
		[]draw.GlyphDrawer{draw.PlusGlyph{}, draw.CrossGlyph{}},
	}
}

// onDarkPages returns the colors of variants on a dark page. Colors that are only made lighter would become too similar.
func onDarkPages() map[color.RGBA]color.RGBA {
	return map[color.RGBA]color.RGBA{
		rgb(0xd55e00): rgb(0xff8033), rgb(0x7f1d1d): rgb(0xe8506a), rgb(0xe69f00): rgb(0xffdc66), rgb(0xcc79a7): rgb(0xf0b6d6),
		rgb(0x8c5a2b): rgb(0xb98a58), rgb(0x0b4f8a): rgb(0x4f9df0), rgb(0x009e73): rgb(0x2fd6a3), rgb(0x9b72cf): rgb(0xe2ccff),
		rgb(0x56b4e9): rgb(0xa6dcff), rgb(0x005f56): rgb(0x1f9c8f),
	}
}

func looksOf(docs []*results.Document) map[string]look {
	looks := map[string]look{}
	for _, own := range list.GroupBy(docs, func(d *results.Document) string { return d.Kind }) {
		of, known := map[string]family{"naive": warm(), "library": plain()}[own[0].Kind]
		variants := list.Distinct(list.Map(own, func(d *results.Document) string { return d.Variant }))
		if !known { // a pair's variants come first, so that they have the same colors beside any others
			of = cool()
			isPaired := func(v string) int { return strings.Count(" "+own[0].Scenario.Overview, " "+v+" ") }
			slices.SortStableFunc(variants, func(a, b string) int { return isPaired(b) - isPaired(a) })
		}
		for i, variant := range variants {
			looks[variant] = of.look(i)
		}
	}
	return looks
}

const outline = vg.Length(1.3)

// hollow is a filled shape with the color of the paper inside. Gonum's own hollow shapes have lines that cannot be seen in a small
// picture, and show the lines of the plot behind them.
type hollow struct{ draw.GlyphDrawer }

func ring() draw.GlyphDrawer { return hollow{draw.CircleGlyph{}} }

// DrawGlyph implements [draw.GlyphDrawer].
func (g hollow) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	style.Radius += outline / 2
	g.GlyphDrawer.DrawGlyph(c, style, at)
	style.Radius -= outline
	c.SetColor(paper())
	g.GlyphDrawer.DrawGlyph(c, style, at)
}

func paper() color.RGBA     { return rgb(0xffffff) }
func gray() color.RGBA      { return rgb(0x555555) }
func ink() color.RGBA       { return rgb(0x222222) }
func gridColor() color.RGBA { return rgb(0xe4e4e4) }

// shadeColor marks the time that was not recorded or not measured. outageColor marks the time until a fault was undone.
func shadeColor() color.RGBA  { return rgb(0xeeeeee) }
func outageColor() color.RGBA { return rgb(0xfff1c9) }

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

// solid is the style of measured values.
func solid(c color.Color) draw.LineStyle { return draw.LineStyle{Color: c, Width: 1.8} }

// thin is the style of lines that connect or divide values.
func thin(c color.Color) draw.LineStyle { return draw.LineStyle{Color: c, Width: 1} }

// dashed is the style of formulas. Its darker color shows on top of an equal measurement.
func dashed(c color.RGBA) draw.LineStyle {
	dark := color.RGBA{c.R / 2, c.G / 2, c.B / 2, 0xff}
	return draw.LineStyle{Color: dark, Width: 1.2, Dashes: []vg.Length{4, 3}}
}
