package plots

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"

	"git.sr.ht/~sbinet/gg"
	"github.com/google/renameio/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is one picture, ready to be drawn in any format: a header with what it shows, of what, and a legend, and a body below.
type Figure struct {
	Name    string // of its file, without a folder and an ending
	Set     string // the beginning of the names of all figures of a scenario and its servers; empty for a figure of several
	Shows   string // such as "Costs of an operation"
	Subject string // the scenario and the servers
	Zoom    bool   // a reader may want to look at a part of it: it has a point for each event

	legend        []entry
	width, height vg.Length // of the body
	body          func(draw.Canvas)
}

// entry is a line of a legend.
type entry struct {
	label string
	thumb []plot.Thumbnailer
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

// header returns the height of the header.
func (f Figure) header() vg.Length {
	return titleRow + subjectRow + legendRow*vg.Length(len(f.legendRows())) + headerPadding
}

// size returns the size of the whole figure.
func (f Figure) size() (width, height vg.Length) {
	return f.width, f.header() + f.height + 2*figureMargin
}

// legendRows divides the legend into rows that fit the width.
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

// drawOnPaper draws the figure on a canvas that has no background.
func (f Figure) drawOnPaper(c draw.Canvas) {
	c.SetColor(paper())
	c.Fill(c.Path())
	f.drawOn(c)
}

// drawOn draws the header and the body.
func (f Figure) drawOn(c draw.Canvas) {
	c = draw.Crop(c, figureMargin, -figureMargin, figureMargin, -figureMargin)
	title := textStyle(titleSize)
	c.FillText(title, vg.Point{X: c.Min.X, Y: c.Max.Y}, f.Shows)
	subject := textStyle(tickSize)
	subject.Color = gray()
	c.FillText(subject, vg.Point{X: c.Min.X, Y: c.Max.Y - titleRow}, f.Subject)
	at := vg.Point{X: c.Min.X, Y: c.Max.Y - titleRow - subjectRow}
	for _, row := range f.legendRows() {
		drawLegend(c, at, row)
		at.Y -= legendRow
	}
	f.body(draw.Crop(c, 0, 0, 0, -f.header()))
}

// drawLegend draws a row of a legend below a point.
func drawLegend(c draw.Canvas, at vg.Point, row []entry) {
	style := textStyle(tickSize)
	for _, e := range row {
		thumb := c
		thumb.Min, thumb.Max = vg.Point{X: at.X, Y: at.Y - 11}, vg.Point{X: at.X + thumbWidth - 5, Y: at.Y - 1}
		for _, t := range e.thumb {
			t.Thumbnail(&thumb)
		}
		c.FillText(style, vg.Point{X: at.X + thumbWidth, Y: at.Y}, e.label)
		at.X += thumbWidth + style.Width(e.label) + legendGap
	}
}

// Formats lists the file formats that figures can be written in.
func Formats() []string { return []string{"png", "svg"} }

// resolution of PNG files, in dots per inch, for screens with a doubled pixel density.
const resolution = 144

// Write stores the figure at a path in one of the [Formats].
func (f Figure) Write(path, format string) error {
	var out bytes.Buffer
	var err error
	switch format {
	case "png":
		err = f.writePNG(&out)
	case "svg":
		canvas := vgsvg.New(f.size())
		f.drawOnPaper(draw.New(canvas))
		_, err = canvas.WriteTo(&out)
	default:
		err = fmt.Errorf("unknown format %q", format)
	}
	if err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	return renameio.WriteFile(path, out.Bytes(), 0o644)
}

// writePNG draws the figure in pixels. It favors speed over the size of the file, which is for a screen.
func (f Figure) writePNG(out io.Writer) error {
	width, height := f.size()
	pixels := image.NewRGBA(image.Rect(0, 0, pixelsOf(width), pixelsOf(height)))
	context := gg.NewContextForRGBA(pixels) // without it, the canvas would copy the image
	context.SetLineCapButt()
	context.InvertY()
	canvas := vgimg.NewWith(vgimg.UseImageWithContext(pixels, context), vgimg.UseDPI(resolution))
	f.drawOn(draw.New(canvas))
	fast := png.Encoder{CompressionLevel: png.BestSpeed}
	return fast.Encode(out, pixels)
}

func pixelsOf(length vg.Length) int { return int(math.Ceil(float64(length / vg.Inch * resolution))) }
