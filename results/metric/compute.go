package metric

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/paired"
)

// Compute returns the metrics of a document, from its other parts. No other code computes a metric, so that a reader can check
// those in a document. An unfinished measurement has only the metrics [Finished] and [Violations].
func Compute(d *results.Document) map[string]results.Metric {
	values := map[string]float64{}
	for _, m := range list.Where(fixed(), func(m Descriptor) bool { return m.isOf(d) }) {
		if value, measured := m.of(d); measured {
			values[m.Name] = value
		}
	}
	if d.Unfinished != nil {
		return withUnits(values)
	}
	if d.Window.Operations > 0 {
		for operation, n := range d.Counts.Requests {
			values[RequestsOf(operation)], _ = perOp(d, n)
		}
		for operation, n := range d.Counts.Watches {
			values[WatchesOf(operation)], _ = perOp(d, n)
		}
	}
	addTimes(d, values)
	addFloor(d, values)
	addBackground(d, values)
	for _, s := range d.Shares {
		if whole := d.Histograms[s.Of].Samples; whole > 0 {
			values[s.Metric()] = float64(d.Histograms[s.Phase].Samples) / float64(whole)
		}
	}
	return withUnits(values)
}

// isOf reports whether a document has the part that the metric needs. Without faults, some variants may lose something, too.
func (m Descriptor) isOf(d *results.Document) bool {
	switch {
	case d.Unfinished != nil && m.Name != Finished && m.Name != Violations:
		return false
	case m.Part == OpenLoad:
		return d.Open != nil
	case m.Part == FaultyLoad:
		return d.Failure != nil || m.Loss != ""
	default:
		return m.Part != LimitedLoad || d.Scenario.AtMost > 0
	}
}

func withUnits(values map[string]float64) map[string]results.Metric {
	out := map[string]results.Metric{}
	for name, value := range values {
		out[name] = results.Metric{Value: value, Unit: Named(name).Unit}
	}
	return out
}

// Check computes the metrics again, and returns an error if one in the document differs. A metric that a later zkbench
// computes from the data of an older one is added.
func Check(d *results.Document) error {
	computed := Compute(d)
	for _, name := range slices.Sorted(maps.Keys(d.Metrics)) {
		if got, want := d.Metrics[name], computed[name]; got != want {
			return fmt.Errorf("has a metric that does not follow from its measurement: %s is %v %s, and computed again %v %s",
				name, got.Value, got.Unit, want.Value, want.Unit)
		}
	}
	d.Metrics = computed
	return nil
}

// times returns the latencies of all phases: of the recipe, the bystanders, the background, an open load, and of connecting.
func times(d *results.Document) map[string]results.Histogram {
	out := map[string]results.Histogram{}
	maps.Copy(out, d.Histograms)
	for phase, across := range d.Across {
		if across.Within.Samples >= SamplesOf(99) {
			out[phase+"-within"] = across.Within
		}
	}
	if d.Connect != nil {
		out[connectPhase] = d.Connect.Each
	}
	for prefix, s := range stretches(d.Background) {
		out[prefix+"read"], out[prefix+"read"+serviceSuffix] = s.Read.Response, s.Read.Service
		out[prefix+"write"], out[prefix+"write"+serviceSuffix] = s.Write.Response, s.Write.Service
	}
	return out
}

// stretches returns the parts of a measurement in which the background was on, by the prefix of their metrics.
func stretches(b *results.Background) map[string]results.BackgroundStretch {
	out := map[string]results.BackgroundStretch{}
	if b != nil {
		out[alonePrefix] = b.Alone
	}
	if b != nil && b.During != nil {
		out[backgroundPrefix] = *b.During
	}
	return out
}

// addTimes adds the percentiles of times that have samples. It skips phases of the warm-up, phases whose length zkbench sets, response
// times of a load beyond the capacity, and what workers' clocks make too uncertain. Connecting has a metric of its own.
func addTimes(d *results.Document, values map[string]float64) {
	for phase, h := range times(d) {
		untimed := strings.HasPrefix(phase, results.WarmUpPrefix) || d.Lockstep() && slices.Contains(d.UntimedPhases, phase)
		if untimed || phase == connectPhase || phase == results.ResponsePhase && d.BeyondCapacity() {
			continue
		}
		decoded := h.Decode()
		if decoded.TotalCount() == 0 {
			continue
		}
		add := func(name string, value int64) {
			if ClockError(d, phase, float64(value)) <= MaxClockError {
				values[name] = float64(value)
			}
		}
		for _, p := range percentiles() {
			add(Quantile(phase, p), decoded.ValueAtPercentile(p))
		}
		add(maximumName(phase), decoded.Max())
		if across, ok := d.Across[phase]; ok {
			values[phase+meanSuffix] = float64(across.Sum) / float64(h.All())
		}
	}
}

func addFloor(d *results.Document, values map[string]float64) {
	if d.Floor == nil {
		return
	}
	for _, operation := range FloorOperations() {
		if before, after := d.Floor.Medians(operation); before > 0 && after > 0 {
			values[Floor(operation)] = (before + after) / 2
		}
	}
	for phase, operation := range d.Floor.Phases {
		median, timed := values[Quantile(phase, 50)]
		if floor, measured := values[Floor(operation)]; timed && measured {
			values[FloorMultiple(phase)] = median / floor
		}
	}
}

