package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The metrics that every measurement has, where they make sense. Beside them stand, for each phase of the recipe and
// for the bystanders, <phase>-p50-ns, -p90-ns, -p99-ns and -max-ns; and <phase>/<phase> for each share that the recipe
// asks for. Files, tables and gates use these names.
const (
	OpsPerSecond         = "ops/s"
	NotificationsPerOp   = "notifications/op"
	RequestsPerOp        = "requests/op"
	WritesPerOp          = "writes/op"
	FailedWritesPerOp    = "failed-writes/op"
	BytesPerOp           = "bytes/op"
	HerdMean             = "herd-mean"
	HerdP99              = "herd-p99"
	HerdMax              = "herd-max"
	HerdSpreadP99        = "herd-spread-p99-ns"
	NotificationPeak10ms = "notification-peak-10ms"
	UselessWakeupsPerOp  = "useless-wakeups/op"
	Violations           = "violations"
	HeapPerWatch         = "heap-bytes/watch"
)

// BystanderPhase is the phase under which the bystanders' response times are kept, and BystanderService that of their
// service times, which leave out what a late start adds.
const (
	BystanderPhase   = "bystander"
	BystanderService = "bystander-service"
)

// warmUpPrefix marks histograms of what came before the window.
const warmUpPrefix = "warm-up/"

// timelineLength is how much of the window the timeline keeps.
const timelineLength = time.Second

// Sample is one timed phase.
type Sample struct {
	Phase      string
	Client     int
	Start, End time.Duration
}

// Raw is what a measurement observed, before anything is computed from it. Times share one epoch.
type Raw struct {
	Window        Window
	Samples       []Sample
	Notifications []Notification
	Bystander     []BystanderRead
	Waiting       []string // the phases in which notifications are waited for
	PacedPhases   []string // those whose length the pace sets, if the window is paced
	Shares        []Share
}

// Share asks how many samples of one phase there are for each of another.
type Share struct{ Phase, Of string }

// IsShare tells by its name whether a metric is such a share: all others with a slash are fixed.
func IsShare(metric string) bool {
	fixed := []string{OpsPerSecond, NotificationsPerOp, RequestsPerOp, WritesPerOp, FailedWritesPerOp, BytesPerOp, UselessWakeupsPerOp, HeapPerWatch}
	return strings.Contains(metric, "/") && !slices.Contains(fixed, metric)
}

// metric is the name of its metric.
func (s Share) metric() string { return s.Phase + "/" + s.Of }

// shares returns all that there can be.
func shares(phases []string) []Share {
	var out []Share
	for _, part := range phases {
		for _, of := range phases {
			out = append(out, Share{part, of})
		}
	}
	return out
}

// Observe computes the histograms, the herd, the timeline and the metrics of a document whose Counts hold the requests
// and bytes of the window.
func (d *Document) Observe(raw Raw) error {
	d.Window = raw.Window
	var inWindow []Notification
	for _, n := range raw.Notifications {
		if raw.Window.Contains(n.At) {
			inWindow = append(inWindow, n)
		}
	}
	d.Counts.Notified = int64(len(inWindow))
	d.Counts.Notifications = map[string]int64{}
	for _, n := range inWindow {
		d.Counts.Notifications[n.Type]++
	}
	d.Counts.UselessWakes = int64(len(inWindow)) - usefulWakes(raw)
	if err := d.observeLatencies(raw); err != nil {
		return err
	}
	var err error
	if d.Herd, err = newHerd(inWindow); err != nil {
		return err
	}
	d.Timeline = newTimeline(raw)
	if err := d.computeMetrics(raw); err != nil {
		return err
	}
	d.countUnfinishedWaits(raw)
	return nil
}

// countUnfinishedWaits looks at the waits that were going on when the window ended. They ended later, under a load that
// was thinning out, and are in no percentile.
func (d *Document) countUnfinishedWaits(raw Raw) {
	for _, s := range raw.Samples {
		if !slices.Contains(raw.Waiting, s.Phase) || s.Start > raw.Window.End || s.End <= raw.Window.End {
			continue
		}
		p99 := time.Duration(d.Metrics[s.Phase+"-p99-ns"].Value)
		age := raw.Window.End - s.Start
		d.Window.UnfinishedWaits++
		d.Window.OldestWait = max(d.Window.OldestWait, age)
		if age > p99 {
			d.Window.StarvingWaits++
		}
	}
}

