package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/table"
)

// timelineShown is the length of the first part of a result's timeline, which is drawn. In a longer part, single herds could
// not be distinguished.
const timelineShown = 250 * time.Millisecond

// The heights of the figure's panels. Each variant has a panel of notifications above a panel of bystander reads; the last one has
// the numbers of the time axis.
const (
	dotsHeight      = 2.1 * vg.Inch
	bystanderHeight = 1.05 * vg.Inch
	timesHeight     = 0.3 * vg.Inch
)

// timelines draws the notifications of two variants that make the same promise, one below the other: first those of the overview,
// then each other naive variant and an optimized one, the overview's if possible. Variants in lockstep have no timeline, as zkbench sets their pace.
func (s *set) timelines() []Figure {
	if s.docs[0].Lockstep() {
		return nil
	}
	out := s.applicationTimelines()
	for _, pair := range s.timelinePairs() {
		upper, lower := middle(pair[0]), middle(pair[1])
		if max(upper.Herd.Max(), lower.Herd.Max()) < 2 {
			continue
		}
		if silent := slices.IndexFunc(pair[:], func(g []*results.Document) bool { return len(shownDots(middle(g))) == 0 }); silent >= 0 {
			s.without("no timeline of %s and %s, as %s has no notification in it", upper.Variant, lower.Variant, pair[silent][0].Variant)
			continue
		}
		if len(out) == mostPairs {
			s.without("no timeline of %s and %s: %d pairs are drawn", upper.Variant, lower.Variant, mostPairs)
			continue
		}
		out = append(out, s.timeline(upper, lower))
	}
	return out
}

// applicationTimelines draws the notifications of each application that was observed. There is no second one to set beside it.
func (s *set) applicationTimelines() []Figure {
	var out []Figure
	for _, g := range s.atMost() {
		d := middle(g)
		if d.Kind != results.Application || d.Herd.Max() < 2 || len(shownDots(d)) == 0 {
			continue
		}
		dots := s.dotsPanel(d)
		showTimes(dots, "time, ms")
		shows := fmt.Sprintf("Every notification of %s, %s", timelineShown, clientsText(d.Clients))
		out = append(out, s.stackFigure(fmt.Sprintf("timeline-n%d-%s", d.Clients, d.Variant), shows, []*plot.Plot{dots}, []vg.Length{dotsHeight + timesHeight}, nil))
	}
	return out
}

// mostPairs is how many pairs of variants have figures with a dot for each event. More of them repeat what the first ones say.
const mostPairs = 2

// timelinePairs returns the groups that are drawn together, under the largest number of clients.
func (s *set) timelinePairs() [][2][]*results.Document {
	groups := s.atMost()
	find := func(is func(*results.Document) bool) []*results.Document {
		if i := slices.IndexFunc(groups, func(g []*results.Document) bool { return is(g[0]) }); i >= 0 {
			return groups[i]
		}
		return nil
	}
	var out [][2][]*results.Document
	add := func(upper, lower []*results.Document) {
		known := func(p [2][]*results.Document) bool { return p[0][0].Variant == upper[0].Variant }
		if upper != nil && lower != nil && !slices.ContainsFunc(out, known) {
			out = append(out, [2][]*results.Document{upper, lower})
		}
	}
	pair, _ := claim.ParsePair(s.docs[0].Scenario.Overview) // empty if there is none
	add(find(func(d *results.Document) bool { return d.Variant == pair.Naive }), find(func(d *results.Document) bool { return d.Variant == pair.Optimized }))
	for _, g := range groups {
		if g[0].Kind != "naive" {
			continue
		}
		partner := func(d *results.Document) bool { return d.Kind == "optimized" && slices.Equal(d.Forgoes, g[0].Forgoes) }
		add(g, find(func(d *results.Document) bool { return partner(d) && d.Variant == pair.Optimized }))
		add(g, find(partner))
	}
	return out
}

// middle returns the repeat in the middle.
func middle(group []*results.Document) *results.Document { return group[len(group)/2] }

