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

// shortestSeries is the length of a measurement above which its time series is drawn.
const shortestSeries = 10 * time.Second

// mostPoints is the number of points of one line at most: the steps are wide enough for that.
const mostPoints = 200

// The heights of the figure's panels. The first one has the stalls, the last one the numbers of the time axis.
const (
	firstHeight  = 1.9 * vg.Inch
	middleHeight = 1.55 * vg.Inch
	lastHeight   = 1.85 * vg.Inch
)

// stallWidth is the width of the bars that mark stalls.
const stallWidth = 5

// track is the time series of one measurement in steps of a width that all measurements in a figure share.
type track struct {
	doc    *results.Document
	step   time.Duration
	merged int // bins for each step
	points int // steps; the last one, which the measurement may not have filled, is left out
}

// tracksOf returns the tracks of measurements, in the narrowest steps that are whole bins of all of them and leave each
// line at most mostPoints points. The widths of bins are powers of two of [results.FirstBin].
func tracksOf(docs []*results.Document) []track {
	step := results.FirstBin
	for _, d := range docs {
		for step < d.Series.Bin || lengthOf(d)/step > mostPoints {
			step *= 2
		}
	}
	tracks := make([]track, len(docs))
	for i, d := range docs {
		merged := int(step / d.Series.Bin)
		tracks[i] = track{d, step, merged, max((len(d.Series.Operations)-1)/merged, 0)}
	}
	return tracks
}

// lengthOf returns the length of a document's time series.
func lengthOf(d *results.Document) time.Duration {
	return d.Series.Bin * time.Duration(len(d.Series.Operations))
}

// seconds returns where a point stands on the time axis: the middle of its step, in seconds since the window began.
func (t track) seconds(point int) float64 {
	return (t.doc.Series.Start + t.step*time.Duration(point) + t.step/2 - t.doc.Window.Start).Seconds()
}

// line returns a point for each step. Points without a value are left out.
func (t track) line(value func(first, end int) (y float64, ok bool)) plotter.XYs {
	var xys plotter.XYs
	for i := range t.points {
		if y, ok := value(i*t.merged, (i+1)*t.merged); ok {
			xys = append(xys, plotter.XY{X: t.seconds(i), Y: y})
		}
	}
	return xys
}

// rate draws counts as counts per second.
func (t track) rate(counts []int64) plotter.XYs {
	return t.line(func(first, end int) (float64, bool) {
		return float64(list.Sum(counts[first:end])) / t.step.Seconds(), true
	})
}

// latencies draws the mean duration of the recipe's first phase. Steps in which none ended have no point.
func (t track) latencies() plotter.XYs {
	s := t.doc.Series
	return t.line(func(first, end int) (float64, bool) {
		samples, total := list.Sum(s.Samples[first:end]), list.Sum(s.Time[first:end])
		return milliseconds(total) / float64(max(samples, 1)), samples > 0
	})
}

func (t track) operations() plotter.XYs    { return t.rate(t.doc.Series.Operations) }
func (t track) notifications() plotter.XYs { return t.rate(t.doc.Series.Notifications) }

func (t track) herds() plotter.XYs {
	return t.line(func(first, end int) (float64, bool) {
		return float64(slices.Max(t.doc.Series.LargestHerd[first:end])), true
	})
}

// backlog draws the largest number of arrivals that waited for a client. Only open loads have one.
func (t track) backlog() plotter.XYs {
	if t.doc.Series.Backlog == nil {
		return nil
	}
	return t.line(func(first, end int) (float64, bool) {
		return float64(slices.Max(t.doc.Series.Backlog[first:end])), true
	})
}

// reads leaves out steps without a read, which have no place on a logarithmic axis.
func (t track) reads() plotter.XYs {
	return t.line(func(first, end int) (float64, bool) {
		slowest := slices.Max(t.doc.Series.SlowestRead[first:end])
		return milliseconds(slowest), slowest > 0
	})
}

// overTime draws the time series of the middle repeat of each variant under the largest number of clients. Short measurements are left
// out, and those in lockstep, whose pace zkbench sets.
func (s *set) overTime() []Figure {
	docs := list.Where(list.Map(s.atMost(), middle), func(d *results.Document) bool {
		return d.Series != nil && !d.Lockstep() && lengthOf(d) > shortestSeries
	})
	if len(docs) == 0 {
		return nil
	}
	tracks := tracksOf(docs)
	panels := s.seriesPanels(tracks)
	heights := slices.Repeat([]vg.Length{middleHeight}, len(panels))
	heights[0], heights[len(panels)-1] = firstHeight, lastHeight
	n := s.mostClients()
	shows := fmt.Sprintf("Over time, %s, in steps of %s", clientsText(n), tracks[0].step)
	var legend []entry
	for i, t := range tracks {
		l := s.looks[t.doc.Variant]
		legend = append(legend, entry{t.doc.Variant, []plot.Thumbnailer{&plotter.Line{LineStyle: seriesStyle(l, i)}}})
	}
	return []Figure{s.stackFigure(fmt.Sprintf("series-n%d", n), shows, panels, heights, legend)}
}

