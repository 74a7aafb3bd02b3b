package plots

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The families of shapes: with corners for naive variants, round for optimized ones and crosses for those of libraries. The hollow
// ones have lines that can be seen in a small picture.
func angular() []draw.GlyphDrawer {
	return []draw.GlyphDrawer{polygon{corners: 4}, polygon{corners: 3}, polygon{corners: 4, hollow: true}, polygon{corners: 3, hollow: true}}
}

func round() []draw.GlyphDrawer {
	return []draw.GlyphDrawer{disc{}, disc{hollow: true}}
}

func crosses() []draw.GlyphDrawer { return []draw.GlyphDrawer{draw.PlusGlyph{}, draw.CrossGlyph{}} }

// outline is the width of the lines of hollow shapes.
const outline = vg.Length(1.3)

// polygon is a regular polygon that stands on a side.
type polygon struct {
	corners int
	hollow  bool
}

// DrawGlyph implements [draw.GlyphDrawer].
func (g polygon) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	radius := style.Radius * 1.2 // as large as a circle
	var path vg.Path
	for i := range g.corners {
		sin, cos := math.Sincos(-math.Pi/2 + math.Pi/float64(g.corners) + 2*math.Pi*float64(i)/float64(g.corners))
		corner := vg.Point{X: at.X + radius*vg.Length(cos), Y: at.Y + radius*vg.Length(sin)}
		if i == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	drawShape(c, style, path, g.hollow)
}

// disc is a circle.
type disc struct{ hollow bool }

// DrawGlyph implements [draw.GlyphDrawer].
func (g disc) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	drawShape(c, style, circle(at, style.Radius), g.hollow)
}

// circle returns a closed path.
func circle(at vg.Point, radius vg.Length) vg.Path {
	var path vg.Path
	path.Move(vg.Point{X: at.X + radius, Y: at.Y})
	path.Arc(at, radius, 0, 2*math.Pi)
	path.Close()
	return path
}

// drawShape fills a path, or draws its line on the color of the paper.
func drawShape(c *draw.Canvas, style draw.GlyphStyle, path vg.Path, hollow bool) {
	if !hollow {
		c.SetColor(style.Color)
		c.Fill(path)
		return
	}
	c.SetColor(paper())
	c.Fill(path)
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: outline})
	c.Stroke(path)
}
