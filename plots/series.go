package plots

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

const shortestSeries = 10 * time.Second

const mostPoints = 200

// The heights of the figure's panels. The first one has room for the stalls, and the last one for the numbers of the time axis.
const (
	firstHeight  = 1.9 * vg.Inch
	middleHeight = 1.55 * vg.Inch
	lastHeight   = 1.85 * vg.Inch
)

// track is the time series of one measurement, in steps of the same width as in all other tracks of the figure.
type track struct {
	*results.Series
	doc    *results.Document
	style  draw.LineStyle
	step   time.Duration
	merged int // bins for each step
	points int // complete steps
}

// tracksOf returns the tracks of the middle repeats of groups. Steps are the narrowest that are whole bins of all of them and leave each
// line at most mostPoints points. The widths of bins are powers of two of [results.FirstBin]. There are too many points for shapes:
// without color, lines can be distinguished by their width.
func tracksOf(groups []group) []track {
	step := results.FirstBin
	for _, g := range groups {
		for d := g.middle(); step < d.Series.Bin || lengthOf(d)/step > mostPoints; {
			step *= 2
		}
	}
	tracks := make([]track, len(groups))
	for i, g := range groups {
		d := g.middle()
		merged := int(step / d.Series.Bin)
		style := draw.LineStyle{Color: g.look.color, Width: []vg.Length{1.6, 0.8, 1.2}[i%3]}
		tracks[i] = track{d.Series, d, style, step, merged, max((len(d.Series.Operations)-1)/merged, 0)}
	}
	return tracks
}

func lengthOf(d *results.Document) time.Duration {
	return d.Series.Bin * time.Duration(len(d.Series.Operations))
}

// seconds returns the place of a point on the time axis: the middle of its step, in seconds since the window began.
func (t track) seconds(point int) float64 {
	return (t.Start + t.step*time.Duration(point) + t.step/2 - t.doc.Window.Start).Seconds()
}

func (t track) line(q seriesQuantity) plotter.XYs {
	var xys plotter.XYs
	for i := range t.points {
		if y, ok := q.value(t, i*t.merged, (i+1)*t.merged); ok {
			xys = append(xys, plotter.XY{X: t.seconds(i), Y: y})
		}
	}
	return xys
}

type seriesQuantity struct {
	label string
	value func(t track, first, end int) (y float64, ok bool)
}

// seriesQuantities returns the quantities that are drawn over time. Steps in which no phase ended have no mean, only open loads have a
// backlog, and steps without a read have no place on a logarithmic axis.
func seriesQuantities(phase string) []seriesQuantity {
	perSecond := func(t track, counts []int64) (float64, bool) {
		return float64(list.Sum(counts)) / t.step.Seconds(), true
	}
	return []seriesQuantity{
		{"operations per second", func(t track, first, end int) (float64, bool) { return perSecond(t, t.Operations[first:end]) }},
		{"mean " + phase + ", ms", func(t track, first, end int) (float64, bool) {
			samples, total := list.Sum(t.Samples[first:end]), list.Sum(t.Time[first:end])
			return milliseconds(total) / float64(max(samples, 1)), samples > 0
		}},
		{"largest backlog, arrivals", func(t track, first, end int) (float64, bool) {
			if t.Backlog == nil {
				return 0, false
			}
			return float64(slices.Max(t.Backlog[first:end])), true
		}},
		{"notifications per second", func(t track, first, end int) (float64, bool) { return perSecond(t, t.Notifications[first:end]) }},
		{"largest herd, notifications", func(t track, first, end int) (float64, bool) {
			return float64(slices.Max(t.LargestHerd[first:end])), true
		}},
		{"slowest bystander read, ms", func(t track, first, end int) (float64, bool) {
			slowest := slices.Max(t.SlowestRead[first:end])
			return milliseconds(slowest), slowest > 0
		}},
	}
}

// overTime draws the time series of the middle repeat of each variant under the largest number of clients. It leaves out short
// measurements, and those in lockstep, whose pace zkbench sets.
func (s *Set) overTime() []Figure {
	groups := list.Where(s.atMost(), func(g group) bool {
		d := g.middle()
		return d.Series != nil && !d.Lockstep() && lengthOf(d) > shortestSeries
	})
	if len(groups) == 0 {
		return nil
	}
	tracks := tracksOf(groups)
	panels := seriesPanels(tracks)
	heights := slices.Repeat([]vg.Length{middleHeight}, len(panels))
	heights[0], heights[len(panels)-1] = firstHeight, lastHeight
	f := stackOf("", panels, heights)
	f.Shows = fmt.Sprintf(", in steps of %s", tracks[0].step)
	f.legend = list.Map(tracks, func(t track) entry {
		return entry{t.doc.Variant, []plot.Thumbnailer{&plotter.Line{LineStyle: t.style}}}
	})
	return []Figure{f}
}

