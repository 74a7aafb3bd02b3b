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
// the top marks a rate beyond the capacity, for which there are no response times.
func (s *Set) knee() []Figure {
	q := quantityOf(metric.Quantile(results.ResponsePhase, 99))
	all := s.seriesOf(q, func(g group) (x int, place string) { return g.Rate, fmt.Sprintf(", %d/s", g.Rate) })
	times := values(all)
	if len(times) == 0 {
		return nil
	}
	p := newPlot(q.label, "operations per second offered", "")
	for _, one := range all {
		one.addTo(p, solid(one.look.color))
	}
	bottom, top := slices.Min(times)*0.7, slices.Max(times)*kneeRoom
	legend := append(legendOf(all), s.addCrosses(p, q, math.Pow(top, 0.94)*math.Pow(bottom, 0.06))...)
	rates := s.rates()
	logarithmic(&p.X, &p.X.Label.Text, float64(rates[0])*0.9, float64(rates[len(rates)-1])*1.1)
	logarithmic(&p.Y, &p.Title.Text, bottom, top)
	return []Figure{gridOf([]*plot.Plot{p}, legend)}
}

// addCrosses marks the rates beyond the capacity of each variant, from a height downwards, and returns their entries of the legend.
func (s *Set) addCrosses(p *plot.Plot, q quantity, height float64) []entry {
	var legend []entry
	for _, variant := range s.variants() {
		beyond := list.Where(variant, func(g group) bool { _, ok := g.Metrics[q.Name]; return !ok })
		if len(beyond) == 0 {
			continue
		}
		xys := list.Map(beyond, func(g group) plotter.XY { return plotter.XY{X: float64(g.Rate), Y: height} })
		height *= 0.8
		cross := look{variant[0].look.color, draw.CrossGlyph{}}
		marks := &plotter.Scatter{XYs: xys, GlyphStyle: cross.style(4)}
		p.Add(marks)
		legend = append(legend, entry{variant[0].Variant + ", beyond the capacity", []plot.Thumbnailer{marks}})
	}
	return legend
}
