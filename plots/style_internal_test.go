package plots

import (
	"image/color"
	"math"
	"slices"
	"testing"
)

// visions are color visions as matrices on linear RGB: the common one, and those without one kind of cone, after Machado, Oliveira
// and Fernandes (2009).
var visions = map[string][3][3]float64{
	"common":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// leastDistance is a CIE76 distance at which thin lines can be distinguished without effort. A just noticeable difference is
// about 2.3.
const leastDistance = 15

// The first three colors of naive and of optimized variants differ with every color vision, and their first ones also in a grey
// print.
func TestPaletteIsToldApart(t *testing.T) {
	first := slices.Concat(warm().colors[:3], cool().colors[:3])
	for name, vision := range visions {
		for i, a := range first {
			for _, b := range first[:i] {
				if d := distance(lab(seen(onDark(a), vision)), lab(seen(onDark(b), vision))); d < leastDistance {
					t.Errorf("%s: on dark, %s and %s are only %.1f apart, want at least %d", name, hex(onDark(a)), hex(onDark(b)), d, leastDistance)
				}
			}
		}
		for i, a := range first {
			for _, b := range first[:i] {
				if d := distance(lab(seen(a, vision)), lab(seen(b, vision))); d < leastDistance {
					t.Errorf("%s: %s and %s are only %.1f apart, want at least %d", name, hex(a), hex(b), d, leastDistance)
				}
			}
		}
	}
	if d := math.Abs(lightness(warm().colors[0]) - lightness(cool().colors[0])); d < leastDistance {
		t.Errorf("in grey, %s and %s differ by %.1f in lightness, want at least %d", hex(warm().colors[0]), hex(cool().colors[0]), d, leastDistance)
	}
	red, green := color.RGBA{0xd0, 0x30, 0x30, 0xff}, color.RGBA{0x60, 0x80, 0x20, 0xff}
	if d := distance(lab(seen(red, visions["deuteranopia"])), lab(seen(green, visions["deuteranopia"]))); d > 2*leastDistance {
		t.Errorf("a red and a green that look alike without green cones are %.1f apart: the check would not notice them", d)
	}
}

// Every look of a family is unlike the others, by its color or its shape.
func TestLooksDiffer(t *testing.T) {
	for _, colors := range [][]color.RGBA{warm().colors, cool().colors, plain().colors} {
		sorted := slices.SortedFunc(slices.Values(colors), func(a, b color.RGBA) int { return int(lightness(a) - lightness(b)) })
		if len(slices.Compact(sorted)) != len(colors) {
			t.Errorf("%v has a color twice", colors)
		}
	}
}

// Lines and texts of figures stand out on their page: 3:1 for lines, and 4.5:1 for texts, as WCAG 2 asks for.
func TestContrast(t *testing.T) {
	for _, page := range []struct {
		name  string
		paper color.RGBA
		as    func(color.RGBA) color.RGBA
	}{{"light", paper(), func(c color.RGBA) color.RGBA { return c }}, {"dark", onDark(paper()), onDark}} {
		for _, c := range []color.RGBA{ink(), gray()} {
			if r := contrast(page.as(c), page.paper); r < 4.5 {
				t.Errorf("%s: the text color %s has a contrast of %.1f", page.name, hex(c), r)
			}
		}
		for _, c := range slices.Concat(warm().colors[:2], cool().colors[:3], plain().colors[:2]) {
			if r := contrast(page.as(c), page.paper); r < 3 {
				t.Errorf("%s: the line color %s has a contrast of %.1f", page.name, hex(c), r)
			}
		}
	}
}

// linear returns a color's parts as shares of the light of a screen.
func linear(c color.RGBA) [3]float64 {
	var out [3]float64
	for i, v := range []uint8{c.R, c.G, c.B} {
		share := float64(v) / 255
		if out[i] = share / 12.92; share > 0.04045 {
			out[i] = math.Pow((share+0.055)/1.055, 2.4)
		}
	}
	return out
}

func seen(c color.RGBA, vision [3][3]float64) [3]float64 {
	rgb := linear(c)
	var out [3]float64
	for i, row := range vision {
		out[i] = min(max(row[0]*rgb[0]+row[1]*rgb[1]+row[2]*rgb[2], 0), 1)
	}
	return out
}

// lab returns a color in the CIE L*a*b* space of the white point D65.
func lab(rgb [3]float64) [3]float64 {
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	x := f((0.4124*rgb[0] + 0.3576*rgb[1] + 0.1805*rgb[2]) / 0.95047)
	y := f(0.2126*rgb[0] + 0.7152*rgb[1] + 0.0722*rgb[2])
	z := f((0.0193*rgb[0] + 0.1192*rgb[1] + 0.9505*rgb[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func lightness(c color.RGBA) float64 { return lab(linear(c))[0] }

func distance(a, b [3]float64) float64 {
	return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2])
}

func contrast(a, b color.RGBA) float64 {
	luminance := func(c color.RGBA) float64 {
		rgb := linear(c)
		return 0.2126*rgb[0] + 0.7152*rgb[1] + 0.0722*rgb[2]
	}
	high, low := max(luminance(a), luminance(b)), min(luminance(a), luminance(b))
	return (high + 0.05) / (low + 0.05)
}
