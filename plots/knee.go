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
)

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
