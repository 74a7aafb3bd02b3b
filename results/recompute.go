package results

import (
	"slices"
	"strings"
)

// ComputeMetrics returns the metrics of a document, from nothing but its counts, histograms, herd, heap, floor, connect, failure,
// background, unfinished, violations and window. No other code computes a metric, so that a reader can check those in a document.
func (d *Document) ComputeMetrics() (map[string]Metric, error) {
	if d.Unfinished != nil {
		metrics := map[string]Metric{Violations: {float64(d.Breaches()), "violations"}}
		d.addFinished(metrics)
		return metrics, nil
	}
	metrics := map[string]Metric{
		HerdMean:             {d.Herd.Mean(), "notifications"},
		HerdP99:              {float64(d.Herd.Quantile(0.99)), "notifications"},
		HerdMax:              {float64(d.Herd.Max()), "notifications"},
		NotificationPeak10ms: {float64(d.Herd.Peak10ms), "notifications"},
		Violations:           {float64(d.Breaches()), "violations"},
	}
	if d.Heap != nil {
		if bytes, ok := d.Heap.PerWatch(); ok {
			metrics[HeapPerWatch] = Metric{bytes, "bytes per watch"}
		}
	}
	d.addAverages(metrics)
	d.addRequestRate(metrics)
	d.addOpen(metrics)
	d.addFinished(metrics)
	if err := d.addConnect(metrics); err != nil {
		return nil, err
	}
	if err := d.addLatencies(metrics); err != nil {
		return nil, err
	}
	if err := d.addFloor(metrics); err != nil {
		return nil, err
	}
	if err := d.addFailure(metrics); err != nil {
		return nil, err
	}
	if err := d.addBackground(metrics); err != nil {
		return nil, err
	}
	return metrics, nil
}

// addAverages adds the counts per operation, and the throughput.
func (d *Document) addAverages(metrics map[string]Metric) {
	ops := float64(d.Window.Operations)
	if ops == 0 {
		return
	}
	for name, total := range map[string]int64{
		NotificationsPerOp:   d.Counts.Notified,
		RequestsPerOp:        d.Counts.TotalRequests,
		WritesPerOp:          d.Counts.Writes,
		FailedWritesPerOp:    d.Counts.FailedWrites,
		SpuriousWakeupsPerOp: d.Counts.SpuriousWakes,
	} {
		metrics[name] = Metric{float64(total) / ops, "per op"}
	}
	metrics[BytesPerOp] = Metric{float64(d.Counts.BytesIn+d.Counts.BytesOut) / ops, "bytes per op"}
	if seconds := d.Window.Length().Seconds(); !d.Window.Lockstep && seconds > 0 {
		metrics[OpsPerSecond] = Metric{ops / seconds, "1/s"}
	}
}

// addRequestRate adds the requests per second of all clients together, unless zkbench sets the pace. It is the cost of waiting by
// polling: an operation makes more requests the longer it waits.
func (d *Document) addRequestRate(metrics map[string]Metric) {
	if seconds := d.Window.Length().Seconds(); !d.Window.Lockstep && seconds > 0 {
		metrics[RequestsPerSecond] = Metric{float64(d.Counts.TotalRequests) / seconds, "1/s"}
	}
}

// addLatencies adds the percentiles of the phases, the shares, and the spread of herds. Phases of the warm-up and those
// whose length zkbench sets have no percentiles, nor have response times of a load beyond the capacity.
func (d *Document) addLatencies(metrics map[string]Metric) error {
	for phase, h := range d.Histograms {
		if strings.HasPrefix(phase, WarmUpPrefix) || d.Window.Lockstep && slices.Contains(d.UntimedPhases, phase) {
			continue
		}
		if phase == ResponsePhase && d.BeyondCapacity() {
			continue
		}
		decoded, err := h.Decode()
		if err != nil {
			return err
		}
		addPercentiles(metrics, phase, decoded)
	}
	for _, s := range d.Shares {
		if whole := d.Histograms[s.Of].Samples; whole > 0 {
			metrics[s.metric()] = Metric{float64(d.Histograms[s.Phase].Samples) / float64(whole), "per " + s.Of}
		}
	}
	spread, err := d.Herd.Spread.Decode()
	if err != nil {
		return err
	}
	if spread.TotalCount() > 0 {
		metrics[HerdSpreadP99] = Metric{float64(spread.ValueAtPercentile(99)), "ns"}
	}
	return nil
}
