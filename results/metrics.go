package results

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// The metrics that every measurement has, where they make sense. Beside them stand, for each phase of the recipe and
// for the bystanders, <phase>-p50-ns, -p90-ns, -p99-ns and -max-ns; <phase>/<phase> for each share that the recipe
// asks for; and the metrics of the floor, see [FloorMetric] and [FloorMultiple]. Files, tables and gates use these names.
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
	Operation     string // the phase whose end completes an operation
	Collective    bool   // all clients complete an operation together
	Samples       []Sample
	Notifications []Notification
	Bystander     []BystanderRead
	Frozen        Stretch // in which zkbench itself held the servers up, to measure their heaps
}

// Share asks how many samples of one phase there are for each of another.
type Share struct {
	Phase string `json:"phase"`
	Of    string `json:"of"`
}

// IsShare reports by its name whether a metric is such a share: all others with a slash are fixed, or multiples of the floor.
func IsShare(metric string) bool {
	fixed := []string{OpsPerSecond, NotificationsPerOp, RequestsPerOp, WritesPerOp, FailedWritesPerOp, BytesPerOp, UselessWakeupsPerOp, HeapPerWatch}
	return strings.Contains(metric, "/") && !slices.Contains(fixed, metric) && !IsFloorMultiple(metric)
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

// Observe computes the histograms, the herd, the timeline and the metrics of a document that describes the recipe's phases,
// and whose Counts hold the requests and bytes of the window.
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
	d.Counts.UselessWakes = int64(len(inWindow)) - usefulWakes(raw, d.Waiting)
	if err := d.observeLatencies(raw); err != nil {
		return err
	}
	var err error
	if d.Herd, err = newHerd(inWindow, d.Environment.ZooKeeper); err != nil {
		return err
	}
	d.Timeline = newTimeline(raw)
	d.Stalls = findStalls(raw)
	d.observeServers(raw)
	if d.Metrics, err = d.computed(); err != nil {
		return err
	}
	d.countUnfinishedWaits(raw)
	return nil
}

// countUnfinishedWaits looks at the waits that were going on when the window ended. They ended later, under a load that
// was thinning out, and are in no percentile.
func (d *Document) countUnfinishedWaits(raw Raw) {
	for _, s := range raw.Samples {
		if !slices.Contains(d.Waiting, s.Phase) || s.Start > raw.Window.End || s.End <= raw.Window.End {
			continue
		}
		age := raw.Window.End - s.Start
		d.Window.UnfinishedWaits++
		d.Window.OldestWait = max(d.Window.OldestWait, age)
		if age > d.p99(s.Phase) {
			d.Window.StarvingWaits++
		}
	}
}

// p99 returns that of a phase, zero if it has none.
func (d *Document) p99(phase string) time.Duration {
	return time.Duration(d.Metrics[phase+"-p99-ns"].Value)
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
	d.Histograms, d.Samples = map[string]Histogram{}, 0
	for phase, v := range values {
		h, err := NewHistogram(v)
		if err != nil {
			return err
		}
		d.Histograms[phase] = h
		d.Samples += h.all()
	}
	return nil
}

// usefulWakes counts the waits that ended in the window after at least one notification, the last of which came in
// the window, too: that one is taken to have let its receiver go on, even where it merely came last. All other
// notifications woke somebody, or nobody, for nothing.
func usefulWakes(raw Raw, waiting []string) int64 {
	byClient := map[int][]time.Duration{}
	for _, n := range raw.Notifications {
		byClient[n.Client] = append(byClient[n.Client], n.At)
	}
	for _, times := range byClient {
		slices.Sort(times)
	}
	var useful int64
	for _, s := range raw.Samples {
		if !slices.Contains(waiting, s.Phase) || !raw.Window.Contains(s.End) {
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
	t := Timeline{Notifications: []TimelineDot{}, Bystander: []BystanderRead{}}
	t.Start, t.End = raw.Window.middle(timelineLength)
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

// cutSteps is how many steps of each client the two edges of a window may cut, so that requests are counted and the
// operations that they belong to are not.
const cutSteps = 2

// CountMetrics returns the metrics for which a variant can have a formula.
func CountMetrics() []string {
	return []string{NotificationsPerOp, RequestsPerOp, WritesPerOp, FailedWritesPerOp, HerdMax}
}

// IsMaximum tells whether a single operation decides the metric.
func IsMaximum(metric string) bool { return strings.HasSuffix(metric, "-max-ns") }

// HasDirection reports whether less of a metric is better, or more of it. A herd that arrives at once hits the servers
// harder; one that arrives over a long time keeps its last members waiting. The floor is not the variant's merit.
func HasDirection(metric string) bool { return metric != HerdSpreadP99 && !IsFloor(metric) }

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
	return d.Metrics[metric].Value*ops > bound*(ops+float64(cutSteps*d.Batch*d.Clients))
}