// Starves tells whether more waits than chance explains were older than the p99 when the window ended.
func (w Window) Starves() bool {
	return !w.Paced && w.StarvingWaits > max(1, w.UnfinishedWaits/50)
}

// observeLatencies sorts the samples by phase, and by whether they ended in the window or before it.
func (d *Document) observeLatencies(raw Raw) error {
	values := map[string][]time.Duration{}
	book := func(phase string, end, took time.Duration) {
		switch {
		case raw.Window.Contains(end):
			values[phase] = append(values[phase], took)
		case end < raw.Window.Start:
			values[warmUpPrefix+phase] = append(values[warmUpPrefix+phase], took)
		}
	}
	for _, s := range raw.Samples {
		book(s.Phase, s.End, s.End-s.Start)
	}
	for _, b := range raw.Bystander {
		book(BystanderPhase, b.At, b.Response)
		book(BystanderService, b.At, b.Service)
	}
	d.Histograms = map[string]Histogram{}
	for phase, v := range values {
		h, err := NewHistogram(v)
		if err != nil {
			return err
		}
		d.Histograms[phase] = h
		if h.Dropped > 0 {
			d.Invalid = append(d.Invalid, fmt.Sprintf("%d %s latencies were over an hour", h.Dropped, phase))
		}
	}
	return nil
}

// usefulWakes counts the waits that ended in the window after at least one notification, the last of which came in
// the window, too: that one is taken to have let its receiver go on, even where it merely came last. All other
// notifications woke somebody, or nobody, for nothing.
func usefulWakes(raw Raw) int64 {
	byClient := map[int][]time.Duration{}
	for _, n := range raw.Notifications {
		byClient[n.Client] = append(byClient[n.Client], n.At)
	}
	for _, times := range byClient {
		slices.Sort(times)
	}
	var useful int64
	for _, s := range raw.Samples {
		if !slices.Contains(raw.Waiting, s.Phase) || !raw.Window.Contains(s.End) {
			continue
		}
		times := byClient[s.Client]
		i, _ := slices.BinarySearch(times, s.End)
		if i > 0 && times[i-1] > s.Start && raw.Window.Contains(times[i-1]) {
			useful++
		}
	}
	return useful
}

// newTimeline cuts the stretch from the middle of the window, wherever that is: a stretch that was chosen for its
// looks would be an illustration, not a measurement.
func newTimeline(raw Raw) Timeline {
	middle := (raw.Window.Start + raw.Window.End) / 2
	t := Timeline{
		Start: max(middle-timelineLength/2, raw.Window.Start),
		End:   min(middle+timelineLength/2, raw.Window.End),
	}
	for _, n := range raw.Notifications {
		if t.Start <= n.At && n.At <= t.End {
			t.Notifications = append(t.Notifications, TimelineDot{n.At - t.Start, n.Client})
		}
	}
	for _, b := range raw.Bystander {
		if t.Start <= b.At && b.At <= t.End {
			b.At -= t.Start
			t.Bystander = append(t.Bystander, b)
		}
	}
	slices.SortFunc(t.Notifications, func(a, b TimelineDot) int { return cmp.Compare(a.At, b.At) })
	slices.SortFunc(t.Bystander, func(a, b BystanderRead) int { return cmp.Compare(a.At, b.At) })
	return t
}

