package plots

import (
	"fmt"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/table"
)

// The heights of a variant's two panels in the failure figure, of which it has one or two variants.
const (
	operationsHeight = 2.2 * vg.Inch
	readsHeight      = 1.2 * vg.Inch
)

// markRow is the share of a panel's height that a row of labels of faults takes.
const markRow = 0.1

// failures draws what happened around the first fault, under the largest number of clients: for the pairs of variants that a
// timeline has, or for each variant by itself if there are none.
func (s *set) failures() []Figure {
	faulted := func(g []*results.Document) bool { f := middle(g).Failure; return f != nil && f.Around != nil }
	var out []Figure
	for _, pair := range s.timelinePairs() {
		upper, lower := middle(pair[0]), middle(pair[1])
		switch {
		case !faulted(pair[0]) || !faulted(pair[1]):
		case len(out) == mostPairs:
			s.without("no operations around a fault of %s and %s: %d pairs are drawn", upper.Variant, lower.Variant, mostPairs)
		default:
			out = append(out, s.failure(upper, lower))
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, g := range s.atMost() {
		if faulted(g) {
			out = append(out, s.failure(middle(g)))
		}
	}
	return out
}

// failure draws one or two variants below each other, aligned at their first faults.
func (s *set) failure(docs ...*results.Document) Figure {
	var panels []*plot.Plot
	var heights []vg.Length
	for _, d := range docs {
		operations := s.operationsPanel(d)
		operations.Title.Text = fmt.Sprintf("%s (%s): %s", d.Variant, d.Kind, recoveryText(d.Failure.Faults[0]))
		panels = append(panels, operations, readsAroundFault(d))
		heights = append(heights, operationsHeight, readsHeight)
	}
	align(panels)
	last := panels[len(panels)-1]
	showTimes(last, "time since the first fault, s (line: fault; yellow: until it was undone; dashed: recovery; gray: not recorded)")
	heights[len(heights)-1] += timesHeight
	name := fmt.Sprintf("failure-n%d-%s", docs[0].Clients, docs[0].Variant)
	return s.stackFigure(name, "Operations around the first fault, "+clientsText(docs[0].Clients), panels, heights, nil)
}

// align gives all panels the same times, and the bystanders' panels, which are every second one, the same scale. It shades the
// times that a panel has no record of.
func align(panels []*plot.Plot) {
	start, end := panels[0].X.Min, panels[0].X.Max
	for _, p := range panels {
		start, end = min(start, p.X.Min), max(end, p.X.Max)
	}
	slowest := max(panels[1].Y.Max, panels[len(panels)-1].Y.Max)
	for i, p := range panels {
		p.Add(shade{start, p.X.Min}, shade{p.X.Max, end})
		p.X.Min, p.X.Max = start, end
		if i%2 == 1 {
			p.Y.Max = slowest
		}
	}
}

// recoveryText describes the recovery from a fault.
func recoveryText(f results.Fault) string {
	if !f.Recovered() {
		return "no recovery from " + f.Label()
	}
	return fmt.Sprintf("recovered from %s after %s", f.Label(), table.Latency(float64(f.Recovery)))
}

// operationsPanel draws each completed operation as a dot at its time and client, with the faults.
func (s *set) operationsPanel(d *results.Document) *plot.Plot {
	p := newPlot("", "", "client")
	t, first := d.Failure.Around.Timeline, d.Failure.Faults[0]
	since := func(at time.Duration) float64 { return (at - first.At).Seconds() }
	marks := faultsSince(d, first.At, t.End, time.Duration.Seconds)
	p.Add(faultMarks{marks, first.Recovery.Seconds(), first.Recovered()}, faultLabels{marks: marks})
	var xys plotter.XYs
	for _, o := range d.Failure.Around.Operations {
		xys = append(xys, plotter.XY{X: since(t.Start + o.At), Y: float64(o.Client)})
	}
	p.Add(dots{xys, s.looks[d.Variant].color, 1.3})
	hideTimes(p)
	p.X.Min, p.X.Max = since(t.Start), since(t.End)
	p.Y.Min, p.Y.Max = -1, float64(d.Clients)/(1-markRow)
	p.Y.Tick.Marker = indexTicks(d.Clients)
	return p
}

// readsAroundFault draws each bystander read.
func readsAroundFault(d *results.Document) *plot.Plot {
	p := newPlot("", "", "bystander\nread, ms")
	t, first := d.Failure.Around.Timeline, d.Failure.Faults[0].At
	p.Y.Min, p.Y.Max = 0, 1
	var all stems
	for _, b := range t.Bystander {
		at, took := (t.Start + b.At - first).Seconds(), milliseconds(b.Response)
		all = append(all, plotter.XY{X: at, Y: took})
		p.Y.Max = max(p.Y.Max, took*1.1)
	}
	p.Add(all)
	hideTimes(p)
	p.X.Min, p.X.Max = (t.Start - first).Seconds(), (t.End - first).Seconds()
	return p
}

// mark is a fault in a figure over time.
type mark struct {
	at, length float64 // in the unit of the time axis
	label      string
}

// faultsSince returns the listed faults of a document that are in effect between two moments, with their times since the first
// of these in a unit of time.
func faultsSince(d *results.Document, from, to time.Duration, unit func(time.Duration) float64) []mark {
	if d.Failure == nil {
		return nil
	}
	var out []mark
	for _, f := range d.Failure.Faults {
		if f.At <= to && f.At+f.Length >= from {
			out = append(out, mark{unit(f.At - from), unit(f.Length), f.Label()})
		}
	}
	return out
}

// faultMarks draws faults as lines, and shades the time until each was undone.
type faultMarks struct {
	marks     []mark
	recovery  float64 // from the first fault, which is at 0; drawn as a dashed line
	recovered bool
}

// Plot implements [plot.Plotter].
func (m faultMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	within := func(at float64) vg.Length { return min(max(x(at), c.Min.X), c.Max.X) }
	for _, one := range m.marks {
		if left, right := within(one.at), within(one.at+one.length); right > left {
			c.FillPolygon(outageColor(), []vg.Point{{X: left, Y: c.Min.Y}, {X: right, Y: c.Min.Y}, {X: right, Y: c.Max.Y}, {X: left, Y: c.Max.Y}})
		}
	}
	style := draw.LineStyle{Color: ink(), Width: 1}
	for _, one := range m.marks {
		if at := x(one.at); at >= c.Min.X && at <= c.Max.X {
			c.StrokeLine2(style, at, c.Min.Y, at, c.Max.Y)
		}
	}
	if m.recovered {
		style.Dashes = []vg.Length{3, 3}
		c.StrokeLine2(style, within(m.recovery), c.Min.Y, within(m.recovery), c.Max.Y)
	}
}

// faultLabels names faults to the right of their lines, or to the left at the end of the axis. A label that would overlap the
// one before it is left out.
type faultLabels struct {
	marks []mark  // in order of time
	row   float64 // the share of the panel's height that is left free above the labels
}

// Plot implements [plot.Plotter].
func (l faultLabels) Plot(c draw.Canvas, p *plot.Plot) {
	const gap = vg.Length(3)
	x, _ := p.Transforms(&c)
	style := textStyle(noteSize)
	style.YAlign, style.Color = draw.YBottom, ink()
	top := c.Max.Y - vg.Length(l.row)*(c.Max.Y-c.Min.Y) - gap
	free := c.Min.X
	for _, one := range l.marks {
		at, width := x(one.at)+gap, style.Width(one.label)
		if at+width > c.Max.X {
			at = x(one.at) - gap - width
		}
		if at >= free && at+width <= c.Max.X {
			c.FillText(style, vg.Point{X: at, Y: top - style.Height(one.label)}, one.label)
			free = at + width + gap
		}
	}
}
