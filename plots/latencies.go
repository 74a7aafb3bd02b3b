package plots

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/table"
)

// phaseHold is the phase whose length the scenario sets, in all recipes that have it.
const phaseHold = "hold"

// phases returns the recipe's phases that have a median. The others were not timed, or zkbench set their length. Open loads have the
// phase of their responses first.
func (s *set) phases() []string {
	phases := s.docs[0].Phases
	if s.docs[0].Rate > 0 {
		phases = append([]string{results.ResponsePhase}, phases...)
	}
	return slices.DeleteFunc(slices.Clone(phases), func(phase string) bool {
		return phase == phaseHold || !slices.ContainsFunc(s.docs, func(d *results.Document) bool { return timed(d, phase) })
	})
}

func timed(d *results.Document, phase string) bool {
	_, ok := d.Metrics[metric.Quantile(phase, 50)]
	return ok
}

// latencies draws the median and the p99 of each phase against the number of clients, and other times that the scenario is about.
func (s *set) latencies() []Figure {
	var metrics []string
	for _, phase := range s.phases() {
		metrics = append(metrics, metric.Quantile(phase, 50), metric.Quantile(phase, 99))
	}
	if len(s.clients()) == 1 { // the percentiles show the same, and more
		metrics = nil
	}
	times := s.asked(metric.KindTime, metric.KindMultiple)
	times = slices.DeleteFunc(times, func(name string) bool { return metric.Named(name).OfFloor() })
	return s.metricFigure("latencies", "How long it takes", list.AppendNew(metrics, times...))
}

// percentiles draws the latency distribution of each phase under the largest number of clients.
func (s *set) percentiles() ([]Figure, error) {
	var panels []*plot.Plot
	drawn := map[string]bool{}
	for _, phase := range s.phases() {
		p, variants, err := s.percentilePanel(phase)
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		panels = append(panels, p)
		for _, v := range variants {
			drawn[v] = true
		}
	}
	if len(panels) == 0 {
		return nil, nil
	}
	var legend []entry
	for _, group := range s.atMost() {
		if v := group[0].Variant; drawn[v] {
			legend = append(legend, lineEntry(v, s.looks[v]))
		}
	}
	n := s.mostClients()
	return []Figure{s.gridFigure(fmt.Sprintf("percentiles-n%d", n), "Latency distributions, "+clientsText(n), panels, legend)}, nil
}

// percentilePanel draws one phase. Each variant has one curve, which merges the histograms of its repeats and ends where a
// percentile would depend on a single sample. It returns nil if no variant has a curve.
func (s *set) percentilePanel(phase string) (p *plot.Plot, variants []string, err error) {
	p = newPlot(phase+", ms", "percentile, all repeats merged", "")
	low, high, tail := math.Inf(1), 0.0, 10.0
	for _, group := range s.atMost() {
		xys, err := percentileCurve(group, phase)
		if err != nil {
			return nil, nil, err
		}
		if len(xys) < 2 {
			continue
		}
		variants = append(variants, group[0].Variant)
		low, high, tail = min(low, xys[0].Y), max(high, xys[len(xys)-1].Y), max(tail, xys[len(xys)-1].X)
		s.addPercentiles(p, group[0].Variant, phase, xys)
	}
	if high == 0 {
		return nil, nil, nil
	}
	logarithmic(&p.X, 1, tail)
	p.X.Tick.Marker = plot.TickerFunc(tailTicks)
	p.Y.Min, p.Y.Max = 0, high*1.08
	if high > logFrom*low {
		logarithmic(&p.Y, low*0.8, high*1.3)
		p.Title.Text += logLabel
	}
	return p, variants, nil
}

// addPercentiles draws a curve, with the shape of the variant at the percentiles of the axis.
func (s *set) addPercentiles(p *plot.Plot, variant, phase string, xys plotter.XYs) {
	l := s.looks[variant]
	addLine(p, xys, solid(l.color))
	var marked plotter.XYs
	var all spots
	for _, tick := range tailTicks(0, xys[len(xys)-1].X) {
		i := slices.IndexFunc(xys, func(xy plotter.XY) bool { return xy.X >= tick.Value*0.999 })
		if i < 0 {
			continue
		}
		if tick.Value == 1 { // the shortest sample, which is none of the usual percentiles
			continue
		}
		marked = append(marked, xys[i])
		all = append(all, spot{xys[i], fmt.Sprintf("%s: %s%% of %s within %s", variant, tick.Label, phase, table.Latency(xys[i].Y*1e6))})
	}
	addGlyphs(p, marked, l, glyphRadius)
	p.Add(all)
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

// percentileStep is the ratio between two neighbouring positions of a curve. A figure is a hundred of them wide, and few are told apart.
const percentileStep = 1.15

// percentileCurve returns the latencies of a phase, in milliseconds, at the positions of [tailTicks].
func percentileCurve(group []*results.Document, phase string) (plotter.XYs, error) {
	if !timed(group[0], phase) {
		return nil, nil
	}
	merged, err := results.MergeHistograms(list.Map(group, func(d *results.Document) results.Histogram { return d.Histograms[phase] }))
	if err != nil {
		return nil, err
	}
	h, err := merged.Decode()
	if err != nil {
		return nil, err
	}
	var xys plotter.XYs
	for at := 1.0; at <= float64(h.TotalCount()); at *= percentileStep {
		if y := float64(h.ValueAtPercentile(100*(1-1/at))) / 1e6; y > 0 { // a logarithmic axis has no zero
			xys = append(xys, plotter.XY{X: at, Y: y})
		}
	}
	return xys, nil
}

func clientsText(n int) string {
	if n == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", n)
}

// floor draws the medians of phases in multiples of their floor, which is the time of the raw operation that every algorithm needs.
func (s *set) floor() []Figure {
	multiples := map[string]bool{}
	for _, d := range s.docs {
		for name := range d.Metrics {
			if metric.Named(name).OfFloor() {
				multiples[name] = true
			}
		}
	}
	return s.metricFigure("floor", "How far from the floor, the time of a single raw operation", slices.Sorted(maps.Keys(multiples)))
}
