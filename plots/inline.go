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

// Inline returns the figure as an SVG element of an HTML page, which is not XML by itself: numbers have no quotes. Its colors are
// classes that [InlineStyle] defines, for light and dark pages. Values can be pointed at: each is a circle with a title, in the group of
// the class spots. Equal dots are drawn as one path, so that an element takes about eight bytes for each notification of a timeline.
func (f Figure) Inline() string {
	width, height := f.size()
	canvas := &inlineCanvas{height: height, classes: map[color.RGBA]string{}}
	for i, c := range inlineColors() {
		canvas.classes[c] = strconv.Itoa(i)
	}
	vg.Initialize(canvas)
	f.drawOnPaper(draw.NewCanvas(canvas, width, height))
	canvas.flush()
	return fmt.Sprintf(`<svg viewBox="0 0 %s %s" role="img" aria-label="%s">%s<g class="spots">%s</g></svg>`,
		short(width), short(height), html.EscapeString(f.Shows), canvas.out.String(), canvas.spots.String())
}

// inlineCanvas writes the elements of an SVG element. The origin of its coordinates is at the upper left, unlike that of a figure.
type inlineCanvas struct {
	height  vg.Length
	classes map[color.RGBA]string // the ends of the names of the colors' classes
	inlineState
	stack []inlineState

	out, spots strings.Builder
	attributes string // of the path that is not written yet
	path       pathData
	line       []place // the part of the path that is not written yet
	skipped    []place // before the last point of the line
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
	attributes := fmt.Sprintf(` class=s%s`, c.class(c.inkOf()))
	if c.width != lineWidth { // the style sheet has the width of most lines
		attributes += fmt.Sprintf(` stroke-width=%s`, short(c.width))
	}
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
	if center, radius, is := disk(path); is && ink.A == 0xff {
		c.fillDots([]vg.Point{center}, radius)
		return
	}
	attributes := fmt.Sprintf(` class=f%s`, c.class(ink))
	if ink.A < 0xff {
		attributes += fmt.Sprintf(` fill-opacity=%.2f`, float64(ink.A)/0xff)
	}
	c.add(attributes, path)
}

// disk returns the center and the radius of a path that is a full circle and nothing else.
func disk(path vg.Path) (center vg.Point, radius vg.Length, is bool) {
	if len(path) == 3 && path[1].Type == vg.ArcComp && math.Abs(path[1].Angle) >= 2*math.Pi && path[2].Type == vg.CloseComp {
		return path[1].Pos, path[1].Radius, true
	}
	return center, 0, false
}

// dot returns the attributes of a path of dots: each is a closed line of no length, with round ends.
func (c *inlineCanvas) dot(radius vg.Length) string {
	return fmt.Sprintf(` class="dots s%s" stroke-width=%s`, c.class(c.inkOf()), short(2*radius))
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
		c.endLine()
		c.line = append(c.line, c.place(part.Pos))
	case vg.LineComp:
		c.lineTo(c.place(part.Pos))
	case vg.ArcComp:
		c.endLine()
		for _, share := range []float64{0.5, 1} {
			sin, cos := math.Sincos(part.Start + share*part.Angle)
			end := c.place(vg.Point{X: part.Pos.X + part.Radius*vg.Length(cos), Y: part.Pos.Y + part.Radius*vg.Length(sin)})
			c.path.command("a"+short(part.Radius)+" "+short(part.Radius)+" 0 0 0", end.x-c.path.at.x, end.y-c.path.at.y)
			c.path.at = end
		}
	case vg.CloseComp:
		c.endLine()
		c.path.close()
	}
}

// lineTo continues the line under way. Points that lie on it are left out, to one unit.
func (c *inlineCanvas) lineTo(p place) {
	if n := len(c.line); n >= 2 && len(c.skipped) < mostSkipped {
		c.skipped = append(c.skipped, c.line[n-1])
		if nearSegment(c.line[n-2], p, c.skipped) {
			c.line[n-1] = p
			return
		}
	}
	c.line, c.skipped = append(c.line, p), c.skipped[:0]
}

// mostSkipped bounds the points that are left out between two others, each of which is looked at again for each of the next ones.
const mostSkipped = 50

