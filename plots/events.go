package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// timelineShown is the length of the part of a timeline that is drawn, from its start. In a longer one, herds could not be distinguished.
const timelineShown = 250 * time.Millisecond

// mostPairs bounds the pairs of variants that have figures with a dot for each event. Further pairs would repeat what these show.
const mostPairs = 2

// timelines draws the notifications of pairs of variants that make the same promise, one variant below the other, and those of each
// observed application, which has no counterpart. Variants in lockstep have no timeline, as zkbench sets their pace.
func (s *Set) timelines() []Figure {
	if s.Docs[0].Lockstep() {
		return nil
	}
	l := layout{dots: 2.1 * vg.Inch, reads: 1.05 * vg.Inch, least: 1.1, caption: "time, ms (dot: a notification; bar: a bystander's read)"}
	herd := func(s stretch) int { return s.middle().Herd.Max() }
	var out []Figure
	for _, g := range s.atMost() {
		if one := timelineOf(g); g.Kind == results.Application && herd(one) >= 2 && len(one.dots) > 0 {
			one.title = ""
			dots := one.dotsPanel()
			showTimes(dots, l.caption)
			out = append(out, stackOf(g.Variant, []*plot.Plot{dots}, []vg.Length{l.dots + timesHeight}))
		}
	}
	for _, pair := range s.pairs() {
		both := []stretch{timelineOf(pair[0]), timelineOf(pair[1])}
		upper, lower := both[0].Variant, both[1].Variant
		silent := slices.IndexFunc(both, func(s stretch) bool { return len(s.dots) == 0 })
		switch {
		case max(herd(both[0]), herd(both[1])) < 2:
		case silent >= 0:
			s.without("no timeline of %s and %s, as %s has no notification in it", upper, lower, both[silent].Variant)
		case len(out) == mostPairs:
			s.without("no timeline of %s and %s: %d pairs are drawn", upper, lower, mostPairs)
		default:
			out = append(out, l.figure(both))
		}
	}
	return out
}

// failures draws the time around the first fault, under the largest number of clients: for pairs of variants, or for each variant by
// itself if there are no pairs.
func (s *Set) failures() []Figure {
	faulted := func(g group) bool { f := g.middle().Failure; return f != nil && f.Around != nil }
	var out []Figure
	for _, pair := range s.pairs() {
		switch {
		case !faulted(pair[0]) || !faulted(pair[1]):
		case len(out) == mostPairs:
			s.without("no operations around a fault of %s and %s: %d pairs are drawn", pair[0].Variant, pair[1].Variant, mostPairs)
		default:
			out = append(out, failure(pair[:]...))
		}
	}
	if len(out) == 0 {
		out = list.Map(list.Where(s.atMost(), faulted), func(g group) Figure { return failure(g) })
	}
	return out
}

// pairs returns the groups that are drawn together, under the largest number of clients: first those of the overview, then each other
// naive variant and an optimized one, preferably the overview's.
func (s *Set) pairs() [][2]group {
	groups := s.atMost()
	var out [][2]group
	add := func(upper, lower []group) {
		known := func(p [2]group) bool { return p[0].Variant == upper[0].Variant }
		if len(upper) > 0 && len(lower) > 0 && !slices.ContainsFunc(out, known) {
			out = append(out, [2]group{upper[0], lower[0]})
		}
	}
	named := func(groups []group, variant string) []group {
		return list.Where(groups, func(g group) bool { return g.Variant == variant })
	}
	pair, _ := claim.ParsePair(s.Docs[0].Scenario.Overview) // empty if there is none
	add(named(groups, pair.Naive), named(groups, pair.Optimized))
	for _, g := range groups {
		if g.Kind == "naive" {
			partners := list.Where(groups, func(o group) bool {
				return o.Kind == "optimized" && slices.Equal(o.Repeats[0].Forgoes, g.Repeats[0].Forgoes)
			})
			add([]group{g}, named(partners, pair.Optimized))
			add([]group{g}, partners)
		}
	}
	return out
}

