package plots

import (
	"fmt"
	"html"
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Inline returns the figure as an SVG element of an HTML page. Its colors are classes that [InlineStyle] defines, for light and dark
// pages. Values can be pointed at: each is a circle of the class spot with a title. Equal dots are drawn as one path, so that an
// element takes about ten bytes for each notification of a timeline.
func (f Figure) Inline() string {
	width, height := f.size()
	canvas := &inlineCanvas{height: height}
	vg.Initialize(canvas)
	f.drawOnPaper(draw.NewCanvas(canvas, width, height))
	canvas.flush()
	return fmt.Sprintf(`<svg viewBox="0 0 %s %s" role="img" aria-label="%s">%s%s</svg>`,
		short(width), short(height), html.EscapeString(f.Shows+": "+f.Subject), canvas.out.String(), canvas.spots.String())
}

// inlineCanvas writes the elements of an SVG element. The origin of its coordinates is at the upper left, unlike that of a figure.
type inlineCanvas struct {
	height vg.Length
	inlineState
	stack []inlineState

	out, spots strings.Builder
	attributes string // of the path that is not written yet
	path       strings.Builder
}

// inlineState is what Push saves and Pop restores.
type inlineState struct {
	color  color.Color
	width  vg.Length
	dashes []vg.Length
	at     transform
}

// transform is an affine transformation: x' = xx*x + xy*y + x0, and y' likewise.
type transform struct{ xx, xy, yx, yy, x0, y0 float64 }

// apply returns the transformed point.
func (t transform) apply(p vg.Point) vg.Point {
	x, y := float64(p.X), float64(p.Y)
	return vg.Point{X: vg.Length(t.xx*x + t.xy*y + t.x0), Y: vg.Length(t.yx*x + t.yy*y + t.y0)}
}

// after returns the transformation that applies inner first.
func (t transform) after(inner transform) transform {
	return transform{
		t.xx*inner.xx + t.xy*inner.yx, t.xx*inner.xy + t.xy*inner.yy,
		t.yx*inner.xx + t.yy*inner.yx, t.yx*inner.xy + t.yy*inner.yy,
		t.xx*inner.x0 + t.xy*inner.y0 + t.x0, t.yx*inner.x0 + t.yy*inner.y0 + t.y0,
	}
}

// inkOf returns the color that is set, with its opacity apart; black if there is none.
func (c *inlineCanvas) inkOf() color.RGBA {
	if c.color == nil {
		return color.RGBA{A: 0xff}
	}
	n := color.NRGBAModel.Convert(c.color).(color.NRGBA)
	return color.RGBA(n)
}

// SetLineWidth implements [vg.Canvas].
func (c *inlineCanvas) SetLineWidth(width vg.Length) { c.width = width }

// SetLineDash implements [vg.Canvas]. It ignores the offset, which no figure uses.
func (c *inlineCanvas) SetLineDash(dashes []vg.Length, _ vg.Length) { c.dashes = dashes }

// SetColor implements [vg.Canvas].
func (c *inlineCanvas) SetColor(ink color.Color) { c.color = ink }

// Rotate implements [vg.Canvas].
func (c *inlineCanvas) Rotate(radians float64) {
	sin, cos := math.Sincos(radians)
	c.at = c.transform().after(transform{cos, -sin, sin, cos, 0, 0})
}

// Translate implements [vg.Canvas].
func (c *inlineCanvas) Translate(by vg.Point) {
	c.at = c.transform().after(transform{1, 0, 0, 1, float64(by.X), float64(by.Y)})
}

// Scale implements [vg.Canvas].
func (c *inlineCanvas) Scale(x, y float64) { c.at = c.transform().after(transform{x, 0, 0, y, 0, 0}) }

// transform returns the current transformation, which is the identity until one is set.
func (c *inlineCanvas) transform() transform {
	if c.at == (transform{}) {
		return transform{xx: 1, yy: 1}
	}
	return c.at
}

// Push implements [vg.Canvas].
func (c *inlineCanvas) Push() { c.stack = append(c.stack, c.inlineState) }

// Pop implements [vg.Canvas].
func (c *inlineCanvas) Pop() {
	c.inlineState, c.stack = c.stack[len(c.stack)-1], c.stack[:len(c.stack)-1]
}

// DrawImage implements [vg.Canvas]. No figure has an image.
func (c *inlineCanvas) DrawImage(vg.Rectangle, image.Image) {}

// Stroke implements [vg.Canvas].
func (c *inlineCanvas) Stroke(path vg.Path) {
	if c.width <= 0 {
		return
	}
	attributes := fmt.Sprintf(` class="s%s" stroke-width="%s"`, hex(c.inkOf()), short(c.width))
	if len(c.dashes) > 0 {
		var all []string
		for _, d := range c.dashes {
			all = append(all, short(d))
		}
		attributes += fmt.Sprintf(` stroke-dasharray="%s"`, strings.Join(all, " "))
	}
	c.add(attributes, path)
}

// Fill implements [vg.Canvas].
func (c *inlineCanvas) Fill(path vg.Path) {
	ink := c.inkOf()
	attributes := fmt.Sprintf(` class="f%s"`, hex(ink))
	if ink.A < 0xff {
		attributes += fmt.Sprintf(` fill-opacity="%.2f"`, float64(ink.A)/0xff)
	}
	c.add(attributes, path)
}

// add continues the path under way if it has the same attributes, and begins another one else.
func (c *inlineCanvas) add(attributes string, path vg.Path) {
	if attributes != c.attributes || strings.Contains(attributes, "opacity") {
		c.flush()
		c.attributes = attributes
	}
	for _, part := range path {
		c.addPart(part)
	}
}

// addPart writes one part of a path. A full circle becomes two arcs, because SVG has no arc that ends where it begins.
func (c *inlineCanvas) addPart(part vg.PathComp) {
	switch part.Type {
	case vg.MoveComp:
		c.path.WriteString("M" + c.position(part.Pos))
	case vg.LineComp:
		c.path.WriteString("L" + c.position(part.Pos))
	case vg.ArcComp:
		for _, share := range []float64{0.5, 1} {
			sin, cos := math.Sincos(part.Start + share*part.Angle)
			end := vg.Point{X: part.Pos.X + part.Radius*vg.Length(cos), Y: part.Pos.Y + part.Radius*vg.Length(sin)}
			fmt.Fprintf(&c.path, "A%s %s 0 0 0 %s", short(part.Radius), short(part.Radius), c.position(end))
		}
	case vg.CloseComp:
		c.path.WriteString("Z")
	}
}

// flush writes the path that is under way.
func (c *inlineCanvas) flush() {
	if c.path.Len() > 0 {
		fmt.Fprintf(&c.out, `<path%s d="%s"/>`, c.attributes, c.path.String())
		c.path.Reset()
	}
	c.attributes = ""
}

// FillString implements [vg.Canvas].
func (c *inlineCanvas) FillString(face font.Face, at vg.Point, text string) {
	if strings.TrimSpace(text) == "" || face.Font.Size == 0 {
		return
	}
	c.flush()
	t := c.transform()
	place := fmt.Sprintf(`x="%s" y="%s"`, short(t.apply(at).X), short(c.height-t.apply(at).Y))
	if angle := math.Atan2(t.yx, t.xx); angle != 0 {
		place = fmt.Sprintf(`transform="translate(%s %s) rotate(%.0f)"`, short(t.apply(at).X), short(c.height-t.apply(at).Y), -angle*180/math.Pi)
	}
	fmt.Fprintf(&c.out, `<text %s font-size="%s" class="f%s">%s</text>`, place, short(face.Font.Size), hex(c.inkOf()), html.EscapeString(text))
}

// fillDots implements [dotCanvas]: a line of no length with a round end is a dot. Dots that cover each other are drawn once.
func (c *inlineCanvas) fillDots(centers []vg.Point, radius vg.Length) {
	c.flush()
	seen := map[string]bool{}
	var path strings.Builder
	for _, at := range centers {
		if position := c.position(at); !seen[position] {
			seen[position] = true
			path.WriteString("M" + position + "h0")
		}
	}
	fmt.Fprintf(&c.out, `<path class="dots s%s" stroke-width="%s" d="%s"/>`, hex(c.inkOf()), short(2*radius), path.String())
}

// spot implements [spotter].
func (c *inlineCanvas) spot(at vg.Point, text string) {
	fmt.Fprintf(&c.spots, `<circle class="spot" cx="%s" cy="%s" r="7"><title>%s</title></circle>`, short(at.X), short(c.height-at.Y), html.EscapeString(text))
}

// position returns a point in the coordinates of the element.
func (c *inlineCanvas) position(p vg.Point) string {
	at := c.transform().apply(p)
	return short(at.X) + " " + short(c.height-at.Y)
}

// short returns a length in points with one digit after the point, which is a fifth of a pixel or less.
func short(l vg.Length) string {
	return strings.TrimSuffix(strconv.FormatFloat(float64(l), 'f', 1, 64), ".0")
}

// hex returns a color as six hexadecimal digits.
func hex(c color.RGBA) string { return fmt.Sprintf("%02x%02x%02x", c.R, c.G, c.B) }

// InlineStyle returns the style sheet of inline figures: a class for each color as a stroke and one as a fill, and their values on
// light and on dark pages. Without a preference, and on paper, pages are light.
func InlineStyle() string {
	var classes, light, dark strings.Builder
	for _, c := range inlineColors() {
		fmt.Fprintf(&classes, ".s%[1]s{stroke:var(--c%[1]s);fill:none}.f%[1]s{fill:var(--c%[1]s)}\n", hex(c))
		fmt.Fprintf(&light, "--c%s:#%s;", hex(c), hex(c))
		fmt.Fprintf(&dark, "--c%s:#%s;", hex(c), hex(onDark(c)))
	}
	return fmt.Sprintf(":root{%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\n%s.dots{stroke-linecap:round}\n", light.String(), dark.String(), classes.String())
}

// inlineColors returns every color that a figure uses.
func inlineColors() []color.RGBA {
	families := slices.Concat(warm(), cool(), plain())
	out := slices.Concat([]color.RGBA{paper(), ink(), gray(), gridColor(), shadeColor(), outageColor(), {A: 0xff}}, families)
	for _, c := range append(families, gray()) {
		out = append(out, dashed(c).Color.(color.RGBA))
	}
	slices.SortFunc(out, func(a, b color.RGBA) int { return strings.Compare(hex(a), hex(b)) })
	return slices.CompactFunc(out, func(a, b color.RGBA) bool { return hex(a) == hex(b) })
}

// darkPaper is the background of a figure on a dark page.
func darkPaper() color.RGBA { return color.RGBA{0x16, 0x1a, 0x20, 0xff} }

// onDark returns the counterpart of a color on a dark page: grays are inverted between the two papers, and other colors lighter.
func onDark(c color.RGBA) color.RGBA {
	dark := darkPaper()
	spread := max(c.R, c.G, c.B) - min(c.R, c.G, c.B)
	if spread <= 8 {
		share := float64(c.R) / 0xff
		mix := func(paper uint8) uint8 { return uint8(share*float64(paper) + (1-share)*0xf4) }
		return color.RGBA{mix(dark.R), mix(dark.G), mix(dark.B), 0xff}
	}
	if c == outageColor() {
		return color.RGBA{0x4a, 0x3c, 0x12, 0xff}
	}
	lighter := func(v uint8) uint8 { return v + uint8(0.55*float64(0xff-v)) }
	return color.RGBA{lighter(c.R), lighter(c.G), lighter(c.B), 0xff}
}
