package plots

import (
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
)

// timelineShown is the length of the first part of a result's timeline, which is drawn. In a longer part, single herds could
// not be distinguished.
const timelineShown = 250 * time.Millisecond

// The figure's proportions. Each variant has a panel of notifications above a panel of bystander reads.
const (
	timelineWidth  = 8 * vg.Inch
	timelineHeight = 7 * vg.Inch
	dotsShare      = 0.32
	bystanderShare = 0.18
)

// timelines draws, for each naive variant, its herd timeline above that of the optimized variant.
func (s set) timelines(n int) []figure {
	groups := s.at(n)
	optimized := slices.IndexFunc(groups, func(g []*results.Document) bool { return g[0].Kind == "optimized" })
	if optimized < 0 {
		return nil
	}
	var out []figure
	for _, g := range groups {
		d := middle(g)
		if d.Kind == "naive" && d.Herd.Max() > 1 && !d.Window.Lockstep {
			out = append(out, s.timeline(d, middle(groups[optimized])))
		}
	}
	return out
}

// middle returns the repeat in the middle.
func middle(group []*results.Document) *results.Document { return group[len(group)/2] }

func (s set) timeline(naive, optimized *results.Document) figure {
	slowest := max(slowestBystander(naive), slowestBystander(optimized))
	top := s.dotsPanel(naive)
	top.Title.Text = fmt.Sprintf("Every notification, %s\n%s\n%s (%s)", clientsText(naive.Clients), s.subject(), naive.Variant, naive.Kind)
	lower, last := s.dotsPanel(optimized), bystanderPanel(optimized, slowest)
	lower.Title.Text = fmt.Sprintf("%s (%s)", optimized.Variant, optimized.Kind)
	showTimes(last, "time, ms")
	panels := []*plot.Plot{top, bystanderPanel(naive, slowest), lower, last}
	name := fmt.Sprintf("%s-timeline-n%d-%s", s.prefix, naive.Clients, naive.Variant)
	return figure{name: name, width: timelineWidth, height: timelineHeight, draw: func(c draw.Canvas) {
		stack(panels, []float64{dotsShare, bystanderShare, dotsShare, bystanderShare}, c)
	}}
}

// dotsPanel draws each notification as a dot at its time and client.
func (s set) dotsPanel(d *results.Document) *plot.Plot {
	p := newPlot("", "", "client")
	faults := faultsSince(d, d.Timeline.Start, d.Timeline.Start+timelineShown, milliseconds)
	p.Add(faultMarks{marks: faults}, faultLabels{marks: faults})
	var xys plotter.XYs
	for _, n := range d.Timeline.Notifications {
		if n.At <= timelineShown {
			xys = append(xys, plotter.XY{X: milliseconds(n.At), Y: float64(n.Client)})
		}
	}
	addDots(p, xys, s.colors[d.Variant], 1.3)
	hideTimes(p)
	p.X.Min, p.X.Max = 0, milliseconds(timelineShown)
	p.Y.Min, p.Y.Max = -1, float64(d.Clients)
	if len(faults) > 0 {
		p.Y.Max /= 1 - markRow
	}
	p.Y.Tick.Marker = indexTicks(d.Clients)
	return p
}

// bystanderPanel draws each bystander read, on a scale that both variants share.
func bystanderPanel(d *results.Document, slowest time.Duration) *plot.Plot {
	p := newPlot("", "", "bystander\nread, ms")
	var xys plotter.XYs
	for _, b := range d.Timeline.Bystander {
		if b.At <= timelineShown {
			at := milliseconds(b.At)
			style := draw.LineStyle{Color: gray(), Width: 0.8}
			addLine(p, "", plotter.XYs{{X: at, Y: 0}, {X: at, Y: milliseconds(b.Response)}}, style)
			xys = append(xys, plotter.XY{X: at, Y: milliseconds(b.Response)})
		}
	}
	addDots(p, xys, gray(), 1.5)
	hideTimes(p)
	p.X.Min, p.X.Max = 0, milliseconds(timelineShown)
	p.Y.Min, p.Y.Max = 0, milliseconds(slowest)*1.1
	return p
}

func slowestBystander(d *results.Document) time.Duration {
	slowest := time.Millisecond
	for _, b := range d.Timeline.Bystander {
		if b.At <= timelineShown {
			slowest = max(slowest, b.Response)
		}
	}
	return slowest
}

// hideTimes hides the numbers of a time axis that another panel shows.
func hideTimes(p *plot.Plot) {
	p.X.Tick.Marker, p.X.Tick.Label.Font.Size = plot.TickerFunc(unlabelledTicks), 4
}

// showTimes undoes hideTimes and names the axis.
func showTimes(p *plot.Plot, label string) {
	p.X.Tick.Marker, p.X.Tick.Label.Font.Size = plot.TickerFunc(plainTicks), p.Y.Tick.Label.Font.Size
	p.X.Label.Text = label
}

// stack draws plots one above the other with aligned data areas: each is narrowed by the difference between the widest
// labels and its own.
func stack(panels []*plot.Plot, shares []float64, c draw.Canvas) {
	const margin = 8
	c = draw.Crop(c, margin, -margin, margin, -margin)
	height := c.Max.Y - c.Min.Y
	canvases := make([]draw.Canvas, len(panels))
	var left, right vg.Length
	top := c.Max.Y
	for i, p := range panels {
		bottom := top - height*vg.Length(shares[i])
		canvases[i] = draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: bottom}, Max: vg.Point{X: c.Max.X, Y: top}}}
		data := p.DataCanvas(canvases[i])
		left = max(left, data.Min.X-c.Min.X)
		right = max(right, c.Max.X-data.Max.X)
		top = bottom
	}
	for i, p := range panels {
		data := p.DataCanvas(canvases[i])
		p.Draw(draw.Crop(canvases[i], left-(data.Min.X-c.Min.X), -(right - (c.Max.X - data.Max.X)), 0, 0))
	}
}