func (s *set) timeline(upper, lower *results.Document) Figure {
	slowest := max(slowestBystander(upper), slowestBystander(lower))
	var panels []*plot.Plot
	for _, d := range []*results.Document{upper, lower} {
		dots := s.dotsPanel(d)
		dots.Title.Text = fmt.Sprintf("%s (%s)", d.Variant, d.Kind)
		panels = append(panels, dots, bystanderPanel(d, slowest))
	}
	showTimes(panels[3], "time, ms")
	name := fmt.Sprintf("timeline-n%d-%s", upper.Clients, upper.Variant)
	shows := fmt.Sprintf("Every notification of %s, %s", timelineShown, clientsText(upper.Clients))
	return s.stackFigure(name, shows, panels, []vg.Length{dotsHeight, bystanderHeight, dotsHeight, bystanderHeight + timesHeight}, nil)
}

// shownDots returns the notifications of the part that is drawn, by the time in milliseconds and the client.
func shownDots(d *results.Document) plotter.XYs {
	var xys plotter.XYs
	for _, n := range d.Timeline.Notifications {
		if n.At <= timelineShown {
			xys = append(xys, plotter.XY{X: milliseconds(n.At), Y: float64(n.Client)})
		}
	}
	return xys
}

// dotsPanel draws each notification as a dot at its time and client.
func (s *set) dotsPanel(d *results.Document) *plot.Plot {
	p := newPlot("", "", "client")
	faults := faultsSince(d, d.Timeline.Start, d.Timeline.Start+timelineShown, milliseconds)
	p.Add(faultMarks{marks: faults}, faultLabels{marks: faults})
	p.Add(dots{shownDots(d), s.looks[d.Variant].color, 1.3})
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
	var all stems
	for _, b := range d.Timeline.Bystander {
		if b.At <= timelineShown {
			all = append(all, plotter.XY{X: milliseconds(b.At), Y: milliseconds(b.Response)})
		}
	}
	p.Add(all)
	if i := all.highest(); i >= 0 {
		p.Add(spots{{all[i], fmt.Sprintf("%s: slowest read shown: %s", d.Variant, table.Latency(all[i].Y*1e6))}})
	}
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

// dots are many small dots of one color, one for each event.
type dots struct {
	xys    plotter.XYs
	color  color.RGBA
	radius vg.Length
}

// dotCanvas is a canvas with a short form for many equal dots.
type dotCanvas interface {
	fillDots(centers []vg.Point, radius vg.Length)
}

// Plot implements [plot.Plotter].
func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var centers []vg.Point
	for _, xy := range d.xys {
		if at := (vg.Point{X: x(xy.X), Y: y(xy.Y)}); c.Contains(at) {
			centers = append(centers, at)
		}
	}
	c.SetColor(d.color)
	if short, ok := innermost(c).(dotCanvas); ok {
		short.fillDots(centers, d.radius)
		return
	}
	for _, at := range centers {
		draw.CircleGlyph{}.DrawGlyph(&c, draw.GlyphStyle{Radius: d.radius}, at)
	}
}

// stemWidth is the width of the line of a stem, and visible the smallest height at which it can be seen.
const (
	stemWidth = vg.Length(1.6)
	visible   = vg.Length(0.3)
)

// stems are values at moments, each drawn as a thin line from zero.
type stems plotter.XYs

// highest returns the index of the largest value; -1 if there are none.
func (s stems) highest() int {
	at := -1
	for i, xy := range s {
		if at < 0 || xy.Y > s[at].Y {
			at = i
		}
	}
	return at
}

// Plot implements [plot.Plotter].
func (s stems) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	highest := map[int]vg.Length{} // of the stems that cover each other, by their place
	var places []int
	for _, xy := range s {
		place := int(math.Round(float64(x(xy.X) / stemWidth)))
		if _, known := highest[place]; !known {
			places = append(places, place)
		}
		highest[place] = max(highest[place], min(y(xy.Y), c.Max.Y))
	}
	style := draw.LineStyle{Color: gray(), Width: stemWidth}
	for _, place := range places { // one by one, as a path of many lines takes much longer in pixels
		if highest[place]-y(0) < visible {
			continue
		}
		at := stemWidth * vg.Length(place)
		c.StrokeLine2(style, at, y(0), at, highest[place])
	}
}
