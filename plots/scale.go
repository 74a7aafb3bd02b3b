package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// logFrom is the least ratio of the largest to the smallest value for a logarithmic axis.
const logFrom = 25

func logarithmic(axis *plot.Axis, label *string, low, high float64) {
	axis.Scale = plot.LogScale{}
	axis.Tick.Marker = plot.TickerFunc(decades)
	axis.Min, axis.Max = low, high
	*label += " (log scale)"
}

// withZero is a logarithmic scale with a place for zeros: the place of its value, which is smaller than all others.
type withZero float64

// Normalize implements [plot.Normalizer].
func (zero withZero) Normalize(low, high, value float64) float64 {
	if value == 0 {
		value = float64(zero)
	}
	return plot.LogScale{}.Normalize(low, high, value)
}

// setScale gives an axis a scale on which all values have a place. It is called after they were added to the plot. If they differ much,
// the axis is logarithmic, and the label says so.
func setScale(axis *plot.Axis, label *string, values []float64) {
	positive := list.Where(values, func(v float64) bool { return v > 0 })
	if len(positive) == 0 {
		axis.Min, axis.Max = 0, 1
		return
	}
	least, most := slices.Min(positive), slices.Max(positive)
	if most < logFrom*least {
		axis.Min, axis.Max = 0, most*1.08
		return
	}
	logarithmic(axis, label, least*0.7, most*1.4)
	if slices.Contains(values, 0) {
		zero := least / 3
		axis.Scale, axis.Min = withZero(zero), zero*0.8
		axis.Tick.Marker = plot.TickerFunc(func(_, high float64) []plot.Tick {
			return append(decades(least*0.95, high), plot.Tick{Value: zero, Label: "0"})
		})
	}
}

// decades ticks a logarithmic axis at powers of ten, and also between them if the axis spans few of them. If it spans less
// than a factor of five, it looks much like a linear axis, and is ticked like one.
func decades(low, high float64) []plot.Tick {
	if high <= 5*low {
		return plainTicks(low, high)
	}
	var ticks []plot.Tick
	steps := []float64{1, 2, 5}
	switch {
	case high > 1000*low:
		steps = []float64{1}
	case high > 50*low:
		steps = []float64{1, 3}
	}
	for power := math.Floor(math.Log10(low)); power <= math.Ceil(math.Log10(high)); power++ {
		for _, step := range steps {
			if v := step * math.Pow(10, power); v >= low*0.999 && v <= high*1.001 {
				ticks = append(ticks, plot.Tick{Value: v, Label: plainNumber(v)})
			}
		}
	}
	return ticks
}

func plainNumber(v float64) string {
	if math.Abs(v) >= 10000 && v == math.Trunc(v) {
		return table.Grouped(int64(v))
	}
	digits := fmt.Sprintf("%.6f", v)
	return strings.TrimRight(strings.TrimRight(digits, "0"), ".")
}

const mostTicks = 6

// plainTicks ticks a linear axis at multiples of 1, 2 or 5 times a power of ten.
func plainTicks(low, high float64) []plot.Tick {
	if high <= low {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/mostTicks)))
	for _, factor := range []float64{2, 2.5, 2} { // 1, 2, 5 and 10 times
		if (high-low)/step <= mostTicks-1 {
			break
		}
		step *= factor
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high*(1+1e-9); i++ {
		value := i*step + 0 // without the sign of a negative zero
		ticks = append(ticks, plot.Tick{Value: value, Label: plainNumber(value)})
	}
	return ticks
}

func indexTicks(n int) plot.TickerFunc {
	return func(float64, float64) []plot.Tick {
		ticks := plainTicks(0, float64(n-1))
		return slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value != math.Trunc(t.Value) })
	}
}
