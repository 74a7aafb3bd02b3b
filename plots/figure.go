package plots

import (
	"bytes"
	"cmp"
	"fmt"
	"image/png"
	"math"
	"slices"

	"github.com/google/renameio/v2/maybe"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// Figure is one picture, ready to be drawn in any format: panels below a header with a title, the subject and a legend.
type Figure struct {
	Name    string // of its file, without a folder and an ending
	Shows   string // such as "Costs of an operation"
	Subject string // the scenario and the servers
	Zoom    bool   // a reader may want to enlarge a part: the figure has a point for each event

	variant string // part of the name, if the scenario has several such figures
	legend  []entry
	width   vg.Length
	rows    [][]*plot.Plot // of panels, from the top down
	heights []vg.Length    // of the rows
	named   []series       // curves whose names stand at their ends, right of the only panel
}

// The size of an ordinary figure below its header, the margin around it, and the gaps between its panels.
const (
	figureWidth  = 8 * vg.Inch
	figureHeight = 3.9 * vg.Inch
	figureMargin = vg.Length(8)
	panelGap     = vg.Length(14) // between columns
	rowGap       = vg.Length(10)
)

// The height of a panel among others, and for panels that have rows, the height of a row and of the title and the axis.
const (
	panelHeight = 2.3 * vg.Inch
	rowHeight   = 0.26 * vg.Inch
	rowsAxis    = 0.8 * vg.Inch
)

const panelColumns = 2

func inColumns(panels []*plot.Plot, height vg.Length, legend []entry) Figure {
	rows := slices.Collect(slices.Chunk(panels, panelColumns))
	return Figure{width: figureWidth, rows: rows, heights: slices.Repeat([]vg.Length{height}, len(rows)), legend: legend}
}

func gridOf(panels []*plot.Plot, legend []entry) Figure {
	if len(panels) == 1 {
		return inColumns(panels, figureHeight, legend)
	}
	return inColumns(panels, panelHeight, legend)
}

func rowsOf(panels []*plot.Plot, rows int, legend []entry) Figure {
	return inColumns(panels, rowsAxis+rowHeight*vg.Length(rows), legend)
}

func stackOf(variant string, panels []*plot.Plot, heights []vg.Length) Figure {
	return Figure{variant: variant, Zoom: true, width: figureWidth, rows: slices.Collect(slices.Chunk(panels, 1)), heights: heights}
}

type entry struct {
	label string
	thumb []plot.Thumbnailer
}

func lineEntry(name string, l look) entry {
	return entry{name, []plot.Thumbnailer{&plotter.Line{LineStyle: solid(l.color)}, &plotter.Scatter{GlyphStyle: l.style(glyphRadius)}}}
}

// The proportions of a header.
const (
	titleRow      = vg.Length(19)
	subjectRow    = vg.Length(15)
	legendRow     = vg.Length(15)
	thumbWidth    = vg.Length(24)
	legendGap     = vg.Length(14) // between two entries
	headerPadding = vg.Length(6)  // below the header
)

// drawOn draws the label of the entry at a point, with the thumbnail on its left.
func (e entry) drawOn(c draw.Canvas, style draw.TextStyle, at vg.Point) {
	top := at.Y - 1
	if style.YAlign == draw.YCenter {
		top = at.Y + 5
	}
	thumb := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: at.X - thumbWidth, Y: top - 10}, Max: vg.Point{X: at.X - 5, Y: top},
	}}
	for _, t := range e.thumb {
		t.Thumbnail(&thumb)
	}
	c.FillText(style, at, e.label)
}

func (f Figure) header() vg.Length {
	return titleRow + subjectRow + legendRow*vg.Length(len(f.legendRows())) + headerPadding
}

func (f Figure) size() (width, height vg.Length) {
	return f.width, f.header() + list.Sum(f.heights) + 2*figureMargin
}

