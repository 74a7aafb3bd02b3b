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
// for the bystanders, <phase>-p50-ns, -p90-ns, -p99-ns and -max-ns. Files, tables and gates use these names.
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
	Waiting       string   // the phase in which notifications are waited for
	PacedPhases   []string // those whose length the pace sets, if the window is paced
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
	p99 := time.Duration(d.Metrics[raw.Waiting+"-p99-ns"].Value)
	for _, s := range raw.Samples {
		if s.Phase != raw.Waiting || s.Start > raw.Window.End || s.End <= raw.Window.End {
			continue
		}
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
		if s.Phase != raw.Waiting || !raw.Window.Contains(s.End) {
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
	ops := float64(d.Window.Operations)
	reasons := len(d.Invalid)
	for _, name := range []string{NotificationsPerOp, RequestsPerOp, WritesPerOp, FailedWritesPerOp, HerdMax} {
		cost, claimed := d.Expected.Costs[name]
		m, measured := d.Metrics[name]
		if !claimed || !measured || name == HerdMax && d.Herd.Grouping == byPathAndTime {
			continue // where herds are guessed, their size proves nothing
		}
		switch {
		case d.Expected.Exact && !sameCount(m.Value, cost.Value, d.Window.Operations):
			d.Invalid = append(d.Invalid, fmt.Sprintf("%s is %.6g, but %s = %.6g by the variant's formula", name, m.Value, cost.Formula, cost.Value))
		case !d.Expected.Exact && m.Value*ops > cost.Value*(ops+cutOperations*float64(d.Clients)):
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s is %.4g, over the variant's bound of %.4g (%s)", name, m.Value, cost.Value, cost.Formula))
		}
	}
	d.Expected.Equal = d.Expected.Exact && len(d.Expected.Costs) > 0 && len(d.Invalid) == reasons
}

// cutOperations is how many operations of each client the two edges of a window may cut, so that their requests are
// counted and they are not.
const cutOperations = 2

// sameCount compares two averages as the whole numbers that they came from.
func sameCount(a, b float64, ops int64) bool {
	return math.Round(a*float64(ops)) == math.Round(b*float64(ops))
}
