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

// Compared returns two figures for each scenario and other side of a comparison: the values of both sides, and their ratios with
// the 95 % intervals. The documents of all sides give the variants their looks. What [compare.Row.MayBeDrawn] refuses is left out,
// with the reason.
func Compared(c compare.Comparison, docs []*results.Document) ([]Figure, []NotDrawn) {
	var figures []Figure
	var notDrawn []NotDrawn
	for i, rows := range list.GroupBy(c.Rows, subjectOf) {
		own := slices.DeleteFunc(slices.Clone(docs), func(d *results.Document) bool { return d.Scenario.Name != rows[0].Scenario })
		s := sides{rows: slices.DeleteFunc(slices.Clone(rows), func(r compare.Row) bool { return !r.MayBeDrawn() }), looks: newPalette(own)}
		s.prefix = fmt.Sprintf("%s-compared-%d", rows[0].Scenario, i+1)
		figures = append(figures, slices.Concat(s.values(), s.ratios())...)
		if n := reasonsApart(rows); len(n) > 0 {
			notDrawn = append(notDrawn, NotDrawn{Set: s.prefix, Others: n})
		}
	}
	return figures, notDrawn
}

// subjectOf is a text that is equal for rows that belong into the same figures.
func subjectOf(r compare.Row) string {
	return fmt.Sprintf("%q %d %d %q", r.Scenario, r.Size, r.Rate, r.Other.Side)
}

// reasonsApart returns each reason for which rows are left out, with their metrics.
func reasonsApart(rows []compare.Row) []string {
	apart := list.Where(rows, func(r compare.Row) bool { return !r.MayBeDrawn() })
	reasons := list.GroupBy(apart, func(r compare.Row) string { return r.Reason })
	return list.Map(reasons, func(same []compare.Row) string {
		metrics := list.AppendNew(nil, list.Map(same, func(r compare.Row) string { return r.Metric })...)
		return fmt.Sprintf("no %s: %s", strings.Join(metrics, ", "), same[0].Reason)
	})
}

// sides is what is compared of one scenario.
type sides struct {
	rows   []compare.Row
	looks  palette
	prefix string
}

// metrics returns the metrics of the rows, in their order.
func (s sides) metrics() []string {
	return list.AppendNew(nil, list.Map(s.rows, func(r compare.Row) string { return r.Metric })...)
}

// of returns the rows of a metric.
func (s sides) of(metric string) []compare.Row {
	return slices.DeleteFunc(slices.Clone(s.rows), func(r compare.Row) bool { return r.Metric != metric })
}

// clients returns the numbers of clients, ascending.
func (s sides) clients() []int {
	return list.Distinct(list.Map(s.rows, func(r compare.Row) int { return r.Clients }))
}

// subject names the scenario and both sides.
func (s sides) subject() string {
	r := s.rows[0]
	title := grouping.Key{Scenario: r.Scenario, Size: r.Size, Rate: r.Rate}.Title()
	return fmt.Sprintf("%s: %s on %s against %s on %s", title, r.Other.Side, r.Other.Engine, r.Base.Side, r.Base.Engine)
}

// figure returns a figure of panels in columns.
func (s sides) figure(name, shows string, panels []*plot.Plot, height vg.Length, legend []entry) Figure {
	rows := inColumns(panels, min(panelColumns, len(panels)))
	f := Figure{Name: s.prefix + "-" + name, Set: s.prefix, Shows: shows, Subject: s.subject(), legend: legend}
	return f.grid(rows, equalHeights(rows, height))
}

