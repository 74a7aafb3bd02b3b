package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
)

// Compared returns two figures for each scenario and other side of a comparison: the values of both sides, and their ratios with the 95 %
// intervals. Variants look as in other figures. Rows that [compare.Row.MayBeDrawn] refuses are left out, with the reason.
func Compared(c compare.Comparison, docs []*results.Document) ([]Figure, []NotDrawn) {
	var figures []Figure
	var notDrawn []NotDrawn
	for i, rows := range list.GroupBy(c.Rows, subjectOf) {
		own := list.Where(docs, func(d *results.Document) bool { return d.Scenario.Name == rows[0].Scenario })
		s := sides{list.Where(rows, compare.Row.MayBeDrawn), looksOf(own)}
		prefix := fmt.Sprintf("%s-compared-%d", rows[0].Scenario, i+1)
		if len(s.rows) > 0 {
			for _, f := range append(s.values(), s.ratios()...) {
				f.Name, f.Subject = prefix+"-"+f.Name, s.subject()
				figures = append(figures, f)
			}
		}
		if n := reasonsApart(rows); len(n) > 0 {
			notDrawn = append(notDrawn, NotDrawn{Set: prefix, Others: n})
		}
	}
	return figures, notDrawn
}

func subjectOf(r compare.Row) string {
	return fmt.Sprintf("%q %d %s %q", r.Scenario, r.Size, r.Rate, r.Other.Side)
}

func reasonsApart(rows []compare.Row) []string {
	refused := list.Where(rows, func(r compare.Row) bool { return !r.MayBeDrawn() })
	reason := func(r compare.Row) string { return r.Reason }
	return list.Map(list.GroupBy(refused, reason), func(rows []compare.Row) string {
		metrics := list.AppendNew(nil, list.Map(rows, metricOf)...)
		return fmt.Sprintf("no %s: %s", strings.Join(metrics, ", "), rows[0].Reason)
	})
}

type sides struct {
	rows  []compare.Row
	looks map[string]look
}

func metricOf(r compare.Row) string  { return r.Metric }
func variantOf(r compare.Row) string { return r.Other.Variant }

func (s sides) clients() []int {
	return list.Distinct(list.Map(s.rows, func(r compare.Row) int { return r.Clients }))
}

func (s sides) subject() string {
	r := s.rows[0]
	title := grouping.Key{Scenario: r.Scenario, Size: r.Size, Rate: r.Rate}.Title()
	return fmt.Sprintf("%s: %s on %s against %s on %s", title, r.Other.Side, r.Other.Engine, r.Base.Side, r.Base.Engine)
}

// values draws each metric of both sides against the number of clients, with the base dashed and with rings. With only one number of
// clients, it draws a line from the base to the other side.
func (s sides) values() []Figure {
	var panels []*plot.Plot
	curves := len(s.clients()) > 1
	for _, rows := range list.GroupBy(s.rows, metricOf) {
		if curves {
			panels = append(panels, s.curves(rows))
		} else {
			panels = append(panels, s.shifts(rows, len(panels)%panelColumns == 0))
		}
	}
	base := []plot.Thumbnailer{&plotter.Scatter{GlyphStyle: baseLook().style(glyphRadius)}}
	other := []plot.Thumbnailer{&plotter.Scatter{GlyphStyle: look{gray(), draw.CircleGlyph{}}.style(glyphRadius)}}
	var variants []string
	if curves {
		base = append([]plot.Thumbnailer{&plotter.Line{LineStyle: baseStyle(gray())}}, base...)
		other = []plot.Thumbnailer{&plotter.Line{LineStyle: solid(gray())}}
		variants = list.AppendNew(nil, list.Map(s.rows, variantOf)...)
	}
	legend := []entry{{s.rows[0].Base.Side, base}, {s.rows[0].Other.Side, other}}
	legend = append(legend, list.Map(variants, func(v string) entry { return lineEntry(v, s.looks[v]) })...)
	f := inColumns(panels, panelHeight, legend)
	f.Name, f.Shows = "values", "Both sides, medians"
	return []Figure{f}
}

func baseStyle(c color.Color) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: 1.4, Dashes: []vg.Length{4, 3}}
}

func baseLook() look { return look{gray(), ring()} }

func bothSides(r compare.Row, q quantity) (base, other float64) {
	return q.factor * float64(r.Base.Value), q.factor * float64(r.Other.Value)
}

