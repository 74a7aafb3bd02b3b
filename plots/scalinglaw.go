package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/scaling"
)

// lawPoints is the number of points of a curve between the ends of the axis.
const lawPoints = 120

// curve is what a panel shows of one variant.
type curve struct {
	variant  string
	measured []scaling.Point
	formula  []scaling.Point
	fit      func(clients float64) float64          // nil if there is none
	band     func(clients float64) scaling.Interval // nil if there is no fit
	peak     float64                                // 0 if there is none within the axis
	ends     bool                                   // the fit is not extrapolated
}

// reach returns the largest number of clients that was measured, and the end of the extrapolation. Other variants may have been
// measured under more clients.
func (c curve) reach() (last, end float64) {
	last = c.measured[len(c.measured)-1].Clients
	return last, scaling.Reach * last
}

// lawRange is the part of the axis of clients that was measured, and the end of what is extrapolated.
type lawRange struct{ first, last, end float64 }

// scalingLaw draws costs and throughput against the number of clients, with the laws that were fitted to them. Both axes are
// logarithmic. It draws nothing if there are too few numbers of clients for a fit.
func (s *set) scalingLaw() []Figure {
	studies := scaling.Of(s.docs)
	if len(studies) != 1 || studies[0].TooFew() || studies[0].Unfitted != "" {
		return nil
	}
	study := studies[0]
	first, last := float64(study.Counts[0]), float64(study.Counts[len(study.Counts)-1])
	at := lawRange{first, last, scaling.Reach * last}
	var panels []*plot.Plot
	for _, metric := range []struct {
		label  string
		curves []curve
	}{
		{"notifications per operation", costCurves(study, results.NotificationsPerOp, 1)},
		{"requests per operation", costCurves(study, results.RequestsPerOp, 1)},
		{"time per operation, ms", costCurves(study, scaling.TimePerOp, 1e-6)},
		{"operations per second", throughputCurves(study, first)},
	} {
		if p := s.lawPanel(metric.label, metric.curves, at); p != nil {
			panels = append(panels, p)
		}
	}
	if len(panels) == 0 {
		return nil
	}
	return []Figure{s.gridFigure("scaling", "How it scales", panels, s.lawLegend(study))}
}

// costCurves returns the curves of a cost, with its values multiplied by a factor.
func costCurves(study scaling.Study, metric string, factor float64) []curve {
	var out []curve
	for _, v := range study.Variants {
		for _, cost := range v.Costs {
			if cost.Metric != metric {
				continue
			}
			c := curve{variant: v.Key.Variant, measured: scaled(cost.Fitted, factor), formula: scaled(cost.Expected.Points, factor)}
			if cost.Err == nil {
				c.fit = func(n float64) float64 { return factor * cost.Law.At(n) }
				c.band = func(n float64) scaling.Interval {
					band := cost.Law.Band(n)
					return scaling.Interval{Low: factor * band.Low, High: factor * band.High}
				}
			}
			out = append(out, c)
		}
	}
	return out
}

// scaled returns the points that have a logarithm, with their values multiplied by a factor. A whisker ends at the median if the
// lowest repeat has none.
func scaled(points []scaling.Point, factor float64) []scaling.Point {
	var out []scaling.Point
	for _, p := range points {
		if p.Low <= 0 {
			p.Low = p.Value
		}
		if p.Value > 0 {
			out = append(out, scaling.Point{Clients: p.Clients, Value: factor * p.Value, Low: factor * p.Low, High: factor * p.High})
		}
	}
	return out
}

// throughputCurves returns the curves of the throughput. A peak at the first number of clients is no peak of the curve.
func throughputCurves(study scaling.Study, first float64) []curve {
	var out []curve
	for _, v := range study.Variants {
		if v.Throughput == nil {
			continue
		}
		c := curve{variant: v.Key.Variant, measured: scaled(v.Throughput.Measured, 1)}
		if law := v.Throughput.Law; v.Throughput.Holds() {
			c.fit, c.band, c.ends = law.At, law.Band, !law.Extends()
			if law.Peak.Exists && !law.Peak.Beyond && law.Peak.Clients > first {
				c.peak = law.Peak.Clients
			}
		}
		out = append(out, c)
	}
	return out
}

// lawPanel draws curves over a shade of the range that was not measured. It returns nil if there is nothing to draw.
func (s *set) lawPanel(label string, curves []curve, at lawRange) *plot.Plot {
	p := newPlot(label+logLabel, "clients"+logLabel, "")
	low, high := lawLimits(curves)
	if low > high {
		return nil
	}
	p.Add(shade{at.last, at.end})
	for _, c := range curves {
		s.addBand(p, c, low, high)
	}
	for _, c := range curves {
		s.addCurve(p, c)
	}
	logarithmic(&p.X, at.first*0.9, at.end)
	logarithmic(&p.Y, low, high)
	return p
}

// lawLimits returns the ends of the axis of values: those of everything but the bands, which may be endless.
func lawLimits(curves []curve) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, c := range curves {
		for _, p := range slices.Concat(c.measured, c.formula) {
			low, high = min(low, p.Low), max(high, p.High)
		}
		within, beyond := c.drawn()
		for _, n := range slices.Concat(within, beyond) {
			if y := c.fit(n); y > 0 && !math.IsInf(y, 1) {
				low, high = min(low, y), max(high, y)
			}
		}
	}
	return low / 1.6, high * 1.6
}