// values draws each metric of both sides against the number of clients, those of the base dashed and with rings; or with a line from
// the base to the other side if there is only one number.
func (s sides) values() []Figure {
	var panels []*plot.Plot
	for _, metric := range s.metrics() {
		if len(s.clients()) > 1 {
			panels = append(panels, s.curves(metric))
		} else {
			panels = append(panels, s.shifts(metric, len(panels)%panelColumns == 0))
		}
	}
	if len(panels) == 0 {
		return nil
	}
	base, other := baseStyle(gray()), solid(gray())
	legend := []entry{
		{s.rows[0].Base.Side, []plot.Thumbnailer{&plotter.Line{LineStyle: base}, &plotter.Scatter{GlyphStyle: baseGlyph()}}},
		{s.rows[0].Other.Side, []plot.Thumbnailer{&plotter.Line{LineStyle: other}}},
	}
	if len(s.clients()) == 1 {
		glyph := draw.GlyphStyle{Color: gray(), Radius: glyphRadius, Shape: draw.CircleGlyph{}}
		legend = []entry{
			{s.rows[0].Base.Side, []plot.Thumbnailer{&plotter.Scatter{GlyphStyle: baseGlyph()}}},
			{s.rows[0].Other.Side, []plot.Thumbnailer{&plotter.Scatter{GlyphStyle: glyph}}},
		}
	} else {
		for _, v := range s.variants() {
			legend = append(legend, lineEntry(v, s.looks[v]))
		}
	}
	return []Figure{s.figure("values", "Both sides, medians", panels, panelHeight, legend)}
}

// baseStyle is the style of the lines of the base.
func baseStyle(c color.Color) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: 1.4, Dashes: []vg.Length{4, 3}}
}

// baseGlyph is the shape of the base.
func baseGlyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: gray(), Radius: glyphRadius, Shape: hollow{draw.CircleGlyph{}}}
}

// variants returns the names of the variants, in the order of the rows.
func (s sides) variants() []string {
	return list.AppendNew(nil, list.Map(s.rows, func(r compare.Row) string { return r.Other.Variant })...)
}

// curves draws a metric of both sides against the number of clients.
func (s sides) curves(metric string) *plot.Plot {
	q := quantityOf(metric)
	rows := s.of(metric)
	y := scaleOf(bothValues(rows, q))
	p := newPlot(y.label(q), "clients", "")
	var marks spots
	for _, v := range s.variants() {
		var base, other plotter.XYs
		for _, r := range rows {
			if r.Other.Variant == v {
				base = append(base, plotter.XY{X: float64(r.Clients), Y: y.at(q.factor * float64(r.Base.Value))})
				other = append(other, plotter.XY{X: float64(r.Clients), Y: y.at(q.factor * float64(r.Other.Value))})
				marks = append(marks, spot{other[len(other)-1], clientsText(r.Clients) + ", " + rowText(r)})
			}
		}
		addLine(p, base, baseStyle(s.looks[v].color))
		addGlyphs(p, base, look{s.looks[v].color, hollow{draw.CircleGlyph{}}}, glyphRadius)
		addLine(p, other, solid(s.looks[v].color))
		addGlyphs(p, other, s.looks[v], glyphRadius)
	}
	p.Add(marks)
	y.set(&p.Y)
	setClients(p, s.clients())
	return p
}

// shifts draws a metric with a row for each variant, with a line from the base to the other side.
func (s sides) shifts(metric string, named bool) *plot.Plot {
	q := quantityOf(metric)
	rows := s.of(metric)
	x := scaleOf(bothValues(rows, q))
	labels := s.labels(rows, named)
	p := rowsPlot(x.label(q), labels)
	var marks spots
	for i, r := range rows {
		from := plotter.XY{X: x.at(q.factor * float64(r.Base.Value)), Y: rowOf(i, labels)}
		to := plotter.XY{X: x.at(q.factor * float64(r.Other.Value)), Y: rowOf(i, labels)}
		addLine(p, plotter.XYs{from, to}, draw.LineStyle{Color: gray(), Width: 1})
		p.Add(&plotter.Scatter{XYs: plotter.XYs{from}, GlyphStyle: baseGlyph()})
		addGlyphs(p, plotter.XYs{to}, s.looks[r.Other.Variant], glyphRadius)
		marks = append(marks, spot{to, rowText(r)})
	}
	p.Add(marks)
	x.set(&p.X)
	return p
}

func bothValues(rows []compare.Row, q quantity) []float64 {
	var out []float64
	for _, r := range rows {
		out = append(out, q.factor*float64(r.Base.Value), q.factor*float64(r.Other.Value))
	}
	return out
}

// labels names the rows of a panel; the number of clients is part of the names if there are several.
func (s sides) labels(rows []compare.Row, named bool) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = " "
		if named {
			out[i] = r.Other.Variant
			if len(s.clients()) > 1 {
				out[i] += ", " + clientsText(r.Clients)
			}
		}
	}
	return out
}

