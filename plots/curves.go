package plots

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/zkbench/zkbench/results"
)

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

// percentiles draws the latency distribution of one phase under n clients. Each variant has one curve, which merges the
// histograms of its repeats and ends where a percentile would depend on a single sample.
func (s set) percentiles(n int, phase string) ([]figure, error) {
	p := s.newPlot(fmt.Sprintf("%s latency, %s", strings.ToUpper(phase[:1])+phase[1:], clientsText(n)),
		"percentile, all repeats merged", phase+" latency, ms")
	low, high, tail := math.Inf(1), 0.0, 10.0
	var curves []plotter.XYs
	for _, group := range s.at(n) {
		var parts []results.Histogram
		for _, d := range group {
			parts = append(parts, d.Histograms[phase])
		}
		merged, err := results.MergeHistograms(parts)
		if err != nil {
			return nil, err
		}
		h, err := merged.Decode()
		if err != nil {
			return nil, err
		}
		if _, meaningful := group[0].Metrics[phase+"-p50-ns"]; !meaningful || h.TotalCount() < 2 {
			continue
		}
		var xys plotter.XYs
		for at := 1.0; at <= float64(h.TotalCount()); at *= 1.05 {
			y := float64(h.ValueAtPercentile(100*(1-1/at))) / 1e6
			if y == 0 { // a logarithmic axis has no zero
				continue
			}
			xys = append(xys, plotter.XY{X: at, Y: y})
			low, high, tail = min(low, y), max(high, y), max(tail, at)
		}
		addLine(p, group[0].Variant, xys, solid(s.colors[group[0].Variant]))
		curves = append(curves, xys)
	}
	if high == 0 {
		return nil, nil
	}
	logarithmic(&p.X, 1, tail)
	p.X.Tick.Marker = plot.TickerFunc(tailTicks)
	logarithmic(&p.Y, low*0.8, max(high*1.3, belowLegend(curves, low*0.8, tail)))
	p.Legend.Left, p.Legend.Top = true, true
	return []figure{figureOf(fmt.Sprintf("%s-percentiles-%s-n%d", s.prefix, phase, n), p)}, nil
}

// legendWidth is the share of a figure's width that a legend takes.
const legendWidth = 0.25

// belowLegend returns an upper end for a logarithmic Y axis, so that a legend at the upper left covers none of the
// curves. The Y axis begins at low. The X axis goes from 1 to tail.
func belowLegend(curves []plotter.XYs, low, tail float64) float64 {
	highest := low
	for _, xys := range curves {
		for _, xy := range xys {
			if math.Log(xy.X) <= legendWidth*math.Log(tail) {
				highest = max(highest, xy.Y)
			}
		}
	}
	room := 1 - legendEntry*float64(len(curves)+1)
	return low * math.Pow(highest/low, 1/room)
}

func clientsText(n int) string {
	if n == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", n)
}

// herdSizes draws the cumulative distribution of herd sizes under n clients. At each number of notifications, a curve
// shows the share of transactions that caused at most this number.
func (s set) herdSizes(n int) []figure {
	p := s.newPlot("Herd sizes, "+clientsText(n),
		"notifications caused by one transaction", "cumulative share of transactions, %")
	largest := 0
	for _, group := range s.at(n) {
		largest = max(largest, mergedHerd(group).Max())
	}
	if largest < 2 {
		return nil
	}
	mostlySmall := true
	for _, group := range s.at(n) {
		h := mergedHerd(group)
		mostlySmall = mostlySmall && float64(h.Quantile(0.5)) <= math.Sqrt(float64(largest))
		addLine(p, group[0].Variant, steps(h, largest), solid(s.colors[group[0].Variant]))
	}
	logarithmic(&p.X, 0.9, float64(largest)*1.1)
	p.Y.Min, p.Y.Max = 0, 105
	if mostlySmall { // no curve reaches the lower right
		p.Legend.YOffs, p.Legend.XOffs = 12, -12
	} else {
		p.Legend.Left, p.Legend.Top, p.Legend.YOffs, p.Legend.XOffs = true, true, -24, 24
	}
	return []figure{figureOf(fmt.Sprintf("%s-herd-sizes-n%d", s.prefix, n), p)}
}

// steps returns the curve of one variant's herd sizes. It ends beside the largest herd of all variants. It is empty if
// there were no notifications.
func steps(h results.Herd, largest int) plotter.XYs {
	var total, seen int64
	for _, size := range h.Sizes {
		total += size.Count
	}
	if total == 0 {
		return nil
	}
	xys := plotter.XYs{{X: 0.9, Y: 0}}
	for _, size := range h.Sizes {
		before := 100 * float64(seen) / float64(total)
		seen += size.Count
		xys = append(xys, plotter.XY{X: float64(size.Size), Y: before}, plotter.XY{X: float64(size.Size), Y: 100 * float64(seen) / float64(total)})
	}
	return append(xys, plotter.XY{X: float64(largest) * 1.1, Y: 100})
}

// mergedHerd returns the herds of all repeats as one distribution of sizes.
func mergedHerd(group []*results.Document) results.Herd {
	counts := map[int]int64{}
	for _, d := range group {
		for _, size := range d.Herd.Sizes {
			counts[size.Size] += size.Count
		}
	}
	var h results.Herd
	for _, size := range slices.Sorted(maps.Keys(counts)) {
		h.Sizes = append(h.Sizes, results.SizeCount{Size: size, Count: counts[size]})
	}
	return h
}
