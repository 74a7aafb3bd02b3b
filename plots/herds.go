package plots

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
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
