// Package turns pairs documents that were measured in turns, and takes the data of a comparison from the pairs.
//
// It takes one position: a metric is compared only if each measurement of each pair can decide it. Leaving out a pair, because a side was
// interrupted, was short of CPU or has too few operations, would bias the result. `zkbench compare` and the gate have the same doubts.
package turns

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/paired"
)

// Pair is two measurements that followed each other, in either order: first the base. A missing one is nil.
type Pair [2]*results.Document

// Pairs are measurements of two sides in turns.
type Pairs []Pair

// Doubt says which measurement of which pair, counted from 0, cannot decide a comparison, and why.
type Doubt struct {
	Pair, Side int
	Why        string
}

// NoRatio is the doubt about a value of 0.
const NoRatio = "a value of 0 has no ratio"

// InTurns returns the pairs of two groups whose measurements alternated, in any order within a pair, without a last one that lacks a
// partner. There are none if the measurements did not alternate, or if one continued while the next began.
func InTurns(base, other []*results.Document) Pairs {
	all := slices.Concat(base, other)
	slices.SortStableFunc(all, func(a, b *results.Document) int { return a.Started.Compare(b.Started) })
	for i, d := range all[1:] {
		if before := all[i]; !d.Started.After(before.Started) || d.Started.Before(before.Started.Add(before.Window.End)) {
			return nil
		}
	}
	var pairs Pairs
	for i := 0; i+1 < len(all); i += 2 {
		p := Pair{all[i], all[i+1]}
		if slices.Contains(other, p[0]) {
			p = Pair{p[1], p[0]}
		}
		if !slices.Contains(base, p[0]) || !slices.Contains(other, p[1]) {
			return nil
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// LogRatios returns the logarithm of how many times worse the other side is in each pair; negative if it is better. It takes smaller
// values as least, with which a value of 0 has a ratio, too. If a measurement cannot decide the metric, it returns the first doubt instead.
func (p Pairs) LogRatios(name string, least float64) ([]float64, *Doubt) {
	out := make([]float64, 0, len(p))
	for i, pair := range p {
		var values [2]float64
		for side, d := range pair {
			why := Unfit(d, name)
			if why == "" {
				values[side], why = Value(d, name)
				values[side] = max(values[side], least)
			}
			if why == "" && !(values[side] > 0) {
				why = NoRatio
			}
			if why != "" {
				return nil, &Doubt{i, side, why}
			}
		}
		better, worse := values[0], values[1]
		if metric.Named(name).MoreIsBetter() {
			better, worse = worse, better
		}
		out = append(out, paired.LogRatio(worse, better))
	}
	return out, nil
}

// Unfit returns why a metric of a document does not describe the whole load as asked for; empty if it does. [metric.Finished]
// is fit in an unfinished measurement. With an empty name, it returns why no other metric is fit.
func Unfit(d *results.Document, name string) string {
	switch {
	case d == nil:
		return "there is no result"
	case d.Partial:
		return "the measurement was interrupted"
	case d.EndedByBreach():
		return "a breach of the promise ended the load"
	case d.Unfinished != nil && name != metric.Finished:
		return "the load took too long and was ended"
	case d.BeyondCapacity():
		return "the rate is beyond the capacity, so that there are no response times"
	default:
		return strings.Join(doubts.Saturated(d), "; ")
	}
}

// Value returns a metric of a document, or why it decides nothing: it was not measured, has too few samples, or is a lower bound.
func Value(d *results.Document, name string) (value float64, why string) {
	if why := claim.Scarce(d, name); why != "" {
		return 0, why
	}
	if metric.AtLeast(d, name) {
		return 0, name + " is only a lower bound: the load ended before a recovery"
	}
	if p, ok := metric.PercentileOf(d, name); ok && p.Of == 99.9 { // a document does not list this metric
		return float64(p.Decode().ValueAtPercentile(p.Of)), ""
	}
	m, ok := d.Metrics[name]
	if !ok && metric.Named(name).Operation == "" { // a document lists the operations that were used
		return 0, name + " was not measured"
	}
	return m.Value, ""
}
