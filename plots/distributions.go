package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// herdSizes draws the cumulative distribution of herd sizes under the largest number of clients. At each number of notifications, a
// curve shows the share of transactions that caused at most this number.
func (s *Set) herdSizes() []Figure {
	groups := s.atMost()
	herds := list.Map(groups, group.herd)
	largest := list.Largest(list.Map(herds, results.Herd.Max))
	if largest < 2 {
		return nil
	}
	first := herds[0]
	alike := !slices.ContainsFunc(herds, func(h results.Herd) bool { return h.Max() != first.Max() || h.Quantile(0.5) != first.Quantile(0.5) })
	if alike && groups[0].Kind != results.Application {
		s.without("the herd sizes of all variants are alike, at most %d", largest)
		return nil
	}
	p := newPlot("", "notifications caused by one transaction", "cumulative share of transactions, %")
	var legend []entry
	for i, g := range groups {
		if xys := steps(herds[i], largest); len(xys) > 0 {
			addLine(p, xys, solid(g.look.color))
			addSpots(p, g.look, glyphRadius, ends(xys)...)
			legend = append(legend, lineEntry(g.Variant, g.look))
		}
	}
	p.X.Min, p.X.Max = 0, float64(largest)*1.05
	p.X.Tick.Marker = indexTicks(largest + 1)
	if largest >= logFrom {
		logarithmic(&p.X, &p.X.Label.Text, 0.9, float64(largest)*1.1)
	}
	p.Y.Min, p.Y.Max = 0, 105
	return []Figure{gridOf([]*plot.Plot{p}, legend)}
}

// ends returns the points at which a curve of steps has risen by at least 5.
func ends(xys plotter.XYs) []spot {
	var out []spot
	for i := 2; i < len(xys)-1; i += 2 {
		if xys[i].Y-xys[i-1].Y >= 5 {
			out = append(out, spot{XY: xys[i]})
		}
	}
	return out
}

// steps returns the curve of one variant's herd sizes, up to beyond the largest herd of all variants; empty without notifications.
func steps(h results.Herd, largest int) plotter.XYs {
	var seen int64
	total, _ := h.Total()
	if total == 0 {
		return nil
	}
	xys := plotter.XYs{{X: 0.9, Y: 0}}
	for _, size := range h.Sizes {
		at, before := float64(size.Size), 100*float64(seen)/float64(total)
		seen += size.Count
		xys = append(xys, plotter.XY{X: at, Y: before}, plotter.XY{X: at, Y: 100 * float64(seen) / float64(total)})
	}
	return append(xys, plotter.XY{X: float64(largest) * 1.05, Y: 100})
}

func (g group) herd() results.Herd {
	counts := map[int]int64{}
	for _, d := range g.Repeats {
		for _, size := range d.Herd.Sizes {
			counts[size.Size] += size.Count
		}
	}
	return results.Herd{Sizes: results.HerdSizes(counts)}
}

func (s *Set) percentiles() []Figure {
	var panels []*plot.Plot
	drawn := map[string]bool{}
	for _, phase := range s.phases() {
		if p := s.percentilePanel(phase, drawn); p != nil {
			panels = append(panels, p)
		}
	}
	if len(panels) == 0 {
		return nil
	}
	shown := list.Where(s.atMost(), func(g group) bool { return drawn[g.Variant] })
	return []Figure{gridOf(panels, list.Map(shown, func(g group) entry { return lineEntry(g.Variant, g.look) }))}
}

// percentilePanel draws one phase, and adds the variants that it draws to drawn. Each has one curve, which merges the histograms of its
// repeats and ends where a percentile would depend on a single sample. It returns nil if no variant has a curve.
func (s *Set) percentilePanel(phase string, drawn map[string]bool) *plot.Plot {
	p := newPlot(phase+", ms", "percentile, all repeats merged", "")
	low, high, tail := math.Inf(1), 0.0, 10.0
	for _, g := range s.atMost() {
		xys := percentileCurve(g.Repeats, phase)
		if len(xys) < 2 {
			continue
		}
		drawn[g.Variant] = true
		last := xys[len(xys)-1]
		low, high, tail = min(low, xys[0].Y), max(high, last.Y), max(tail, last.X)
		g.addPercentiles(p, phase, xys)
	}
	if high == 0 {
		return nil
	}
	p.X.Scale, p.X.Min, p.X.Max = plot.LogScale{}, 1, tail
	p.X.Tick.Marker = plot.TickerFunc(tailTicks)
	p.Y.Min, p.Y.Max = 0, high*1.08
	if high > logFrom*low {
		logarithmic(&p.Y, &p.Title.Text, low*0.8, high*1.3)
	}
	return p
}

func (g group) addPercentiles(p *plot.Plot, phase string, xys plotter.XYs) {
	addLine(p, xys, solid(g.look.color))
	var marked []spot
	for _, tick := range tailTicks(0, xys[len(xys)-1].X)[1:] { // without 0, the shortest sample: it is not a usual percentile
		if i := slices.IndexFunc(xys, func(xy plotter.XY) bool { return xy.X >= tick.Value*0.999 }); i >= 0 {
			text := fmt.Sprintf("%s: %s%% of %s within %s", g.Variant, tick.Label, phase, table.Latency(xys[i].Y*1e6))
			marked = append(marked, spot{xys[i], text})
		}
	}
	addSpots(p, g.look, glyphRadius, marked...)
}

// tailTicks labels an axis with percentiles. The share p of the samples is at the position 1/(1-p).
func tailTicks(_, high float64) []plot.Tick {
	var ticks []plot.Tick
	for _, p := range []float64{0, 50, 90, 99, 99.9, 99.99} {
		if at := 100 / (100 - p); at <= high*1.001 {
			ticks = append(ticks, plot.Tick{Value: at, Label: fmt.Sprintf("%g", p)})
		}
	}
	return ticks
}

// percentileStep is the ratio between two neighbouring positions of a curve. A figure is only a hundred such steps wide.
const percentileStep = 1.15

// percentileCurve returns the latencies of a phase, in milliseconds, at the positions of [tailTicks].
func percentileCurve(group []*results.Document, phase string) plotter.XYs {
	if !timed(group[0], phase) {
		return nil
	}
	h := results.DecodeAll(list.Map(group, func(d *results.Document) results.Histogram { return d.Histograms[phase] }))
	var xys plotter.XYs
	for at := 1.0; at <= float64(h.TotalCount()); at *= percentileStep {
		if y := float64(h.ValueAtPercentile(100*(1-1/at))) / 1e6; y > 0 { // a logarithmic axis has no zero
			xys = append(xys, plotter.XY{X: at, Y: y})
		}
	}
	return xys
}