func (d *Document) computeMetrics(raw Raw) error {
	d.Metrics = map[string]Metric{
		HerdMean:             {d.Herd.Mean(), "notifications"},
		HerdP99:              {float64(d.Herd.Quantile(0.99)), "notifications"},
		HerdMax:              {float64(d.Herd.Max()), "notifications"},
		NotificationPeak10ms: {float64(d.Herd.Peak10ms), "notifications"},
		Violations:           {float64(len(d.Violations)), "violations"},
	}
	if d.Heap != nil {
		if bytes, ok := d.Heap.PerWatch(); ok {
			d.Metrics[HeapPerWatch] = Metric{bytes, "bytes per watch"}
		}
	}
	if ops := float64(d.Window.Operations); ops > 0 {
		for name, total := range map[string]int64{
			NotificationsPerOp:  d.Counts.Notified,
			RequestsPerOp:       d.Counts.TotalRequests,
			WritesPerOp:         d.Counts.Writes,
			FailedWritesPerOp:   d.Counts.FailedWrites,
			UselessWakeupsPerOp: d.Counts.UselessWakes,
			BytesPerOp:          d.Counts.BytesIn + d.Counts.BytesOut,
		} {
			unit := "per op"
			if name == BytesPerOp {
				unit = "bytes per op"
			}
			d.Metrics[name] = Metric{float64(total) / ops, unit}
		}
		if seconds := d.Window.Length().Seconds(); !d.Window.Paced && seconds > 0 {
			d.Metrics[OpsPerSecond] = Metric{ops / seconds, "1/s"}
		}
	}
	for phase, h := range d.Histograms {
		decoded, err := h.Decode()
		if err != nil {
			return err
		}
		meaningless := raw.Window.Paced && slices.Contains(raw.PacedPhases, phase)
		if !meaningless && !strings.HasPrefix(phase, warmUpPrefix) {
			addPercentiles(d.Metrics, phase, decoded)
		}
	}
	for _, s := range raw.Shares {
		if whole := d.Histograms[s.Of].Samples; whole > 0 {
			d.Metrics[s.metric()] = Metric{float64(d.Histograms[s.Phase].Samples) / float64(whole), "per " + s.Of}
		}
	}
	spread, err := d.Herd.Spread.Decode()
	if err != nil {
		return err
	}
	if spread.TotalCount() > 0 {
		d.Metrics[HerdSpreadP99] = Metric{float64(spread.ValueAtPercentile(99)), "ns"}
	}
	return nil
}

// CompareWithFormulas holds the counts to what the variant claims: to the letter where the formulas are exact, else
// as bounds. A deviation from an exact formula means that the run was disturbed, or that the claim is wrong; either
// way its numbers must not be used. A bound that is exceeded is reported as a warning.
func (d *Document) CompareWithFormulas() {
	reasons := len(d.Invalid)
	for _, name := range CountMetrics() {
		cost, claimed := d.Expected.Costs[name]
		m, measured := d.Metrics[name]
		if !claimed || !measured || d.Guessed(name) {
			continue
		}
		switch {
		case d.Expected.Exact && d.AgainstCount(name, cost.Value) != 0:
			d.Invalid = append(d.Invalid, fmt.Sprintf("%s is %.6g, but %s = %.6g by the variant's formula", name, m.Value, cost.Formula, cost.Value))
		case !d.Expected.Exact && d.Exceeds(name, cost.Value):
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s is %.4g, over the variant's bound of %.4g (%s)", name, m.Value, cost.Value, cost.Formula))
		}
	}
	d.Expected.Equal = d.Expected.Exact && len(d.Expected.Costs) > 0 && len(d.Invalid) == reasons
}

// cutOperations is how many operations of each client the two edges of a window may cut, so that their requests are
// counted and they are not.
const cutOperations = 2

// CountMetrics returns the metrics for which a variant can have a formula.
func CountMetrics() []string {
	return []string{NotificationsPerOp, RequestsPerOp, WritesPerOp, FailedWritesPerOp, HerdMax}
}

// IsMaximum tells whether a single operation decides the metric.
func IsMaximum(metric string) bool { return strings.HasSuffix(metric, "-max-ns") }

// HasDirection tells whether less of a metric is better, or more of it. A herd that arrives at once hits the servers
// harder; one that arrives over a long time keeps its last members waiting.
func HasDirection(metric string) bool { return metric != HerdSpreadP99 }

// MoreIsBetter tells the only metric that should be high.
func MoreIsBetter(metric string) bool { return metric == OpsPerSecond }

// Guessed tells whether a metric is one that these servers do not tell: where herds are guessed, their size proves nothing.
func (d *Document) Guessed(metric string) bool {
	return metric == HerdMax && d.Herd.Grouping == byPathAndTime
}

// AgainstCount tells whether a metric is less than (-1), equal to (0) or more than (1) an exact value. Averages are
// compared as the whole numbers that they came from, so that no rounding counts as a difference.
func (d *Document) AgainstCount(metric string, want float64) int {
	ops := float64(d.Window.Operations)
	return cmp.Compare(math.Round(d.Metrics[metric].Value*ops), math.Round(want*ops))
}

// Exceeds tells whether a metric is over an upper bound; an average by more than what the two edges of a window may have
// cut. A load of so many operations has no edges: it begins and ends at rest.
func (d *Document) Exceeds(metric string, bound float64) bool {
	if metric == HerdMax || d.Scenario.Operations > 0 {
		return d.Metrics[metric].Value > bound
	}
	ops := float64(d.Window.Operations)
	return d.Metrics[metric].Value*ops > bound*(ops+cutOperations*float64(d.Clients))
}