// seriesPanels returns the panels of the figure, with the same time axis: those of what happened at all, and of the operations.
func (s *set) seriesPanels(tracks []track) []*plot.Plot {
	var panels []*plot.Plot
	for i, quantity := range []struct {
		label string
		line  func(track) plotter.XYs
	}{
		{"operations per second", track.operations},
		{"mean " + tracks[0].doc.Phases[0] + ", ms", track.latencies},
		{"largest backlog, arrivals", track.backlog},
		{"notifications per second", track.notifications},
		{"largest herd, notifications", track.herds},
		{"slowest bystander read, ms", track.reads},
	} {
		lines := make([]plotter.XYs, len(tracks))
		happened := i == 0
		for j, t := range tracks {
			lines[j] = quantity.line(t)
			happened = happened || slices.ContainsFunc(lines[j], func(xy plotter.XY) bool { return xy.Y > 0 })
		}
		if happened {
			panels = append(panels, s.seriesPanel(tracks, quantity.label, lines))
		}
	}
	for i, t := range tracks {
		s.addStalls(panels[0], t, i)
	}
	if marks := faultsOf(tracks); len(marks) > 0 { // room above the data for their names
		panels[0].Add(faultLabels{marks: marks})
		panels[0].Y.Max /= 1 - markRow
	}
	showTimes(panels[len(panels)-1], seriesCaption(tracks))
	return panels
}

// seriesStyle tells lines apart without color by their width: there are too many points for shapes.
func seriesStyle(l look, place int) draw.LineStyle {
	return draw.LineStyle{Color: l.color, Width: []vg.Length{1.6, 0.8, 1.2}[place%3]}
}

// faultsOf returns the faults of the first track; the schedule is the same for all of them.
func faultsOf(tracks []track) []mark {
	d := tracks[0].doc
	return faultsSince(d, d.Window.Start, d.Window.End, time.Duration.Seconds)
}

// seriesCaption names the time axis, and explains what else is drawn.
func seriesCaption(tracks []track) string {
	text := "shaded: outside the window"
	if len(faultsOf(tracks)) > 0 {
		text = "gray: outside the window; lines, yellow: faults"
	}
	if len(stageEdges(tracks)) > 0 {
		text += "; dashed: stages"
	}
	return fmt.Sprintf("time since the window began, s (%s; bars below: stalls)", text)
}

// edges draws a line where each stage of the load but the first begins, in seconds since the window began.
type edges []float64

// stageEdges returns the edges of the first track; the stages are the same for all of them.
func stageEdges(tracks []track) edges {
	var out edges
	d := tracks[0].doc
	for _, s := range d.Stages[min(1, len(d.Stages)):] {
		out = append(out, (s.Start - d.Window.Start).Seconds())
	}
	return out
}

// Plot implements [plot.Plotter].
func (e edges) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	style := draw.LineStyle{Color: gray(), Width: 0.7, Dashes: []vg.Length{3, 3}}
	for _, at := range e {
		c.StrokeLine2(style, x(at), c.Min.Y, x(at), c.Max.Y)
	}
}

// seriesPanel draws one line of each track over a shade of what does not belong to the window.
func (s *set) seriesPanel(tracks []track, label string, lines []plotter.XYs) *plot.Plot {
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
		logarithmic(&p.Y, low*0.8, high*1.3)
		p.Title.Text += logLabel
	}
	p.Add(shade{p.X.Min, 0}, shade{end, p.X.Max}, faultMarks{marks: faultsOf(tracks)}, stageEdges(tracks))
	for i, t := range tracks {
		for _, piece := range t.pieces(lines[i]) {
			addLine(p, piece, seriesStyle(s.looks[t.doc.Variant], i))
		}
	}
	return p
}

// longestGap is the number of steps without a value that a line is drawn across.
const longestGap = 10

// pieces divides a line where it has no values for long. A value that is alone becomes a line of one step.
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

// shade fills a panel between two times.
type shade struct{ from, to float64 }

// Plot implements [plot.Plotter].
func (s shade) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	left, right := x(s.from), x(s.to)
	c.FillPolygon(shadeColor(), []vg.Point{{X: left, Y: c.Min.Y}, {X: right, Y: c.Min.Y}, {X: right, Y: c.Max.Y}, {X: left, Y: c.Max.Y}})
}

// addStalls marks the stalls of a track by bars below the panel's lines, in a row of their own for each track.
func (s *set) addStalls(p *plot.Plot, t track, row int) {
	step := 0.05 * p.Y.Max
	for _, stall := range t.doc.Stalls {
		y := -step * (float64(row) + 0.5)
		p.Y.Min = min(p.Y.Min, -step*float64(row+1))
		bar := plotter.XYs{{X: stall.Start.Seconds(), Y: y}, {X: (stall.Start + stall.Length).Seconds(), Y: y}}
		addLine(p, bar, draw.LineStyle{Color: s.looks[t.doc.Variant].color, Width: stallWidth})
	}
}
