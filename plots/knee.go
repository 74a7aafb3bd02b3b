package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
)

// fewestRates is the number of rates from which on a figure shows response times against them.
const fewestRates = 3

// kneeRoom is the factor by which the axis of response times goes beyond the data, for the crosses above it.
const kneeRoom = 3

// rates returns the rates in the set, ascending.
func (s *set) rates() []int {
	return list.Distinct(list.Map(s.groups, func(g []*results.Document) int { return g[0].Rate }))
}

// knee draws the p99 of the response times against the offered rate. Where the curve of a variant rises is its knee. A cross at the
// top marks a rate beyond the capacity, at which there are no response times.
func (s *set) knee() []Figure {
	q := quantityOf(metric.Quantile(results.ResponsePhase, 99))
	p := newPlot(q.label+logLabel, "operations per second offered"+logLabel, "")
	low, high := math.Inf(1), 0.0
	crosses := map[string]plotter.XYs{}
	var all []series
	for _, variant := range s.variants() {
		name := variant[0][0].Variant
		one := series{name: name, look: s.looks[name]}
		for _, group := range variant {
			row := s.rows[group[0]]
			m, ok := row.Metrics[q.Name]
			if !ok {
				crosses[name] = append(crosses[name], plotter.XY{X: float64(row.Rate)})
				continue
			}
			pt := point{float64(row.Rate), q.factor * m.Value, q.factor * m.Min, q.factor * m.Max}
			one.points = append(one.points, pt)
			low, high = min(low, pt.low), max(high, pt.high)
		}
		all = append(all, one)
	}
	if high == 0 {
		return nil
	}
	top := high * kneeRoom
	y := scale{low: low * 0.7, high: top, logarithmic: true}
	for _, one := range all {
		addSeries(p, one, y, q)
	}
	rates := s.rates()
	logarithmic(&p.X, float64(rates[0])*0.9, float64(rates[len(rates)-1])*1.1)
	logarithmic(&p.Y, y.low, y.high)
	legend := append(legendOf(all), s.addCrosses(p, crosses, math.Pow(top, 0.94)*math.Pow(y.low, 0.06))...)
	return []Figure{s.gridFigure("knee", "Response times, "+clientsText(s.mostClients()), []*plot.Plot{p}, legend)}
}

// addCrosses marks the rates beyond the capacity of each variant at a height, one variant below the other, and returns the entries of
// the legend.
func (s *set) addCrosses(p *plot.Plot, crosses map[string]plotter.XYs, height float64) []entry {
	var legend []entry
	for _, variant := range s.variants() {
		name := variant[0][0].Variant
		xys := crosses[name]
		if len(xys) == 0 {
			continue
		}
		for i := range xys {
			xys[i].Y = height
		}
		height *= 0.8
		marks := &plotter.Scatter{XYs: xys, GlyphStyle: draw.GlyphStyle{Color: s.looks[name].color, Radius: 4, Shape: draw.CrossGlyph{}}}
		p.Add(marks)
		legend = append(legend, entry{name + ", beyond the capacity", []plot.Thumbnailer{marks}})
	}
	return legend
}
