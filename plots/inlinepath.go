package plots

import (
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// unit is how many units of an inline figure's coordinates a point has. A page has hundreds of figures, and whole numbers are its
// shortest.
const unit = 4

// place is a position in units, from the upper left.
type place struct{ x, y int }

// short returns a length in units with one digit after the point.
func short(l vg.Length) string {
	return strings.TrimSuffix(strconv.FormatFloat(unit*float64(l), 'f', 1, 64), ".0")
}

// nearSegment reports whether all points are at most one unit away from the segment between two others, and none of them is
// beyond its ends.
func nearSegment(from, to place, points []place) bool {
	dx, dy := to.x-from.x, to.y-from.y
	square := dx*dx + dy*dy
	for _, p := range points {
		px, py := p.x-from.x, p.y-from.y
		across, along := dx*py-dy*px, dx*px+dy*py
		if across*across > square || along < 0 || along > square || square == 0 && p != from {
			return false
		}
	}
	return true
}

// pathData is the value of an attribute d, in relative commands, which are shorter than absolute ones.
type pathData struct {
	text      strings.Builder
	start, at place
}

// move begins a line. The first one of a path is relative to the origin.
func (d *pathData) move(p place) {
	d.command("m", p.x-d.at.x, p.y-d.at.y)
	d.start, d.at = p, p
}

// lineTo continues a line.
func (d *pathData) lineTo(p place) {
	switch dx, dy := p.x-d.at.x, p.y-d.at.y; {
	case dx == 0 && dy != 0:
		d.command("v", dy)
	case dy == 0:
		d.command("h", dx)
	default:
		d.command("l", dx, dy)
	}
	d.at = p
}

// command writes a command with its lengths. A sign separates two lengths as a space does.
func (d *pathData) command(name string, lengths ...int) {
	d.text.WriteString(name)
	for i, l := range lengths {
		if (i > 0 || strings.HasSuffix(name, "0")) && l >= 0 {
			d.text.WriteByte(' ')
		}
		d.text.WriteString(strconv.Itoa(l))
	}
}

// close ends a line where it began.
func (d *pathData) close() {
	d.text.WriteByte('z')
	d.at = d.start
}

// reset empties the path.
func (d *pathData) reset() { *d = pathData{} }
