package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
)

func (s *Set) costs() []string {
	every := []string{
		metric.RequestsPerOp, metric.WritesPerOp, metric.FailedWritesPerOp,
		metric.NotificationsPerOp, metric.HerdMax, metric.SpuriousWakeupsPerOp,
	}
	return list.AppendNew(every, s.asked(metric.KindCount, metric.KindSize, metric.KindBacklog)...)
}

// throughput returns operations per second, and other rates that the scenario asks about. Lockstep has none: zkbench sets its pace.
func (s *Set) throughput() []string {
	first := metric.OpsPerSecond
	switch d := s.Docs[0]; {
	case d.Lockstep():
		return nil
	case d.Rate > 0:
		first = metric.AchievedPerSecond
	}
	return list.AppendNew([]string{first}, s.asked(metric.KindRate)...)
}

// outcomes returns metrics of the results for users: shares such as stale reads, items lost or processed twice, and operations that
// failed. Those that the scenario asks about come first.
func (s *Set) outcomes() []string {
	return list.Where(list.AppendNew(s.asked(), s.measured()...), func(name string) bool {
		kind := metric.Named(name).Kind
		return kind == metric.KindLoss || kind == metric.KindShare
	})
}

// latencies returns the median and the p99 of each phase, and other times that the scenario asks about. With a single number of clients,
// it leaves out the phases, because the figure of percentiles shows them.
func (s *Set) latencies() []string {
	var metrics []string
	if len(s.clients()) > 1 {
		for _, phase := range s.phases() {
			metrics = append(metrics, metric.Quantile(phase, 50), metric.Quantile(phase, 99))
		}
	}
	times := s.asked(metric.KindTime, metric.KindMultiple)
	return list.AppendNew(metrics, slices.DeleteFunc(times, ofFloor)...)
}

// floors returns medians of phases in multiples of their floor, the time of the raw operation that every algorithm needs.
func (s *Set) floors() []string { return list.Where(s.measured(), ofFloor) }

func ofFloor(name string) bool { return metric.Named(name).OfFloor() }

func (s *Set) measured() []string {
	return report.Metrics(list.Map(s.groups, func(g group) summary.Row { return g.Row }))
}

// phaseHold is the phase whose length the scenario sets, in all recipes that have it.
const phaseHold = "hold"

// phases returns the recipe's phases that have a median. The others were not timed, or zkbench set their length. For an open load, the
// phase of its responses comes first.
func (s *Set) phases() []string {
	phases := slices.Clone(s.Docs[0].Phases)
	if s.Docs[0].Rate > 0 {
		phases = append([]string{results.ResponsePhase}, phases...)
	}
	return slices.DeleteFunc(phases, func(phase string) bool {
		return phase == phaseHold || !slices.ContainsFunc(s.Docs, func(d *results.Document) bool { return timed(d, phase) })
	})
}

func timed(d *results.Document, phase string) bool {
	_, ok := d.Metrics[metric.Quantile(phase, 50)]
	return ok
}

func ofMetrics(metrics func(*Set) []string) func(*Set) []Figure {
	return func(s *Set) []Figure { return s.metricFigure(metrics(s)) }
}

// metricFigure returns a figure with a panel for each of the metrics in which variants or numbers of clients differ, or none. The other
// metrics are noted as not drawn. With a single number of clients, each variant has a row.
func (s *Set) metricFigure(metrics []string) []Figure {
	rows := len(s.clients()) == 1
	var panels []*plot.Plot
	var drawn []series
	var formulas []entry
	for _, name := range metrics {
		q := quantityOf(name)
		all := s.againstClients(q)
		if !differ(all) {
			s.same(q, all)
			continue
		}
		if places := list.Distinct(list.Map(pointsOf(all), func(pt point) int { return int(pt.x) })); !rows && len(places) == 1 {
			s.without("no curve of %s, which was measured only with %s", q.Name, clientsText(places[0]))
			continue
		}
		if rows {
			panels = append(panels, rowPanel(q, all, len(panels)%panelColumns == 0))
		} else {
			stated := s.formulas(q)
			if panels = append(panels, s.curvePanel(q, all, stated)); len(stated) > 0 {
				formulas = s.formulaEntry()
			}
		}
		drawn = append(drawn, all...)
	}
	byName := list.GroupBy(drawn, func(s series) string { return s.name })
	drawn = list.Map(byName, func(same []series) series { return same[0] })
	switch {
	case len(panels) == 0:
		return nil
	case rows:
		return []Figure{rowsOf(panels, len(drawn), nil)}
	default:
		return []Figure{curvesOf(panels, drawn, formulas)}
	}
}