// seriesPanels returns a panel for each quantity that has values, with a common time axis. All tracks have the same faults and stages.
func seriesPanels(tracks []track) []*plot.Plot {
	d := tracks[0].doc
	behind, labels := faultMarks(d, d.Window.Start, d.Window.End, time.Duration.Seconds)
	caption := "shaded: outside the window"
	if labels != nil {
		caption = "gray: outside the window; lines, yellow: faults"
	}
	for i, stage := range d.Stages {
		if i == 1 {
			caption += "; dashed: stages"
		}
		if i > 0 {
			style := draw.LineStyle{Color: gray(), Width: 0.7, Dashes: []vg.Length{3, 3}}
			behind = append(behind, upright((stage.Start-d.Window.Start).Seconds(), style))
		}
	}
	var panels []*plot.Plot
	for i, quantity := range seriesQuantities(d.Phases[0]) {
		lines := list.Map(tracks, func(t track) plotter.XYs { return t.line(quantity) })
		if i == 0 || slices.ContainsFunc(slices.Concat(lines...), func(xy plotter.XY) bool { return xy.Y > 0 }) {
			panels = append(panels, seriesPanel(tracks, quantity.label, lines, behind))
		}
	}
	for i, t := range tracks {
		t.addStalls(panels[0], i)
	}
	if labels != nil { // room above the data for the names of faults
		panels[0].Add(labels...)
		panels[0].Y.Max /= 1 - markRow
	}
	if slices.ContainsFunc(tracks, func(t track) bool { return len(t.doc.Stalls) > 0 }) {
		caption += "; bars below: stalls"
	}
	showTimes(panels[len(panels)-1], fmt.Sprintf("time since the window began, s (%s)", caption))
	return panels
}

// seriesPanel draws one line of each track over behind, and over a shade of the time outside the window.
func seriesPanel(tracks []track, label string, lines []plotter.XYs, behind []plot.Plotter) *plot.Plot {
	p := newPlot(label, "", "")
	hideTimes(p)
	low, high, end := math.Inf(1), 1.0, 0.0
	for i, t := range tracks {
		for _, xy := range lines[i] {
			low, high = min(low, xy.Y), max(high, xy.Y)
		}
		if t.points > 0 { // the same axis in all panels, also in one without values at its ends
			p.X.Min, p.X.Max = min(p.X.Min, t.seconds(0)), max(p.X.Max, t.seconds(t.points-1))
		}
		end = max(end, t.doc.Window.Length().Seconds())
	}
	p.X.Max = max(p.X.Max, end)
	p.Y.Min, p.Y.Max = 0, high*1.08
	if low > 0 && high > 100*low {
		logarithmic(&p.Y, &p.Title.Text, low*0.8, high*1.3)
	}
	p.Add(band(p.X.Min, 0, shadeColor()), band(end, p.X.Max, shadeColor()))
	p.Add(behind...)
	for i, t := range tracks {
		for _, piece := range t.pieces(lines[i]) {
			addLine(p, piece, t.style)
		}
	}
	return p
}

// longestGap bounds the steps without a value that a line is drawn across.
const longestGap = 10

// pieces divides a line at long gaps. A single value becomes a line of one step.
func (t track) pieces(xys plotter.XYs) []plotter.XYs {
	var out []plotter.XYs
	for begin, i := 0, 1; i <= len(xys); i++ {
		if i < len(xys) && xys[i].X-xys[i-1].X <= (longestGap+1.5)*t.step.Seconds() {
			continue
		}
		piece := xys[begin:i]
		if half := t.step.Seconds() / 2; len(piece) == 1 {
			piece = plotter.XYs{{X: piece[0].X - half, Y: piece[0].Y}, {X: piece[0].X + half, Y: piece[0].Y}}
		}
		out, begin = append(out, piece), i
	}
	return out
}

func (t track) addStalls(p *plot.Plot, row int) {
	step := 0.05 * p.Y.Max
	for _, stall := range t.doc.Stalls {
		y := -step * (float64(row) + 0.5)
		p.Y.Min = min(p.Y.Min, -step*float64(row+1))
		bar := plotter.XYs{{X: stall.Start.Seconds(), Y: y}, {X: (stall.Start + stall.Length).Seconds(), Y: y}}
		addLine(p, bar, draw.LineStyle{Color: t.style.Color, Width: 5})
	}
}
