package metric

import (
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/paired"
)

// Aggregated is the median of a metric over the repeats, with the extremes.
type Aggregated struct {
	Value float64
	Unit  string
	Min   float64
	Max   float64
}

// Aggregate returns the median of each metric over the repeats that have it. Of violations and lost items it returns the sum,
// and of the time for which clients were blocked the maximum: the median would hide what happened in one repeat of three.
func Aggregate(group []*results.Document) map[string]Aggregated {
	values, sums, units := map[string][]float64{}, map[string]float64{}, map[string]string{}
	for _, d := range group {
		for name, m := range d.Metrics {
			values[name] = append(values[name], m.Value)
			sums[name] += m.Value
			units[name] = m.Unit
		}
	}
	out := map[string]Aggregated{}
	for name, v := range values {
		slices.Sort(v)
		a := Aggregated{Value: paired.Median(v), Unit: units[name], Min: v[0], Max: v[len(v)-1]}
		switch Named(name).repeats {
		case bySum:
			a.Value = sums[name]
		case byLargest:
			a.Value = a.Max
		}
		out[name] = a
	}
	return out
}