// stretch is a part of the middle repeat of a group, with a mark for each event.
type stretch struct {
	group
	title    string
	from, to float64     // of the time axis
	dots     plotter.XYs // by time and client
	reads    plotter.XYs // of bystanders, in milliseconds
	slowest  spot        // of the reads
	faults   []plot.Plotter
	outside  []plot.Plotter // shades of the times that were not recorded
}

// timelineOf returns the drawn part of a group's timeline, in milliseconds.
func timelineOf(g group) stretch {
	d := g.middle()
	s := stretch{group: g, title: fmt.Sprintf("%s (%s)", d.Variant, d.Kind), to: milliseconds(timelineShown)}
	s.faults = slices.Concat(faultMarks(d, d.Timeline.Start, d.Timeline.Start+timelineShown, milliseconds))
	shown := list.Where(d.Timeline.Notifications, func(n results.TimelineDot) bool { return n.At <= timelineShown })
	reads := list.Where(d.Timeline.Bystander, func(b results.BystanderRead) bool { return b.At <= timelineShown })
	s.mark(shown, reads, milliseconds)
	if len(s.reads) > 0 {
		s.slowest.XY = slices.MaxFunc(s.reads, func(a, b plotter.XY) int { return cmp.Compare(a.Y, b.Y) })
		s.slowest.text = fmt.Sprintf("%s: slowest read shown: %s", d.Variant, table.Latency(s.slowest.Y*1e6))
	}
	return s
}

// mark adds a mark for each dot and read, at the place of its moment on the time axis.
func (s *stretch) mark(dots []results.TimelineDot, reads []results.BystanderRead, place func(time.Duration) float64) {
	s.dots = list.Map(dots, func(d results.TimelineDot) plotter.XY { return plotter.XY{X: place(d.At), Y: float64(d.Client)} })
	s.reads = list.Map(reads, func(b results.BystanderRead) plotter.XY {
		return plotter.XY{X: place(b.At), Y: milliseconds(b.Response)}
	})
}

// failure draws groups below each other, in seconds since their first faults.
func failure(groups ...group) Figure {
	all := list.Map(groups, aroundFault)
	from := slices.Min(list.Map(all, func(s stretch) float64 { return s.from }))
	to := slices.Max(list.Map(all, func(s stretch) float64 { return s.to }))
	for i := range all {
		s := &all[i]
		s.outside = []plot.Plotter{band(from, s.from, shadeColor()), band(s.to, to, shadeColor())}
		s.from, s.to = from, to
	}
	const caption = "time since the fault, s (dot: operation; line: fault; yellow: until undone; dashed: recovery; gray: no record)"
	return layout{dots: 2.2 * vg.Inch, reads: 1.2 * vg.Inch, least: 1, caption: caption}.figure(all)
}

func aroundFault(g group) stretch {
	d := g.middle()
	t, first := d.Failure.Around.Timeline, d.Failure.Faults[0]
	since := func(at time.Duration) float64 { return (at - first.At).Seconds() }
	s := stretch{group: g, from: since(t.Start), to: since(t.End)}
	marks, labels := faultMarks(d, first.At, t.End, time.Duration.Seconds)
	recovery := "no recovery from " + first.Label()
	if first.Recovered() {
		recovery = fmt.Sprintf("recovered from %s after %s", first.Label(), table.Latency(float64(first.Recovery)))
		marks = append(marks, upright(first.Recovery.Seconds(), draw.LineStyle{Color: ink(), Width: 1, Dashes: []vg.Length{3, 3}}))
	}
	s.faults = slices.Concat(marks, labels)
	s.title = fmt.Sprintf("%s (%s): %s", d.Variant, d.Kind, recovery)
	s.mark(d.Failure.Around.Operations, t.Bystander, func(at time.Duration) float64 { return since(t.Start + at) })
	return s
}

type layout struct {
	dots, reads vg.Length // the heights of their panels
	least       float64   // the least reach of the axis of reads
	caption     string    // of the time axis
}