// drawn returns the numbers of clients at which the fit is drawn, within the measured range and beyond it.
func (c curve) drawn() (within, beyond []float64) {
	if c.fit == nil {
		return nil, nil
	}
	last, end := c.reach()
	within = between(c.measured[0].Clients, last)
	if c.ends {
		return within, nil
	}
	return within, between(last, end)
}

// between returns numbers at equal distances on a logarithmic axis.
func between(first, last float64) []float64 {
	out := make([]float64, lawPoints+1)
	for i := range out {
		out[i] = first * math.Pow(last/first, float64(i)/lawPoints)
	}
	out[lawPoints] = last
	return out
}

// addBand fills the interval of the extrapolation, as far as the axis of values goes.
func (s *set) addBand(p *plot.Plot, c curve, low, high float64) {
	var upper, lower plotter.XYs
	_, beyond := c.drawn()
	if len(beyond) == 0 {
		return
	}
	for _, n := range beyond {
		band := c.band(n)
		upper = append(upper, plotter.XY{X: n, Y: min(max(band.High, low), high)})
		lower = append(lower, plotter.XY{X: n, Y: min(max(band.Low, low), high)})
	}
	slices.Reverse(lower)
	p.Add(&plotter.Polygon{XYs: []plotter.XYs{append(upper, lower...)}, Color: translucent(s.looks[c.variant].color)})
}

// translucent returns a color through which others can be seen.
func translucent(c color.RGBA) color.Color { return color.NRGBA{c.R, c.G, c.B, 0x30} }

// addCurve draws the formula, the fit within and beyond the measured range, the peak, and the points with their extremes.
func (s *set) addCurve(p *plot.Plot, c curve) {
	of := s.looks[c.variant].color
	addLine(p, xysOf(c.formula), dotted(of))
	within, beyond := c.drawn()
	addLine(p, lineThrough(c.fit, within), solid(of))
	addLine(p, lineThrough(c.fit, beyond), extrapolated(of))
	if c.peak > 0 {
		ring := draw.GlyphStyle{Color: of, Radius: 6, Shape: draw.RingGlyph{}}
		p.Add(&plotter.Scatter{XYs: lineThrough(c.fit, []float64{c.peak}), GlyphStyle: ring})
	}
	for _, pt := range c.measured {
		if pt.High > pt.Low {
			whisker := solid(of)
			whisker.Width = 1
			addLine(p, plotter.XYs{{X: pt.Clients, Y: pt.Low}, {X: pt.Clients, Y: pt.High}}, whisker)
		}
	}
	addGlyphs(p, xysOf(c.measured), s.looks[c.variant], glyphRadius)
}

func xysOf(points []scaling.Point) plotter.XYs {
	return results.Map(points, func(p scaling.Point) plotter.XY { return plotter.XY{X: p.Clients, Y: p.Value} })
}

// lineThrough leaves out what has no place on a logarithmic axis.
func lineThrough(value func(float64) float64, at []float64) plotter.XYs {
	var out plotter.XYs
	for _, n := range at {
		if y := value(n); y > 0 && !math.IsInf(y, 1) {
			out = append(out, plotter.XY{X: n, Y: y})
		}
	}
	return out
}

// extrapolated is the style of fits beyond the measured range.
func extrapolated(c color.Color) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: 1.6, Dashes: []vg.Length{6, 4}}
}

// dotted is the style of formulas where dashes show extrapolation.
func dotted(c color.RGBA) draw.LineStyle {
	style := dashed(c)
	style.Dashes = []vg.Length{1.2, 2.4}
	return style
}

// lawNote says in the legend what is not drawn of a throughput.
func lawNote(t *scaling.Throughput) string {
	switch {
	case t == nil || t.Err != nil || t.Law.Extends():
		return ""
	case t.Law.Poor():
		return " (throughput: a poor fit, not drawn)"
	default:
		return " (throughput: no peak, not extrapolated)"
	}
}

// lawLegend returns the entries of the variants, and those of the styles of lines.
func (s *set) lawLegend(study scaling.Study) []entry {
	out := results.Map(study.Variants, func(v scaling.Variant) entry {
		return lineEntry(v.Key.Variant+lawNote(v.Throughput), s.looks[v.Key.Variant])
	})
	bound := "formula"
	if study.Bounds() {
		bound = "formula: an upper bound"
	}
	out = append(out,
		entry{fmt.Sprintf("extrapolation to %d times the clients, 95%% interval", scaling.Reach),
			[]plot.Thumbnailer{&plotter.Polygon{Color: translucent(gray())}, &plotter.Line{LineStyle: extrapolated(gray())}}},
		entry{bound, []plot.Thumbnailer{&plotter.Line{LineStyle: dotted(gray())}}})
	if slices.ContainsFunc(study.Variants, func(v scaling.Variant) bool { return v.Throughput != nil }) {
		peak := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: gray(), Radius: 5, Shape: draw.RingGlyph{}}}
		out = append(out, entry{"peak of the universal scalability law", []plot.Thumbnailer{peak}})
	}
	return out
}