func addBackground(d *results.Document, values map[string]float64) {
	if d.Scenario.Background == nil {
		return
	}
	for prefix, s := range stretches(d.Background) {
		values[prefix+BacklogMax] = float64(s.BacklogMax)
		for kind, requests := range map[string]results.BackgroundRequests{"read": s.Read, "write": s.Write} {
			if rate := prefix + kind + perSecondSuffix; MeasuredBy(*d.Scenario.Background, rate) && s.Length() > 0 {
				values[rate] = s.Rate(requests)
			}
		}
	}
	times := times(d)
	for _, kind := range backgroundKinds() {
		for _, p := range slowdowns() {
			during, measured := values[BackgroundLatency(kind, p)]
			alone := values[Quantile(alonePrefix+kind, p)]
			if samples := min(times[backgroundPrefix+kind].All(), times[alonePrefix+kind].All()); measured && alone > 0 && samples >= SamplesOf(p) {
				values[BackgroundSlowdown(kind, p)] = during / alone
			}
		}
	}
}

func perOp(d *results.Document, total int64) (value float64, ok bool) {
	ops := float64(d.Window.Operations)
	return float64(total) / max(ops, 1), ops > 0
}

// perSecond returns a total per second of the window; ok is false in lockstep, where zkbench sets the pace.
func perSecond(d *results.Document, total int64) (value float64, ok bool) {
	seconds := d.Window.Length().Seconds()
	return float64(total) / seconds, !d.Lockstep() && seconds > 0
}

func p99(h results.Histogram) (value float64, ok bool) {
	decoded := h.Decode()
	return float64(decoded.ValueAtPercentile(99)), decoded.TotalCount() > 0
}

func lost(d *results.Document, name string) (amount float64, known bool) {
	losses := d.Losses
	if d.Failure != nil {
		losses = d.Failure.Losses
	}
	n, known := losses[name]
	return float64(n), known
}

func finished(d *results.Document) (share float64, ok bool) {
	if d.Unfinished != nil {
		return float64(d.Unfinished.Done) / float64(max(d.WholeLoad(), 1)), true
	}
	return 1, true
}

// recoveries returns the median and the maximum of the times until a recovery; ok is false without faults. A fault without one counts
// as the longest of all: as the longest recovery, or as long as the load continued after the first such fault if that is longer.
func recoveries(d *results.Document) (median, longest float64, ok bool) {
	f := d.Failure
	h, all := f.Recovery.Decode(), f.Recovery.Samples+f.Unrecovered
	if all == 0 {
		return 0, 0, false
	}
	longest = float64(h.Max())
	if f.Unrecovered > 0 {
		longest = max(longest, float64(f.LongestUnrecovered))
	}
	rank := (all + 1) / 2
	if rank > f.Recovery.Samples {
		return longest, longest, true
	}
	return float64(h.ValueAtPercentile(100 * float64(rank) / float64(f.Recovery.Samples))), longest, true
}

// StagePhase returns the phase whose durations stages have.
func StagePhase(d *results.Document) string {
	if d.Scenario.Mode == results.OpenMode {
		return results.ResponsePhase
	}
	return d.FirstPhase()
}

// OfStage returns the metrics of one stage, by the names that they have for a whole window.
func OfStage(d *results.Document, s results.Stage) map[string]results.Metric {
	values := map[string]float64{HerdMax: float64(s.LargestHerd)}
	if length := (s.End - s.Start).Seconds(); length > 0 {
		values[OpsPerSecond] = float64(s.Operations) / length
	}
	if s.Operations > 0 {
		values[NotificationsPerOp] = float64(s.Notifications) / float64(s.Operations)
	}
	if d.Scenario.Mode == results.OpenMode {
		values[BacklogMax] = float64(s.BacklogMax)
	}
	if h := s.Latency.Decode(); h.TotalCount() > 0 && !BacksUp(d, s) {
		for _, p := range []float64{50, 99} {
			values[Quantile(StagePhase(d), p)] = float64(h.ValueAtPercentile(p))
		}
	}
	return withUnits(values)
}

// BacksUp reports whether clients may have failed to serve arrivals of a stage, which therefore has no response times.
func BacksUp(d *results.Document, s results.Stage) bool {
	return d.BeyondCapacity() && s.End > d.Open.LastEmpty
}

// Aggregated is the median of a metric over the repeats, with the extremes.
type Aggregated struct{ Value, Min, Max float64 }

// Aggregate returns the median of each metric over the repeats that have it; a count of requests or watches of an operation is zero in
// those that lack it. For violations and lost items it returns the sum, and for the time for which clients were blocked the maximum: the
// median would hide an event in one repeat of three.
func Aggregate(group []*results.Document) map[string]Aggregated {
	values := map[string][]float64{}
	for _, d := range group {
		for name, m := range d.Metrics {
			values[name] = append(values[name], m.Value)
		}
	}
	out := map[string]Aggregated{}
	for name, v := range values {
		if Named(name).Operation != "" {
			v = append(v, make([]float64, len(group)-len(v))...)
		}
		slices.Sort(v)
		a := Aggregated{Value: paired.Median(v), Min: v[0], Max: v[len(v)-1]}
		switch Named(name).repeats {
		case bySum:
			a.Value = list.Sum(v)
		case byLargest:
			a.Value = a.Max
		}
		out[name] = a
	}
	return out
}