// timesHeight is the room that the last panel needs for the numbers of the time axis.
const timesHeight = 0.3 * vg.Inch

// figure draws each stretch as a panel of dots above a panel of reads. All stretches share their axes.
func (l layout) figure(all []stretch) Figure {
	top := l.least
	for _, s := range all {
		for _, read := range s.reads {
			top = max(top, read.Y*1.1)
		}
	}
	var panels []*plot.Plot
	for _, s := range all {
		panels = append(panels, s.dotsPanel(), s.panel("", "bystander\nread, ms", 0, top, stems(s.reads), spots(s.slowest)))
	}
	heights := slices.Repeat([]vg.Length{l.dots, l.reads}, len(all))
	showTimes(panels[len(panels)-1], l.caption)
	heights[len(heights)-1] += timesHeight
	return stackOf(all[0].Variant, panels, heights)
}

func (s stretch) dotsPanel() *plot.Plot {
	p := s.panel(s.title, "client", -1, float64(s.Clients), append(s.faults, dots(s.dots, s.look.color))...)
	if len(s.faults) > 0 {
		p.Y.Max /= 1 - markRow
	}
	p.Y.Tick.Marker = indexTicks(s.Clients)
	return p
}

func (s stretch) panel(title, label string, low, high float64, marks ...plot.Plotter) *plot.Plot {
	p := newPlot(title, "", label)
	p.Add(append(marks, s.outside...)...)
	hideTimes(p)
	p.X.Min, p.X.Max = s.from, s.to
	p.Y.Min, p.Y.Max = low, high
	return p
}

// hideTimes hides the numbers of a time axis that another panel shows. A tick without a label would be minor, without a grid line.
func hideTimes(p *plot.Plot) {
	p.X.Tick.Label.Font.Size = 4
	p.X.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		return list.Map(plainTicks(low, high), func(t plot.Tick) plot.Tick { return plot.Tick{Value: t.Value, Label: " "} })
	})
}

func showTimes(p *plot.Plot, label string) {
	p.X.Tick.Marker, p.X.Tick.Label.Font.Size = plot.TickerFunc(plainTicks), p.Y.Tick.Label.Font.Size
	p.X.Label.Text = label
}

// markRow is the share of a panel's height that the labels of faults take.
const markRow = 0.1

// faultMarks returns shades and lines for the listed faults of a document that are in effect between two moments, and their labels; none
// without such faults. Their times are counted from the first moment, in a unit of time.
func faultMarks(d *results.Document, from, to time.Duration, unit func(time.Duration) float64) (marks, labels []plot.Plotter) {
	if d.Failure == nil {
		return nil, nil
	}
	shown := list.Where(d.Failure.Faults, func(f results.Fault) bool { return f.At <= to && f.At+f.Length >= from })
	if len(shown) == 0 {
		return nil, nil
	}
	at := func(f results.Fault) float64 { return unit(f.At - from) }
	lasting := list.Where(shown, func(f results.Fault) bool { return f.Length > 0 })
	bands := list.Map(lasting, func(f results.Fault) plot.Plotter { return band(at(f), at(f)+unit(f.Length), outageColor()) })
	lines := list.Map(shown, func(f results.Fault) plot.Plotter { return upright(at(f), thin(ink())) })
	return append(bands, lines...), []plot.Plotter{faultLabels(shown, at)}
}

// faultLabels names faults, which are in order of time, to the right of their lines, or to the left at the end of the axis. A label that
// would overlap the one before it is left out.
func faultLabels(faults []results.Fault, place func(results.Fault) float64) plotFunc {
	const gap = vg.Length(3)
	return func(c draw.Canvas, p *plot.Plot) {
		x, _ := p.Transforms(&c)
		style := textStyle(noteSize)
		style.YAlign = draw.YBottom
		free := c.Min.X
		for _, f := range faults {
			text, line := f.Label(), x(place(f))
			at, width := line+gap, style.Width(text)
			if at+width > c.Max.X {
				at = line - gap - width
			}
			if at >= free && at+width <= c.Max.X {
				c.FillText(style, vg.Point{X: at, Y: c.Max.Y - gap - style.Height(text)}, text)
				free = at + width + gap
			}
		}
	}
}