func (f Figure) legendRows() [][]entry {
	var rows [][]entry
	style, used := textStyle(tickSize), vg.Length(0)
	for _, e := range f.legend {
		width := thumbWidth + style.Width(e.label) + legendGap
		if len(rows) == 0 || used+width > f.width-2*figureMargin+legendGap {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		used += width
	}
	return rows
}

func (f Figure) drawOn(c draw.Canvas) {
	c.SetColor(paper())
	c.Fill(c.Path())
	c = draw.Crop(c, figureMargin, -figureMargin, figureMargin, -figureMargin)
	c.FillText(textStyle(titleSize), vg.Point{X: c.Min.X, Y: c.Max.Y}, f.Shows)
	subject, label := textStyle(tickSize), textStyle(tickSize)
	subject.Color = gray()
	c.FillText(subject, vg.Point{X: c.Min.X, Y: c.Max.Y - titleRow}, f.Subject)
	top := c.Max.Y - titleRow - subjectRow
	for _, row := range f.legendRows() {
		left := c.Min.X
		for _, e := range row {
			e.drawOn(c, label, vg.Point{X: left + thumbWidth, Y: top})
			left += thumbWidth + label.Width(e.label) + legendGap
		}
		top -= legendRow
	}
	if c = draw.Crop(c, 0, 0, 0, -f.header()); f.named != nil {
		f.drawNamed(c)
	} else {
		f.drawGrid(c)
	}
}

// margins is the room that the axes of a panel take on each side of its data.
type margins struct{ left, right vg.Length }

func marginsOf(p *plot.Plot, c draw.Canvas) margins {
	data := p.DataCanvas(c)
	return margins{data.Min.X - c.Min.X, c.Max.X - data.Max.X}
}

// drawGrid draws the rows of panels. Data areas are aligned and equally wide in all columns. [plot.Align] fails if the last row is shorter.
func (f Figure) drawGrid(c draw.Canvas) {
	widest := make([]margins, len(f.rows[0]))
	for _, row := range f.rows {
		for i, p := range row {
			own := marginsOf(p, c)
			widest[i] = margins{max(widest[i].left, own.left), max(widest[i].right, own.right)}
		}
	}
	data := c.Max.X - c.Min.X - panelGap*vg.Length(len(widest)-1)
	for _, m := range widest {
		data -= m.left + m.right
	}
	data /= vg.Length(len(widest))
	top := c.Max.Y
	for r, row := range f.rows {
		left := c.Min.X
		for i, p := range row {
			width := widest[i].left + data + widest[i].right
			area := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: left, Y: top - f.heights[r] + rowGap}, Max: vg.Point{X: left + width, Y: top},
			}}
			own := marginsOf(p, area)
			p.Draw(draw.Crop(area, widest[i].left-own.left, own.right-widest[i].right, 0, 0))
			left += width + panelGap
		}
		top -= f.heights[r]
	}
}

// drawNamed draws the only panel, with the names of its curves at their right ends.
func (f Figure) drawNamed(c draw.Canvas) {
	const gap = vg.Length(8)
	style := textStyle(tickSize)
	style.YAlign = draw.YCenter
	widest := slices.Max(list.Map(f.named, func(s series) vg.Length { return style.Width(s.name) }))
	area, p := draw.Crop(c, 0, -widest-gap-thumbWidth, 0, 0), f.rows[0][0]
	p.Draw(area)
	data := p.DataCanvas(area)
	_, y := p.Transforms(&data)
	ordered := slices.SortedStableFunc(slices.Values(f.named), func(a, b series) int { return cmp.Compare(b.last().value, a.last().value) })
	heights := spread(list.Map(ordered, func(s series) vg.Length { return y(s.last().value) }), data.Min.Y)
	for i, one := range ordered {
		lineEntry(one.name, one.look).drawOn(c, style, vg.Point{X: data.Max.X + gap/2 + thumbWidth, Y: heights[i]})
	}
}

// spread moves the heights of labels, from the top down, apart, so that no label overlaps the one before it. If the last labels would be
// below the lowest place, all of them move up.
func spread(heights []vg.Length, lowest vg.Length) []vg.Length {
	for i := range heights[1:] {
		heights[i+1] = min(heights[i+1], heights[i]-legendRow)
	}
	for i := range heights {
		heights[i] = max(heights[i], lowest+legendRow*vg.Length(len(heights)-1-i))
	}
	return heights
}

// Formats lists the file formats that figures can be written in.
func Formats() []string { return []string{"png", "svg"} }

// resolution of PNG files, in dots per inch. It suits screens with a doubled pixel density.
const resolution = 144

// Write stores the figure at a path in one of the [Formats].
func (f Figure) Write(path, format string) error {
	var out bytes.Buffer
	var err error
	switch format {
	case "png": // quickly rather than small: it is only for a screen
		width, height := f.size()
		canvas := vgimg.NewWith(vgimg.UseWH(wholePixels(width), wholePixels(height)), vgimg.UseDPI(resolution))
		f.drawOn(draw.New(canvas))
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, canvas.Image())
	case "svg":
		canvas := vgsvg.New(f.size())
		f.drawOn(draw.New(canvas))
		_, err = canvas.WriteTo(&out)
		out = *bytes.NewBufferString(table.Printable(out.String()))
	default:
		err = fmt.Errorf("unknown format %q", format)
	}
	if err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	return maybe.WriteFile(path, out.Bytes(), 0o644)
}

func wholePixels(length vg.Length) vg.Length {
	return vg.Length(math.Ceil(float64(length/vg.Inch*resolution))) / resolution * vg.Inch
}
