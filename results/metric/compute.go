package metric

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/zkbench/zkbench/results"
)

// Compute returns the metrics of a document, from its other parts. No other code computes a metric, so that a reader can check those
// in a document. An unfinished measurement has no other metrics than [Finished] and [Violations].
func Compute(d *results.Document) (map[string]results.Metric, error) {
	metrics := values{}
	for _, m := range fixed() {
		whole := d.Unfinished == nil || m.Name == Finished || m.Name == Violations
		if m.of == nil || !whole {
			continue
		}
		if value, measured := m.of(d); measured {
			metrics.set(m.Name, value)
		}
	}
	if d.Unfinished != nil {
		return metrics, nil
	}
	for _, add := range []func(*results.Document, values) error{addLatencies, addFloor, addBackground} {
		if err := add(d, metrics); err != nil {
			return nil, err
		}
	}
	for _, s := range d.Shares {
		if whole := d.Histograms[s.Of].Samples; whole > 0 {
			metrics.set(s.Metric(), float64(d.Histograms[s.Phase].Samples)/float64(whole))
		}
	}
	return metrics, nil
}

// Check computes the metrics again, and returns an error if one that the document has is another. A metric that a later zkbench
// computes from what an older one stored is added.
func Check(d *results.Document) error {
	computed, err := Compute(d)
	if err != nil {
		return fmt.Errorf("has metrics that cannot be computed again: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Metrics)) {
		if got, want := d.Metrics[name], computed[name]; got != want {
			return fmt.Errorf("has a metric that does not follow from its measurement: %s is %v %s, and computed again %v %s",
				name, got.Value, got.Unit, want.Value, want.Unit)
		}
	}
	d.Metrics = computed
	return nil
}

// values are metrics by name.
type values map[string]results.Metric

// set adds a metric, with its unit.
func (v values) set(name string, value float64) {
	v[name] = results.Metric{Value: value, Unit: Named(name).Unit}
}

// perOp returns a total per operation; ok is false without operations.
func perOp(d *results.Document, total int64) (value float64, ok bool) {
	ops := float64(d.Window.Operations)
	return float64(total) / max(ops, 1), ops > 0
}

// perSecond returns a total per second of the window, unless zkbench sets the pace; nor is there a rate without operations.
func perSecond(d *results.Document, total int64) (value float64, ok bool) {
	seconds := d.Window.Length().Seconds()
	return float64(total) / seconds, !d.Lockstep() && seconds > 0
}

// addLatencies adds the percentiles of all times. Phases of the warm-up and those whose length zkbench sets have no percentiles, nor have
// response times of a load beyond the capacity.
func addLatencies(d *results.Document, metrics values) error {
	times := map[string]results.Histogram{herdSpreadPhase: d.Herd.Spread}
	if d.Connect != nil {
		times[connectPhase] = d.Connect.Each
	}
	for phase, h := range d.Histograms {
		untimed := d.Lockstep() && slices.Contains(d.UntimedPhases, phase) || phase == results.ResponsePhase && d.BeyondCapacity()
		if !untimed && !strings.HasPrefix(phase, results.WarmUpPrefix) {
			times[phase] = h
		}
	}
	return metrics.addTimes("", times)
}

// addTimes adds the percentiles of phases that have samples. Of those with a single percentile in the list, it adds this one.
func (v values) addTimes(prefix string, times map[string]results.Histogram) error {
	for phase, h := range times {
		decoded, err := h.Decode()
		switch {
		case err != nil:
			return err
		case decoded.TotalCount() == 0:
		case phase == connectPhase, phase == herdSpreadPhase:
			v.set(Quantile(phase, 99), float64(decoded.ValueAtPercentile(99)))
		default:
			v.addPercentiles(prefix+phase, decoded)
		}
	}
	return nil
}

func (v values) addPercentiles(phase string, h *hdrhistogram.Histogram) {
	for _, p := range percentiles() {
		v.set(Quantile(phase, p), float64(h.ValueAtPercentile(p)))
	}
	v.set(maximumName(phase), float64(h.Max()))
}

// lost returns what users lost under a name, with or without faults.
func lost(d *results.Document, name string) (amount float64, known bool) {
	losses := d.Losses
	if d.Failure != nil {
		losses = d.Failure.Losses
	}
	n, known := losses[name]
	return float64(n), known
}

func fencedPerOp(d *results.Document) (float64, bool) {
	amount, known := lost(d, lossFenced)
	value, ok := perOp(d, int64(amount))
	return value, known && ok
}

func failedOperations(d *results.Document) (float64, bool) {
	if d.Failure == nil {
		return 0, false
	}
	return perOp(d, d.Failure.FailedOperations)
}

func ofFailure(d *results.Document, part func(*results.Failure) int64) (float64, bool) {
	if d.Failure == nil {
		return 0, false
	}
	return float64(part(d.Failure)), true
}

// arrivals returns a number of arrivals of an open load as operations per second.
func arrivals(d *results.Document, part func(*results.Open) int64) (perSecond float64, ok bool) {
	seconds := d.Window.Length().Seconds()
	if d.Open == nil || seconds == 0 {
		return 0, false
	}
	return float64(d.Batch) * float64(part(d.Open)) / seconds, true
}

func backlogMaximum(d *results.Document) (float64, bool) {
	if d.Open == nil || d.Window.Length() == 0 {
		return 0, false
	}
	return float64(d.Open.BacklogMax), true
}

func heapPerWatch(d *results.Document) (float64, bool) {
	if d.Heap == nil {
		return 0, false
	}
	return d.Heap.PerWatch()
}

// finished returns how much of the load was done; ok is false for one without a limit.
func finished(d *results.Document) (share float64, ok bool) {
	if d.Unfinished != nil {
		return float64(d.Unfinished.Done) / float64(max(d.WholeLoad(), 1)), d.Scenario.AtMost > 0
	}
	return 1, d.Scenario.AtMost > 0
}
