package plots

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Inline returns the figure as an SVG element of an HTML page. Its colors are classes that [InlineStyle] defines, for light and dark
// pages. A reader can point at values: each is a circle with a title, in the group of the class spots.
func (f Figure) Inline() string {
	width, height := f.size()
	canvas := &inlineCanvas{Canvas: vgsvg.New(width, height)}
	f.drawOn(draw.New(canvas))
	return fmt.Sprintf(`<svg viewBox="0 0 %.1f %.1f" role="img" aria-label="%s">%s<g class="spots">%s</g></svg>`,
		width, height, html.EscapeString(f.Shows), canvas.elements(), canvas.spots.String())
}

// inlineCanvas is a canvas for SVG that collects spots, and draws many dots as one path.
type inlineCanvas struct {
	*vgsvg.Canvas
	spots strings.Builder
}

func (c *inlineCanvas) spot(at vg.Point, text string) {
	_, height := c.Size()
	fmt.Fprintf(&c.spots, `<circle cx="%.1f" cy="%.1f"><title>%s</title></circle>`, at.X, height-at.Y, html.EscapeString(text))
}

// fillDots draws many equal dots in a short form. Each dot is a closed line of no length, with round ends.
func (c *inlineCanvas) fillDots(centers []vg.Point) {
	var path vg.Path
	for _, at := range centers {
		path.Move(at)
		path.Close()
	}
	c.SetLineDash(nil, 0)
	c.SetLineWidth(2 * dotRadius)
	c.Stroke(path)
}

// elements returns the drawn elements. A page forbids style attributes, and has many figures. So colors become classes, fonts are
// those of the page, and positions have one digit after the point.
func (c *inlineCanvas) elements() string {
	var out bytes.Buffer
	_, _ = c.WriteTo(&out) // to memory, which cannot fail
	text := out.String()
	text = text[strings.Index(text, "<g "):strings.LastIndex(text, "</svg>")]
	superfluous, onlyDots := regexp.MustCompile(`(\.\d)\d+`), regexp.MustCompile(`^ d="(M[^A-Z]*Z)+"$`)
	text = regexp.MustCompile(` d="[^"]*"`).ReplaceAllStringFunc(text, func(d string) string {
		if onlyDots.MatchString(d) {
			d += ` stroke-linecap="round"`
		}
		return superfluous.ReplaceAllString(d, "$1")
	})
	return regexp.MustCompile(`\s*style="[^"]*"`).ReplaceAllStringFunc(text, func(style string) string {
		return attributes(strings.Split(style, `"`)[1])
	})
}

func attributes(style string) string {
	out := ""
	for declaration := range strings.SplitSeq(style, ";") {
		name, value, _ := strings.Cut(declaration, ":")
		switch {
		case strings.HasPrefix(value, "#"):
			out += fmt.Sprintf(` class="%s%s"`, name[:1], strings.ToLower(value[1:])) // f for fill, s for stroke
		case name == "font-size" || !strings.HasPrefix(name, "font-") && value != "none":
			out += fmt.Sprintf(` %s="%s"`, name, value)
		}
	}
	return out
}

func hex(c color.RGBA) string { return fmt.Sprintf("%02x%02x%02x", c.R, c.G, c.B) }

// InlineStyle returns the style sheet of inline figures: a class for each color as a stroke and one as a fill, and their values on
// light and on dark pages. Without a preference, and on paper, pages are light.
func InlineStyle() string {
	var classes, light, dark strings.Builder
	for _, c := range inlineColors() {
		fmt.Fprintf(&classes, ".s%[1]s{stroke:var(--c%[1]s);fill:none}.f%[1]s{fill:var(--c%[1]s)}\n", hex(c))
		fmt.Fprintf(&light, "--c%[1]s:#%[1]s;", hex(c))
		fmt.Fprintf(&dark, "--c%s:#%s;", hex(c), hex(onDark(c)))
	}
	fmt.Fprintf(&classes, ".spots circle{r:%gpx;fill:transparent;stroke-width:1.5}\n", spotRadius)
	return fmt.Sprintf(":root{%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\n%s", &light, &dark, &classes)
}

// spotRadius is the radius of the area in which a pointer shows the text of a spot.
const spotRadius = vg.Length(7)

func inlineColors() []color.RGBA {
	families := slices.Concat(warm().colors, cool().colors, plain().colors)
	out := slices.Concat([]color.RGBA{paper(), ink(), gray(), gridColor(), shadeColor(), outageColor()}, families)
	for _, c := range append(families, gray()) {
		out = append(out, dashed(c).Color.(color.RGBA))
	}
	slices.SortFunc(out, func(a, b color.RGBA) int { return strings.Compare(hex(a), hex(b)) })
	return slices.Compact(out)
}

// onDark returns the counterpart of a color on a dark page: variants have their own, grays are inverted between the two papers, and other
// colors become lighter.
func onDark(c color.RGBA) color.RGBA {
	if spread := max(c.R, c.G, c.B) - min(c.R, c.G, c.B); spread <= 8 {
		dark, share := rgb(0x161a20), float64(c.R)/0xff
		mix := func(paper uint8) uint8 { return uint8(share*float64(paper) + (1-share)*0xf4) }
		return color.RGBA{mix(dark.R), mix(dark.G), mix(dark.B), 0xff}
	}
	if own, ok := onDarkPages()[c]; ok {
		return own
	}
	if c == outageColor() {
		return rgb(0x4a3c12)
	}
	lighter := func(v uint8) uint8 { return v + uint8(0.55*float64(0xff-v)) }
	return color.RGBA{lighter(c.R), lighter(c.G), lighter(c.B), 0xff}
}
