package plots

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

// herdSizes draws the cumulative distribution of herd sizes under the largest number of clients. At each number of notifications, a
// curve shows the share of transactions that caused at most this number.
func (s *set) herdSizes() []Figure {
	n := s.mostClients()
	groups := s.atMost()
	largest := list.Largest(list.Map(groups, func(g []*results.Document) int { return mergedHerd(g).Max() }))
	if largest < 2 {
		return nil
	}
	if !herdsDiffer(groups) && groups[0][0].Kind != results.Application {
		s.without("the herd sizes of all variants are alike, at most %d", largest)
		return nil
	}
	p := newPlot("", "notifications caused by one transaction", "cumulative share of transactions, %")
	var legend []entry
	for _, group := range groups {
		v := group[0].Variant
		if xys := steps(mergedHerd(group), largest); len(xys) > 0 {
			addLine(p, xys, solid(s.looks[v].color))
			addGlyphs(p, ends(xys), s.looks[v], glyphRadius)
			legend = append(legend, lineEntry(v, s.looks[v]))
		}
	}
	p.X.Min, p.X.Max = 0, float64(largest)*1.05
	p.X.Tick.Marker = indexTicks(largest + 1)
	if largest >= logFrom {
		logarithmic(&p.X, 0.9, float64(largest)*1.1)
		p.X.Label.Text += logLabel
	}
	p.Y.Min, p.Y.Max = 0, 105
	return []Figure{s.gridFigure(fmt.Sprintf("herd-sizes-n%d", n), "Herd sizes, "+clientsText(n), []*plot.Plot{p}, legend)}
}

// herdsDiffer reports whether the distributions of two variants differ.
func herdsDiffer(groups [][]*results.Document) bool {
	first := mergedHerd(groups[0])
	return slices.ContainsFunc(groups[1:], func(g []*results.Document) bool {
		h := mergedHerd(g)
		return h.Max() != first.Max() || h.Quantile(0.5) != first.Quantile(0.5)
	})
}

// ends returns the points at which a curve of steps reaches a new height.
func ends(xys plotter.XYs) plotter.XYs {
	var out plotter.XYs
	for i := 2; i < len(xys)-1; i += 2 {
		if xys[i].Y-xys[i-1].Y >= 5 {
			out = append(out, xys[i])
		}
	}
	return out
}

// steps returns the curve of one variant's herd sizes. It ends beside the largest herd of all variants. It is empty if
// there were no notifications.
func steps(h results.Herd, largest int) plotter.XYs {
	var seen int64
	total := list.Sum(list.Map(h.Sizes, func(s results.SizeCount) int64 { return s.Count }))
	if total == 0 {
		return nil
	}
	xys := plotter.XYs{{X: 0.9, Y: 0}}
	for _, size := range h.Sizes {
		before := 100 * float64(seen) / float64(total)
		seen += size.Count
		xys = append(xys, plotter.XY{X: float64(size.Size), Y: before}, plotter.XY{X: float64(size.Size), Y: 100 * float64(seen) / float64(total)})
	}
	return append(xys, plotter.XY{X: float64(largest) * 1.05, Y: 100})
}

// mergedHerd returns the herds of all repeats as one distribution of sizes.
func mergedHerd(group []*results.Document) results.Herd {
	counts := map[int]int64{}
	for _, d := range group {
		for _, size := range d.Herd.Sizes {
			counts[size.Size] += size.Count
		}
	}
	return results.Herd{Sizes: results.HerdSizes(counts)}
}