const dotRadius = vg.Length(1.3)

func dots(xys plotter.XYs, color color.RGBA) plotFunc {
	return func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		centers := list.Map(xys, func(xy plotter.XY) vg.Point { return vg.Point{X: x(xy.X), Y: y(xy.Y)} })
		centers = list.Where(centers, c.Contains)
		c.SetColor(color)
		if inline, ok := innermost(c).(*inlineCanvas); ok {
			inline.fillDots(centers)
			return
		}
		for _, at := range centers {
			draw.CircleGlyph{}.DrawGlyph(&c, draw.GlyphStyle{Radius: dotRadius}, at)
		}
	}
}

// stemWidth is the width of a stem's line. visible is the smallest height at which a stem can be seen.
const (
	stemWidth = vg.Length(1.6)
	visible   = vg.Length(0.3)
)

// stems draws each value at its moment as a thin line from zero.
func stems(xys plotter.XYs) plotFunc {
	return func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		highest := map[int]vg.Length{} // of the stems that cover each other, by their place
		for _, xy := range xys {
			place := int(math.Round(float64(x(xy.X) / stemWidth)))
			highest[place] = max(highest[place], min(y(xy.Y), c.Max.Y))
		}
		style := draw.LineStyle{Color: gray(), Width: stemWidth}
		for _, place := range slices.Sorted(maps.Keys(highest)) { // one by one: a path of many lines takes much longer to draw in pixels
			if highest[place]-y(0) >= visible {
				at := stemWidth * vg.Length(place)
				c.StrokeLine2(style, at, y(0), at, highest[place])
			}
		}
	}
}

// recoveries draws the time from each fault of all repeats to the next operation of another client, with one row for each variant.
// Faults without a recovery before the load ended are counted at the right edge.
func (s *Set) recoveries() []Figure {
	groups := list.Where(s.atMost(), func(g group) bool { return len(g.faults()) > 0 })
	times := slices.Concat(list.Map(groups, group.recoveryTimes)...)
	if len(times) == 0 {
		return nil
	}
	labels := list.Map(groups, func(g group) string { return g.Variant })
	p := rowsPlot("recovery, ms", labels, true)
	right := slices.Max(times) * 2
	for i, g := range groups {
		g.addRecoveries(p, rowOf(i, labels), right)
	}
	logarithmic(&p.X, &p.Title.Text, slices.Min(times)*0.7, right)
	return []Figure{rowsOf([]*plot.Plot{p}, len(labels), nil)}
}

func (g group) faults() (all []results.Fault) {
	for _, d := range g.Repeats {
		if d.Failure != nil {
			all = append(all, d.Failure.Faults...)
		}
	}
	return all
}

// recoveryTimes returns times in milliseconds, for the faults of the group after which it recovered.
func (g group) recoveryTimes() []float64 {
	recovered := list.Where(g.faults(), results.Fault.Recovered)
	return list.Map(recovered, func(f results.Fault) float64 { return max(milliseconds(f.Recovery), 0.001) })
}

// addRecoveries draws the recoveries of a group around its row, so that equal ones can be distinguished.
func (g group) addRecoveries(p *plot.Plot, row, right float64) {
	var all []spot
	for i, t := range g.recoveryTimes() {
		text := fmt.Sprintf("%s: recovered after %s", g.Variant, table.Latency(t*1e6))
		all = append(all, spot{plotter.XY{X: t, Y: row + 0.12*float64(i%3-1)}, text})
	}
	addSpots(p, g.look, glyphRadius-0.5, all...)
	if n := len(g.faults()) - len(all); n > 0 {
		p.Add(note(plotter.XY{X: right / 1.75, Y: row + 0.3}, fmt.Sprintf("%d without", n)))
	}
}