// mostLabels is the largest number of curves that are named at their ends instead of in a legend.
const mostLabels = 5

func curvesOf(panels []*plot.Plot, drawn []series, formulas []entry) Figure {
	if len(panels) > 1 || len(drawn) > mostLabels {
		return gridOf(panels, append(legendOf(drawn), formulas...))
	}
	f := gridOf(panels, formulas)
	f.named = drawn
	return f
}

// leastDifference is the least ratio of two medians at which a metric is drawn.
const leastDifference = 1.05

func differ(all []series) bool {
	medians := list.Map(pointsOf(all), func(pt point) float64 { return pt.value })
	most := list.Largest(medians)
	return most > 0 && most >= leastDifference*slices.Min(medians)
}

// same notes that nothing differs in a metric. It notes only metrics that the scenario asks about, and counts that every recipe has.
func (s *Set) same(q quantity, all []series) {
	if len(all) > 0 && (slices.Contains(s.asked(), q.Name) || slices.Contains(metric.WithFormula(), q.Name)) {
		text := q.Name + " " + q.Format(all[0].points[0].value/q.factor)
		if len(all) == 1 && len(s.variants()) > 1 {
			text += " of " + all[0].name + " alone"
		}
		s.NotDrawn.Same = append(s.NotDrawn.Same, text)
	}
}

func (s *Set) againstClients(q quantity) []series {
	all := s.seriesOf(q, func(g group) (x float64, place string) {
		if len(s.clients()) == 1 {
			return float64(g.Clients), ""
		}
		return float64(g.Clients), ", " + clientsText(g.Clients)
	})
	return list.Where(all, func(one series) bool { return len(one.points) > 0 })
}

// seriesOf returns a metric of each variant, in the unit of its quantity, at the places of the groups that have it.
func (s *Set) seriesOf(q quantity, at func(group) (x float64, place string)) []series {
	return list.Map(s.variants(), func(variant []group) series {
		one := series{name: variant[0].Variant, look: variant[0].look}
		for _, g := range variant {
			m, ok := g.Metrics[q.Name]
			if !ok {
				continue
			}
			x, place := at(g)
			pt := point{x, q.factor * m.Value, q.factor * min(m.Min, m.Value), q.factor * max(m.Max, m.Value), one.name + place + ": "}
			if pt.text += q.format(pt.value); pt.high > pt.low {
				pt.text += fmt.Sprintf(" (%s to %s)", q.format(pt.low), q.format(pt.high))
			}
			one.points = append(one.points, pt)
		}
		return one
	})
}

func (s *Set) curvePanel(q quantity, all, formulas []series) *plot.Plot {
	p := newPlot(q.label, "clients", "")
	style := solid
	if len(s.clients()) == 2 { // they show no law
		style = thin
	}
	for _, one := range all {
		one.addTo(p, style(one.look.color))
	}
	for _, f := range formulas {
		addLine(p, f.xys(), dashed(f.look.color))
	}
	setScale(&p.Y, &p.Title.Text, values(slices.Concat(all, formulas)))
	setClients(p, s.clients())
	return p
}

// setClients gives the x axis ticks at numbers of clients. It is logarithmic if the largest is at least eight times the smallest.
func setClients(p *plot.Plot, clients []int) {
	first, last := float64(clients[0]), float64(clients[len(clients)-1])
	p.X.Min, p.X.Max = first-0.05*(last-first), last+0.05*(last-first)
	if last >= 8*first {
		logarithmic(&p.X, &p.X.Label.Text, first*0.9, last*1.1)
	}
	tick := func(n int) plot.Tick { return plot.Tick{Value: float64(n), Label: fmt.Sprint(n)} }
	p.X.Tick.Marker = plot.ConstantTicks(list.Map(clients, tick))
}

// nearFormula is the largest ratio of a drawn bound to the measurement. A bound far above every measurement would look like an
// expectation that was missed.
const nearFormula = 1.5

// formulas returns the values of a metric's formulas, for formulas that are near to the measurements at every number of clients.
func (s *Set) formulas(q quantity) []series {
	isFar := func(g group) bool {
		cost, stated := g.Repeats[0].Expected.Costs[q.Name]
		measured, ok := g.Metrics[q.Name]
		return !stated || !ok || cost.Value > nearFormula*measured.Value
	}
	near := list.Where(s.variants(), func(variant []group) bool { return !slices.ContainsFunc(variant, isFar) })
	return list.Map(near, func(variant []group) series {
		return series{look: variant[0].look, points: list.Map(variant, func(g group) point {
			value := q.factor * g.Repeats[0].Expected.Costs[q.Name].Value
			return point{x: float64(g.Clients), value: value, low: value, high: value}
		})}
	})
}