// endLine writes the line under way.
func (c *inlineCanvas) endLine() {
	for i, p := range c.line {
		if i == 0 {
			c.path.move(p)
		} else {
			c.path.lineTo(p)
		}
	}
	c.line, c.skipped = c.line[:0], c.skipped[:0]
}

// flush writes the path that is under way.
func (c *inlineCanvas) flush() {
	c.endLine()
	if c.path.text.Len() > 0 {
		fmt.Fprintf(&c.out, `<path%s d="%s"/>`, c.attributes, c.path.text.String())
	}
	c.path.reset()
	c.attributes = ""
}

// FillString implements [vg.Canvas].
func (c *inlineCanvas) FillString(face font.Face, at vg.Point, text string) {
	if strings.TrimSpace(text) == "" || face.Font.Size == 0 {
		return
	}
	c.flush()
	t := c.transform()
	start := c.place(at)
	attributes := fmt.Sprintf(`x=%d y=%d`, start.x, start.y)
	if angle := math.Atan2(t.yx, t.xx); angle != 0 {
		attributes = fmt.Sprintf(`transform="translate(%d %d) rotate(%.0f)"`, start.x, start.y, -angle*180/math.Pi)
	}
	if face.Font.Size != tickSize { // the style sheet has the size and the color of most texts
		attributes += fmt.Sprintf(` font-size=%s`, short(face.Font.Size))
	}
	if c.inkOf() != ink() {
		attributes += fmt.Sprintf(` class=f%s`, c.class(c.inkOf()))
	}
	fmt.Fprintf(&c.out, `<text %s>%s</text>`, attributes, html.EscapeString(text))
}

// fillDots implements [dotCanvas]. Dots that cover each other are drawn once.
func (c *inlineCanvas) fillDots(centers []vg.Point, radius vg.Length) {
	c.add(c.dot(radius), nil)
	seen := map[place]bool{}
	for _, center := range centers {
		if at := c.place(center); !seen[at] {
			seen[at] = true
			c.path.move(at)
			c.path.close()
		}
	}
}

// spot implements [spotter].
func (c *inlineCanvas) spot(at vg.Point, text string) {
	center := c.place(at)
	fmt.Fprintf(&c.spots, `<circle cx=%d cy=%d><title>%s</title></circle>`, center.x, center.y, html.EscapeString(text))
}

// place returns where a point stands in the element.
func (c *inlineCanvas) place(p vg.Point) place {
	at := c.transform().apply(p)
	return place{int(math.Round(unit * float64(at.X))), int(math.Round(unit * float64(c.height-at.Y)))}
}

// class returns the end of the name of a color's classes: a short one, as a page has thousands of them. A color that the style sheet
// lacks has its digits.
func (c *inlineCanvas) class(of color.RGBA) string {
	of.A = 0xff
	if name, ok := c.classes[of]; ok {
		return name
	}
	return hex(of)
}

// hex returns a color as six hexadecimal digits.
func hex(c color.RGBA) string { return fmt.Sprintf("%02x%02x%02x", c.R, c.G, c.B) }

// InlineStyle returns the style sheet of inline figures: a class for each color as a stroke and one as a fill, and their values on
// light and on dark pages. Without a preference, and on paper, pages are light.
func InlineStyle() string {
	var classes, light, dark strings.Builder
	text := 0
	for i, c := range inlineColors() {
		fmt.Fprintf(&classes, ".s%[1]d{stroke:var(--c%[1]d);fill:none}.f%[1]d{fill:var(--c%[1]d)}\n", i)
		fmt.Fprintf(&light, "--c%d:#%s;", i, hex(c))
		fmt.Fprintf(&dark, "--c%d:#%s;", i, hex(onDark(c)))
		if c == ink() {
			text = i
		}
	}
	return fmt.Sprintf(":root{%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\nsvg{font-size:%spx;fill:var(--c%d);stroke-width:%s}\n.spots circle{r:%spx;fill:transparent;stroke-width:%s}\n%s.dots{stroke-linecap:round}\n",
		light.String(), dark.String(), short(tickSize), text, short(lineWidth), short(spotRadius), short(1.5), classes.String())
}

// spotRadius is the size of the place that a reader can point at.
const spotRadius = vg.Length(7)

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
