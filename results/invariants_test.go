package results_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

// closedRun returns a document of a closed load with a window of that length, a notification every 100 ms, each of a
// transaction of its own, and a timeline from its middle.
func closedRun(t *testing.T, length time.Duration) *results.Document {
	t.Helper()
	d := described()
	d.Scenario.Mode, d.Scenario.Duration = results.ClosedMode, length
	m := releases(time.Second, time.Second+length)
	for _, s := range m.Spans {
		m.Notifications = append(m.Notifications, note(s.End, 0, int64(s.End)))
	}
	d.Oracle.ClientNotifications, d.Oracle.ServerNotifications = int64(len(m.Notifications)), int64(len(m.Notifications))
	m.Complete(t, d)
	return d
}

// releases returns a measurement in which one client completes an operation every 100 ms of a window.
func releases(start, end time.Duration) recordertest.Measurement {
	m := recordertest.Measurement{Config: recorder.Config{WindowLength: end - start}, Window: recordertest.Stretch{Start: start, End: end}}
	for at := start; at <= end; at += 100 * ms {
		m.Spans = append(m.Spans, recordertest.Span{Phase: "release", Start: at, End: at})
	}
	return m
}

// sound fails the test unless a document keeps all invariants and can be read after it was written.
func sound(t *testing.T, d *results.Document) {
	t.Helper()
	if err := d.CheckInvariants(); err != nil {
		t.Error(err)
	}
	text, err := results.Seal(d)
	if err == nil {
		_, err = results.Decode(text)
	}
	if err != nil {
		t.Error(err)
	}
}

// Each invariant is broken by a document that a mistake in the recorder could make, and names the parts that do not agree.
func TestInvariants(t *testing.T) {
	for want, change := range map[string]func(d *results.Document){
		"window.starving_waits is 1, of 0":  func(d *results.Document) { d.Window.StarvingWaits = 1 },
		"oldest_wait_ns is 1ms, with 0":     func(d *results.Document) { d.Window.OldestWait = ms },
		"counts.writes is 99, of 14":        func(d *results.Document) { d.Counts.Writes = 99 },
		"counts.failed_writes is 2":         func(d *results.Document) { d.Counts.FailedWrites = 2 },
		"counts.spurious_wakeups is 11":     func(d *results.Document) { d.Counts.SpuriousWakes = 11 },
		"counts.failed.exists is 5, of 4":   func(d *results.Document) { d.Counts.Failed["exists"] = 5 },
		"histograms.bystander has 0 reads":  func(d *results.Document) { delete(d.Histograms, results.BystanderPhase) },
		"connect.each has 0 samples":        func(d *results.Document) { d.Connect = &results.Connect{} },
		"herd.sizes has 11 notifications":   func(d *results.Document) { d.Herd.Sizes[0].Count++ },
		"herd.sizes has 10 herds":           func(d *results.Document) { d.Herd.Spread = results.Histogram{} },
		"oracle.checked is false":           func(d *results.Document) { d.Oracle.Checked = false },
		"oracle.resent_notifications is 11": func(d *results.Document) { d.Oracle.ResentNotifications = 11 },
		"although health.leader_changed is": func(d *results.Document) { d.Health.LeaderChanged = true },
		"oracle.client_notifications 9":     func(d *results.Document) { d.Oracle.ClientNotifications = 9 },
		"oracle.client_writes 11":           func(d *results.Document) { d.Oracle.ClientWrites = 11 },
		"timeline goes from":                func(d *results.Document) { d.Timeline.End += ms },
		"timeline.notifications has 9":      func(d *results.Document) { d.Timeline.Notifications = d.Timeline.Notifications[1:] },
		"timeline.bystander has 9":          func(d *results.Document) { d.Timeline.Bystander = d.Timeline.Bystander[1:] },
		"series is missing":                 func(d *results.Document) { d.Series = nil },
		"series.operations has 0":           func(d *results.Document) { d.Series.Operations = nil },
		"series.notifications has 0":        func(d *results.Document) { d.Series.Notifications = nil },
		"series.largest_herd has at most 0": func(d *results.Document) { d.Series.LargestHerd = nil },
		"failure is missing": func(d *results.Document) {
			d.Scenario.Faults = []results.FaultLoad{{Kind: results.KillFault, Whom: "leader", At: time.Second, For: 2 * time.Second}}
		},
		"failure.recovery has 0 samples":        func(d *results.Document) { d.Failure = &results.Failure{Unrecovered: 1} },
		"failure.unavailable_ns is 1h":          func(d *results.Document) { d.Failure = &results.Failure{Unavailable: time.Hour} },
		"failure.peak_requests is 15, of 14":    func(d *results.Document) { d.Failure = &results.Failure{PeakRequests: 15} },
		"open.given_up 1, of 0 open.arrivals":   func(d *results.Document) { d.Open = &results.Open{GivenUp: 1} },
		"stages end at 2ms, and the window":     func(d *results.Document) { d.Stages = []results.Stage{{Start: ms, End: 2 * ms}} },
		"latencies of stages are other ones":    func(d *results.Document) { d.Stages = []results.Stage{{Latency: d.Herd.Spread}} },
		"1 of them are neither answered nor":    func(d *results.Document) { d.Background = unanswered() },
		"oracle.background_writes is 0, and 1 ": func(d *results.Document) { d.Background = unanswered() },
	} {
		d := whole(t)
		sound(t, d)
		change(d)
		if err := d.CheckInvariants(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// unanswered returns a background with a write that was never answered.
func unanswered() *results.Background {
	return &results.Background{During: &results.BackgroundStretch{Write: results.BackgroundRequests{Due: 1}}}
}

// A document that contradicts itself is not stored.
func TestWriteChecksInvariants(t *testing.T) {
	d := whole(t)
	d.Herd.Sizes[0].Count++
	if err := d.Write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "herd.sizes has 11 notifications") {
		t.Errorf("%v", err)
	}
}

func TestUnlistedViolationsCount(t *testing.T) {
	d := whole(t)
	d.Violations, d.MoreViolations = make([]results.Violation, results.MaxViolations), 5
	var err error
	if d.Metrics, err = d.ComputeMetrics(); err != nil || d.Metrics[results.Violations].Value != results.MaxViolations+5 || d.Breaches() != results.MaxViolations+5 {
		t.Fatalf("%v, %v", d.Metrics[results.Violations], err)
	}
	sound(t, d)
}
