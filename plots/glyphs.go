package plots

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The families of shapes: with corners for naive variants, round for optimized ones and crosses for those of libraries.
func angular() []draw.GlyphDrawer {
	return []draw.GlyphDrawer{draw.BoxGlyph{}, draw.PyramidGlyph{}, hollow{draw.BoxGlyph{}}, hollow{draw.PyramidGlyph{}}}
}

func round() []draw.GlyphDrawer {
	return []draw.GlyphDrawer{draw.CircleGlyph{}, hollow{draw.CircleGlyph{}}}
}

func crosses() []draw.GlyphDrawer { return []draw.GlyphDrawer{draw.PlusGlyph{}, draw.CrossGlyph{}} }

// outline is the width of the line of a hollow shape.
const outline = vg.Length(1.3)

// hollow is a filled shape with the color of the paper inside. Gonum's own hollow shapes have lines that cannot be seen in a small
// picture, and show the lines of the plot behind them.
type hollow struct{ draw.GlyphDrawer }

// DrawGlyph implements [draw.GlyphDrawer].
func (g hollow) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	style.Radius += outline / 2
	g.GlyphDrawer.DrawGlyph(c, style, at)
	style.Radius -= outline
	c.SetColor(paper())
	g.GlyphDrawer.DrawGlyph(c, style, at)
}