func (s sides) curves(rows []compare.Row) *plot.Plot {
	q := quantityOf(rows[0].Metric)
	p := newPlot(q.label, "clients", "")
	var all []float64
	for _, own := range list.GroupBy(rows, variantOf) {
		l := s.looks[own[0].Other.Variant]
		before, after := series{look: look{l.color, ring()}}, series{look: l}
		for _, r := range own {
			base, other := bothSides(r, q)
			before.points = append(before.points, point{x: float64(r.Clients), value: base})
			after.points = append(after.points, point{x: float64(r.Clients), value: other, text: clientsText(r.Clients) + ", " + rowText(r)})
			all = append(all, base, other)
		}
		before.addTo(p, baseStyle(before.look.color))
		after.addTo(p, solid(after.look.color))
	}
	setScale(&p.Y, &p.Title.Text, all)
	setClients(p, s.clients())
	return p
}

func (s sides) shifts(rows []compare.Row, named bool) *plot.Plot {
	q, labels := quantityOf(rows[0].Metric), s.labels(rows)
	p := rowsPlot(q.label, labels, named)
	var all []float64
	for i, r := range rows {
		base, other := bothSides(r, q)
		row := rowOf(i, labels)
		from, to := plotter.XY{X: base, Y: row}, plotter.XY{X: other, Y: row}
		addLine(p, plotter.XYs{from, to}, thin(gray()))
		addSpots(p, baseLook(), glyphRadius, spot{XY: from})
		addSpots(p, s.looks[r.Other.Variant], glyphRadius, spot{to, rowText(r)})
		all = append(all, base, other)
	}
	setScale(&p.X, &p.Title.Text, all)
	return p
}

func (s sides) labels(rows []compare.Row) []string {
	return list.Map(rows, func(r compare.Row) string {
		if len(s.clients()) > 1 {
			return r.Other.Variant + ", " + clientsText(r.Clients)
		}
		return r.Other.Variant
	})
}

func rowText(r compare.Row) string {
	m := metric.Named(r.Metric)
	text := fmt.Sprintf("%s: %s → %s %s", r.Other.Variant, m.Format(float64(r.Base.Value)), m.Format(float64(r.Other.Value)), r.Metric)
	if r.Ratio.Finite() {
		text += ", ratio " + r.RatioText()
	}
	return text + ": " + string(r.Verdict) + ", " + r.Reason
}

// verdictLook returns the look of a ratio. Verdicts differ in their shapes, too, except for those that show no difference.
func verdictLook(v compare.Verdict) look {
	equal := look{plain().colors[1], ring()}
	return map[compare.Verdict]look{
		compare.Better: cool().look(0), compare.Worse: warm().look(0), compare.Different: plain().look(0),
		compare.Same: equal, compare.NotShown: equal, compare.Undecided: {plain().colors[1], draw.CrossGlyph{}},
	}[v]
}

func (s sides) ratios() []Figure {
	var panels []*plot.Plot
	most := 0
	for _, rows := range list.GroupBy(s.rows, metricOf) {
		rows = list.Where(rows, func(r compare.Row) bool { return r.Ratio.Finite() && r.Ratio > 0 })
		if len(rows) > 0 {
			panels = append(panels, s.ratioPanel(rows[0].Metric, rows))
			most = max(most, len(rows))
		}
	}
	if len(panels) == 0 {
		return nil
	}
	drawn := list.Map(s.rows, func(r compare.Row) compare.Verdict { return r.Verdict })
	verdicts := list.Where(compare.Verdicts(), func(v compare.Verdict) bool { return slices.Contains(drawn, v) })
	legend := list.Map(verdicts, func(v compare.Verdict) entry { return lineEntry(string(v), verdictLook(v)) })
	f := rowsOf(panels, most, legend)
	f.Name, f.Shows = "ratios", "Ratios with their 95 % intervals"
	return []Figure{f}
}

// ratioReach is the least reach of an axis of ratios, so that a difference of a few percent does not look large.
const ratioReach = 1.25

// ratioPanel draws the ratios of a metric. A ratio without an interval is drawn without one, and the reason says why.
func (s sides) ratioPanel(name string, rows []compare.Row) *plot.Plot {
	m, labels := metric.Named(name), s.labels(rows)
	p := rowsPlot(m.Title+", ratio", labels, true)
	switch {
	case m.MoreIsBetter():
		p.X.Label.Text = "more is better"
	case m.HasDirection():
		p.X.Label.Text = "less is better"
	}
	p.Add(upright(1, thin(gray())))
	low, high := 1/ratioReach, ratioReach
	for i, r := range rows {
		l, at := verdictLook(r.Verdict), plotter.XY{X: float64(r.Ratio), Y: rowOf(i, labels)}
		from, to := at, at
		if r.HasInterval() {
			from.X, to.X = float64(r.Low), float64(r.High)
		}
		low, high = math.Min(low, from.X), math.Max(high, to.X)
		addLine(p, plotter.XYs{from, to}, solid(l.color))
		addSpots(p, l, glyphRadius, spot{at, rowText(r)})
	}
	logarithmic(&p.X, &p.Title.Text, low*0.95, high*1.05)
	return p
}