func (s *Set) formulaEntry() []entry {
	label := "formula, an upper bound"
	if s.Docs[0].CountsExactly() {
		label = "formula"
	}
	return []entry{{label, []plot.Thumbnailer{&plotter.Line{LineStyle: dashed(gray())}}}}
}

// rowsPlot returns a plot with a row for each label. Unless named, the labels are blank, as in all but the first of panels side by side.
func rowsPlot(title string, labels []string, named bool) *plot.Plot {
	p := newPlot(title, "", "")
	var ticks plot.ConstantTicks
	for i, label := range labels {
		if !named {
			label = " " // without a text, it would be a minor tick, which has no grid line
		}
		ticks = append(ticks, plot.Tick{Value: rowOf(i, labels), Label: label})
	}
	p.Y.Min, p.Y.Max = 0.4, float64(len(labels))+0.6
	p.Y.Tick.Marker = ticks
	p.Y.Tick.Width, p.Y.Width = 0, 0
	return p
}

func rowOf(i int, labels []string) float64 { return float64(len(labels) - i) }

// valueRoom is the share of an axis that is left free for the text beside the largest value.
const valueRoom = 0.22

func rowPanel(q quantity, all []series, named bool) *plot.Plot {
	labels := list.Map(all, func(s series) string { return s.name })
	p := rowsPlot(q.label, labels, named)
	for i, one := range all {
		row := rowOf(i, labels)
		for _, pt := range one.points {
			if pt.high > pt.low {
				addLine(p, plotter.XYs{{X: pt.low, Y: row}, {X: pt.high, Y: row}}, solid(one.look.color))
			}
			addSpots(p, one.look, glyphRadius+0.5, spot{plotter.XY{X: pt.value, Y: row}, pt.text})
			p.Add(note(plotter.XY{X: pt.high, Y: row}, q.format(pt.value)))
		}
	}
	if setScale(&p.X, &p.Title.Text, values(all)); p.X.Min > 0 {
		p.X.Max *= math.Pow(p.X.Max/p.X.Min, valueRoom)
	} else {
		p.X.Max *= 1 + valueRoom
	}
	return p
}

// kneeRoom is the factor by which the axis of response times goes beyond the data, for the crosses above it.
const kneeRoom = 3

// knee draws the p99 of the response times against the offered rate. A variant's knee is the rate at which its curve rises. A cross at
// the top, where the axis has no scale, marks a rate beyond the capacity, for which there are no response times.
func (s *Set) knee() []Figure {
	q := quantityOf(metric.Quantile(results.ResponsePhase, 99))
	all := s.seriesOf(q, func(g group) (x float64, place string) { return float64(g.Rate), ", " + g.Rate.Of("") })
	times := values(all)
	if len(times) == 0 {
		return nil
	}
	p := newPlot(q.label, "operations per second offered", "")
	for _, one := range all {
		one.addTo(p, solid(one.look.color))
	}
	bottom, top := slices.Min(times)*0.7, slices.Max(times)*kneeRoom
	legend, rates, height := legendOf(all), s.rates(), math.Pow(top, 0.94)*math.Pow(bottom, 0.06)
	logarithmic(&p.X, &p.X.Label.Text, float64(rates[0])*0.9, float64(rates[len(rates)-1])*1.1)
	logarithmic(&p.Y, &p.Title.Text, bottom, top)
	if s.addCrosses(p, q, height) {
		p.Y.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
			return append(decades(low, high*1.2/kneeRoom), plot.Tick{Value: height, Label: "none"})
		})
		cross := &plotter.Scatter{GlyphStyle: look{gray(), draw.CrossGlyph{}}.style(4)}
		legend = append(legend, entry{"none: beyond the capacity", []plot.Thumbnailer{cross}})
	}
	return []Figure{gridOf([]*plot.Plot{p}, legend)}
}

// addCrosses marks the rates beyond the capacity of each variant, a little beside those of others, and reports whether there are any.
func (s *Set) addCrosses(p *plot.Plot, q quantity, height float64) (found bool) {
	for i, variant := range s.variants() {
		beyond := list.Where(variant, func(g group) bool { _, ok := g.Metrics[q.Name]; return !ok })
		addSpots(p, look{variant[0].look.color, draw.CrossGlyph{}}, 4, list.Map(beyond, func(g group) spot {
			at := plotter.XY{X: float64(g.Rate) * math.Pow(0.98, float64(i)), Y: height}
			return spot{at, fmt.Sprintf("%s, %s: beyond the capacity", g.Variant, g.Rate.Of(""))}
		})...)
		found = found || len(beyond) > 0
	}
	return found
}
