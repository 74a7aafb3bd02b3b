package plots

import (
	"math"

	"gonum.org/v1/plot"

	"github.com/zkbench/zkbench/results/metric"
)

// quantity is how a metric is drawn: the label of its axis, and the factor from a value of the metric to one on the axis.
type quantity struct {
	metric.Descriptor
	label  string
	factor float64
}

// quantityOf returns how a metric is drawn.
func quantityOf(name string) quantity {
	m := metric.Named(name)
	label, factor := m.Axis()
	return quantity{m, label, factor}
}

// logFrom is the ratio of the largest to the smallest value from which on an axis is logarithmic.
const logFrom = 25

// logLabel is added to the label of a logarithmic axis.
const logLabel = " (log scale)"

// scale places values on an axis. On a logarithmic axis, zeros stand on a line of their own below all other values.
type scale struct {
	low, high   float64 // the ends of the axis
	logarithmic bool
	zero        float64 // where zeros stand on a logarithmic axis; 0 if there are none
	least       float64 // the smallest value but zero, if the axis is logarithmic
}

// scaleOf returns a scale on which all values have a place.
func scaleOf(values []float64) scale {
	least, most, zeros := math.Inf(1), 0.0, false
	for _, v := range values {
		if v > 0 {
			least, most = min(least, v), max(most, v)
		}
		zeros = zeros || v == 0
	}
	switch {
	case most == 0:
		return scale{low: 0, high: 1}
	case most < logFrom*least:
		return scale{low: 0, high: most * 1.08}
	}
	s := scale{low: least * 0.7, high: most * 1.4, logarithmic: true, least: least}
	if zeros {
		s.zero = least / 3
		s.low = s.zero * 0.8
	}
	return s
}

// at returns where a value stands.
func (s scale) at(value float64) float64 {
	if s.logarithmic && value == 0 {
		return s.zero
	}
	return value
}

// label adds to the label of a quantity that its axis is logarithmic.
func (s scale) label(q quantity) string {
	if s.logarithmic {
		return q.label + logLabel
	}
	return q.label
}

// set gives an axis the scale.
func (s scale) set(axis *plot.Axis) {
	if !s.logarithmic {
		axis.Min, axis.Max = s.low, s.high
		return
	}
	logarithmic(axis, s.low, s.high)
	if s.zero > 0 {
		axis.Tick.Marker = plot.TickerFunc(func(_, high float64) []plot.Tick {
			return append(decades(s.least*0.95, high), plot.Tick{Value: s.zero, Label: "0"})
		})
	}
}
