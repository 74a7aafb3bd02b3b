package plots

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results/list"
)

// The gaps between the panels of a grid, and the height of a panel.
const (
	panelGap    = vg.Length(14) // between columns
	rowGap      = vg.Length(10)
	panelHeight = 2.3 * vg.Inch
)

// panelColumns is the number of panels side by side.
const panelColumns = 2

// inColumns returns panels in rows of so many columns. The last row may have fewer.
func inColumns(panels []*plot.Plot, columns int) [][]*plot.Plot {
	var rows [][]*plot.Plot
	for i, p := range panels {
		if i%columns == 0 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], p)
	}
	return rows
}

// equalHeights returns the heights of rows that are all alike.
func equalHeights(rows [][]*plot.Plot, height vg.Length) []vg.Length {
	return slices.Repeat([]vg.Length{height}, len(rows))
}

// margins is the room that the axes of a panel take on each side of its data.
type margins struct{ left, right vg.Length }

func marginsOf(p *plot.Plot, c draw.Canvas) margins {
	data := p.DataCanvas(c)
	return margins{data.Min.X - c.Min.X, c.Max.X - data.Max.X}
}

// drawGrid draws rows of panels from the top down. The data areas of a column are aligned, and those of all columns equally wide.
func drawGrid(rows [][]*plot.Plot, heights []vg.Length, c draw.Canvas) {
	columns := list.Largest(list.Map(rows, func(row []*plot.Plot) int { return len(row) }))
	widest := make([]margins, columns)
	for _, row := range rows {
		for i, p := range row {
			own := marginsOf(p, c)
			widest[i] = margins{max(widest[i].left, own.left), max(widest[i].right, own.right)}
		}
	}
	data := c.Max.X - c.Min.X - panelGap*vg.Length(columns-1)
	for _, m := range widest {
		data -= m.left + m.right
	}
	data /= vg.Length(columns)
	top := c.Max.Y
	for r, row := range rows {
		left := c.Min.X
		for i, p := range row {
			width := widest[i].left + data + widest[i].right
			area := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: left, Y: top - heights[r] + rowGap}, Max: vg.Point{X: left + width, Y: top},
			}}
			own := marginsOf(p, area)
			p.Draw(draw.Crop(area, widest[i].left-own.left, own.right-widest[i].right, 0, 0))
			left += width + panelGap
		}
		top -= heights[r]
	}
}

// gridFigure returns a figure of panels in columns, which are all alike.
func (s *set) gridFigure(name, shows string, panels []*plot.Plot, legend []entry) Figure {
	rows := inColumns(panels, min(panelColumns, len(panels)))
	heights := equalHeights(rows, panelHeight)
	if len(panels) == 1 {
		heights[0] = figureHeight
	}
	f := Figure{Name: s.prefix + "-" + name, Set: s.prefix, Shows: shows, Subject: s.subject(), legend: legend}
	return f.grid(rows, heights)
}

// grid returns the figure with rows of panels as its body.
func (f Figure) grid(rows [][]*plot.Plot, heights []vg.Length) Figure {
	f.width, f.height = figureWidth, list.Sum(heights)
	f.body = func(c draw.Canvas) { drawGrid(rows, heights, c) }
	return f
}

// rowsOf returns the figure with panels that are as high as their rows need.
func (f Figure) rowsOf(panels []*plot.Plot, rows int) Figure {
	lines := inColumns(panels, min(panelColumns, len(panels)))
	return f.grid(lines, equalHeights(lines, rowsAxis+rowHeight*vg.Length(rows)))
}

// The height of a row, and of the title and the axis of a panel of rows.
const (
	rowHeight = 0.26 * vg.Inch
	rowsAxis  = 0.8 * vg.Inch
)

// stackFigure returns a figure of panels one below the other.
func (s *set) stackFigure(name, shows string, panels []*plot.Plot, heights []vg.Length, legend []entry) Figure {
	f := Figure{Name: s.prefix + "-" + name, Set: s.prefix, Shows: shows, Subject: s.subjectOfOne(), Zoom: true, legend: legend}
	return f.grid(inColumns(panels, 1), heights)
}
