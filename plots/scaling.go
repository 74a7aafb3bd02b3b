package plots

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/zkbench/zkbench/results"
)

// point is a metric's median under one number of clients, with the extremes of its repeats.
type point struct{ clients, value, low, high float64 }

// againstClients returns a metric of one variant for each number of clients.
func againstClients(variant [][]*results.Document, metric string) []point {
	var out []point
	for _, group := range variant {
		row := results.Summarize(group).Rows[0]
		if m, ok := row.Metrics[metric]; ok {
			out = append(out, point{float64(row.Clients), m.Value, m.Min, m.Max})
		}
	}
	return out
}

// addMedians draws a line through the medians, and a whisker from the lowest to the highest repeat of each.
func addMedians(p *plot.Plot, label string, points []point, c color.RGBA) {
	xys := make(plotter.XYs, 0, len(points))
	for _, pt := range points {
		xys = append(xys, plotter.XY{X: pt.clients, Y: pt.value})
		if pt.high > pt.low {
			whisker := plotter.XYs{{X: pt.clients, Y: pt.low}, {X: pt.clients, Y: pt.high}}
			style := solid(c)
			style.Width = vg.Points(1)
			addLine(p, "", whisker, style)
		}
	}
	addLine(p, label, xys, solid(c))
	addDots(p, xys, c, 3)
}

// throughput draws operations per second against the number of clients, if there is more than one number.
func (s set) throughput() []figure {
	clients := s.clients()
	p := s.newPlot("Throughput", "clients", "operations per second (median, extremes)")
	highest := 0.0
	for _, variant := range s.variants() {
		points := againstClients(variant, results.OpsPerSecond)
		for _, pt := range points {
			highest = max(highest, pt.high)
		}
		addMedians(p, variant[0][0].Variant, points, s.colors[variant[0][0].Variant])
	}
	if len(clients) < 2 || highest == 0 {
		return nil
	}
	s.clientAxis(p)
	p.Y.Min, p.Y.Max = 0, highest/(0.96-legendEntry*float64(len(s.variants())))
	p.Legend.Top = true
	return []figure{figureOf(s.prefix+"-throughput", p)}
}

// clientAxis makes the x axis a logarithmic axis with ticks at the numbers of clients.
func (s set) clientAxis(p *plot.Plot) {
	clients := s.clients()
	logarithmic(&p.X, float64(clients[0])*0.9, float64(clients[len(clients)-1])*1.1)
	var ticks plot.ConstantTicks
	for _, n := range clients {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: fmt.Sprint(n)})
	}
	p.X.Tick.Marker = ticks
}

// legendEntry is the share of a figure's height that each line of a legend takes.
const legendEntry = 0.045

// legendRoom is the factor by which a logarithmic axis goes beyond the data, so that the legend covers none of it.
const legendRoom = 6

// notifications draws notifications per operation and the variants' formulas against the number of clients. Both axes are
// logarithmic, so that zeros are left out.
func (s set) notifications() []figure {
	if len(s.clients()) < 2 {
		return nil
	}
	bound := "bound"
	if s.docs[0].Expected.Exact {
		bound = "formula"
	}
	p := s.newPlot("Notifications per operation", "clients", "notifications per operation")
	low, high := math.Inf(1), 0.0
	for _, variant := range s.variants() {
		name := variant[0][0].Variant
		var measured []point
		for _, pt := range againstClients(variant, results.NotificationsPerOp) {
			if pt.low > 0 {
				measured = append(measured, pt)
				low, high = min(low, pt.low), max(high, pt.high)
			}
		}
		addMedians(p, name, measured, s.colors[name])
		formula, expected := expectedNotifications(variant)
		for _, xy := range expected {
			low, high = min(low, xy.Y), max(high, xy.Y)
		}
		addLine(p, fmt.Sprintf("%s %s", bound, formula), expected, dashed(s.colors[name]))
	}
	if high == 0 {
		return nil
	}
	s.clientAxis(p)
	logarithmic(&p.Y, low*0.7, high*legendRoom)
	p.Legend.Left, p.Legend.Top = true, true
	return []figure{figureOf(s.prefix+"-notifications", p)}
}

// expectedNotifications returns a variant's formula, and its value for each number of clients.
func expectedNotifications(variant [][]*results.Document) (formula string, xys plotter.XYs) {
	for _, group := range variant {
		cost := group[0].Expected.Costs[results.NotificationsPerOp]
		formula = cost.Formula
		if cost.Value > 0 {
			xys = append(xys, plotter.XY{X: float64(group[0].Clients), Y: cost.Value})
		}
	}
	return formula, xys
}
