package metric

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// MeasuredBy reports whether the background has one of its metrics: those of a kind of requests exist if it sends such requests.
func MeasuredBy(l results.BackgroundLoad, metric string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(metric, alonePrefix), backgroundPrefix)
	switch {
	case strings.HasPrefix(name, "read"):
		return l.Reads > 0
	case strings.HasPrefix(name, "write"):
		return l.Writes > 0
	default:
		return true
	}
}

// addBackground adds the background's metrics. Kinds of requests that the background does not send have none.
func addBackground(d *results.Document, metrics values) error {
	b := d.Background
	if b == nil || d.Scenario.Background == nil {
		return nil
	}
	if err := addStretch(*d.Scenario.Background, metrics, alonePrefix, b.Alone); err != nil || b.During == nil {
		return err
	}
	if err := addStretch(*d.Scenario.Background, metrics, backgroundPrefix, *b.During); err != nil {
		return err
	}
	for _, kind := range backgroundKinds() {
		for _, p := range slowdowns() {
			during, measured := metrics[BackgroundLatency(kind, p)]
			alone, known := metrics[Quantile(alonePrefix+kind, p)]
			if measured && known && alone.Value > 0 && samples(b, kind) >= SamplesOf(p) {
				metrics.set(BackgroundSlowdown(kind, p), during.Value/alone.Value)
			}
		}
	}
	return nil
}

// samples returns how many requests of a kind each of the two stretches has at least.
func samples(b *results.Background, kind string) int64 {
	alone, _ := times(b.Alone, kind)
	during, _ := times(*b.During, kind)
	return min(alone.All(), during.All())
}

// addStretch adds the metrics of one stretch.
func addStretch(l results.BackgroundLoad, metrics values, prefix string, s results.BackgroundStretch) error {
	metrics.set(prefix+BacklogMax, float64(s.BacklogMax))
	for _, of := range []struct {
		kind     string
		asked    int
		requests results.BackgroundRequests
	}{{"read", l.Reads, s.Read}, {"write", l.Writes, s.Write}} {
		if of.asked == 0 || s.Length() <= 0 {
			continue
		}
		metrics.set(prefix+of.kind+perSecondSuffix, s.Rate(of.requests))
		times := map[string]results.Histogram{of.kind: of.requests.Response, of.kind + serviceSuffix: of.requests.Service}
		if err := metrics.addTimes(prefix, times); err != nil {
			return fmt.Errorf("background: %w", err)
		}
	}
	return nil
}

// times returns the latencies of one phase of a stretch, such as "write-service".
func times(s results.BackgroundStretch, phase string) (results.Histogram, bool) {
	h, ok := map[string]results.Histogram{
		"read": s.Read.Response, "read-service": s.Read.Service, "write": s.Write.Response, "write-service": s.Write.Service,
	}[phase]
	return h, ok
}