// rowText returns everything about a row in a line.
func rowText(r compare.Row) string {
	m := metric.Named(r.Metric)
	text := fmt.Sprintf("%s: %s → %s %s", r.Other.Variant, m.Format(float64(r.Base.Value)), m.Format(float64(r.Other.Value)), r.Metric)
	if r.Ratio.Finite() {
		text += fmt.Sprintf(", ratio %.3g", float64(r.Ratio))
	}
	if r.Pairs > 0 {
		text += fmt.Sprintf(" (%.3g to %.3g in %d pairs)", float64(r.Low), float64(r.High), r.Pairs)
	}
	return text + ": " + string(r.Verdict) + ", " + r.Reason
}

// verdictLook returns how a ratio is drawn. Verdicts differ in their shapes, too.
func verdictLook(v compare.Verdict) look {
	switch v {
	case compare.Better:
		return look{cool()[0], draw.CircleGlyph{}}
	case compare.Worse:
		return look{warm()[0], draw.BoxGlyph{}}
	default:
		return look{plain()[1], hollow{draw.CircleGlyph{}}}
	}
}

// ratios draws the ratio of both sides in each row, with its interval, beside a line at 1.
func (s sides) ratios() []Figure {
	var panels []*plot.Plot
	most := 0
	for _, metric := range s.metrics() {
		rows := slices.DeleteFunc(s.of(metric), func(r compare.Row) bool { return !r.Ratio.Finite() || r.Ratio <= 0 })
		if len(rows) > 0 {
			panels = append(panels, s.ratioPanel(metric, rows))
			most = max(most, len(rows))
		}
	}
	if len(panels) == 0 {
		return nil
	}
	var legend []entry
	for _, v := range []compare.Verdict{compare.Better, compare.Worse, compare.Same, compare.Unsure} {
		if slices.ContainsFunc(s.rows, func(r compare.Row) bool { return r.Verdict == v }) {
			name := map[compare.Verdict]string{compare.Same: "exact counts, equal", compare.Unsure: "not decided"}[v]
			if name == "" {
				name = string(v)
			}
			l := verdictLook(v)
			legend = append(legend, entry{name, []plot.Thumbnailer{&plotter.Line{LineStyle: solid(l.color)}, &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: l.color, Radius: glyphRadius, Shape: l.glyph}}}})
		}
	}
	height := rowsAxis + rowHeight*vg.Length(most)
	return []Figure{s.figure("ratios", "Ratios with their 95 % intervals", panels, height, legend)}
}

// ratioPanel draws the ratios of a metric. Ratios without an interval are drawn as they are, and the reason says why.
func (s sides) ratioPanel(name string, rows []compare.Row) *plot.Plot {
	labels := s.labels(rows, true)
	better := "less is better"
	if metric.Named(name).MoreIsBetter() {
		better = "more is better"
	}
	p := rowsPlot(fmt.Sprintf("%s, ratio%s", metric.Named(name).Title, logLabel), labels)
	p.X.Label.Text = better
	low, high := 1/ratioReach, ratioReach
	p.Add(verticalLine{1, gray()})
	var marks spots
	for i, r := range rows {
		l, row := verdictLook(r.Verdict), rowOf(i, labels)
		at := plotter.XY{X: float64(r.Ratio), Y: row}
		from, to := at.X, at.X
		if r.Pairs > 0 && r.Low.Finite() && r.High.Finite() && r.Low > 0 {
			from, to = float64(r.Low), float64(r.High)
		}
		low, high = math.Min(low, from), math.Max(high, to)
		addLine(p, plotter.XYs{{X: from, Y: row}, {X: to, Y: row}}, solid(l.color))
		addGlyphs(p, plotter.XYs{at}, l, glyphRadius)
		marks = append(marks, spot{at, rowText(r)})
	}
	p.Add(marks)
	logarithmic(&p.X, low*0.95, high*1.05)
	return p
}

// ratioReach is how far an axis of ratios goes at least, so that a difference of a few percent does not look like a large one.
const ratioReach = 1.25
