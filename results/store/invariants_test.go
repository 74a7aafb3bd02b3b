package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/results/store"
)

const ms = time.Millisecond

// Each invariant is broken by a document that a mistake in the recorder could make, and names the parts that do not agree.
func TestInvariants(t *testing.T) {
	for want, change := range map[string]func(d *results.Document){
		"window.starving_waits has 1, and":                  func(d *results.Document) { d.Window.StarvingWaits = 1 },
		"oldest_wait_ns is 1ms, with 0":                     func(d *results.Document) { d.Window.OldestWait = ms },
		"counts.writes has 99, and counts.requests only 14": func(d *results.Document) { d.Counts.Writes = 99 },
		"counts.failed_writes has 2, and":                   func(d *results.Document) { d.Counts.FailedWrites = 2 },
		"counts.spurious_wakeups has 11":                    func(d *results.Document) { d.Counts.SpuriousWakes = 11 },
		"counts.watches.exists has 5, and":                  func(d *results.Document) { d.Counts.Watches = map[string]int64{"exists": 5} },
		"counts.failed.exists has 5, and":                   func(d *results.Document) { d.Counts.Failed["exists"] = 5 },
		"histograms.bystander has 0, and":                   func(d *results.Document) { delete(d.Histograms, results.BystanderPhase) },
		"connect.each has 0, and clients":                   func(d *results.Document) { d.Connect = &results.Connect{} },
		"herd.ungrouped has 11, and count":                  func(d *results.Document) { d.Herd.Sizes[0].Count++ },
		"herd.ungrouped has 10, and count":                  func(d *results.Document) { d.Counts.Notifications["NodeDeleted"] += 2 },
		"herd.ungrouped has 12, and count":                  func(d *results.Document) { d.Herd.Ungrouped = 2 },
		"herd.sizes has 10, and herd.spread":                func(d *results.Document) { d.Herd.Spread = results.Histogram{} },
		"oracle.checked is false":                           func(d *results.Document) { d.Oracle.Checked = false },
		"oracle.resent_notifications has 11":                func(d *results.Document) { d.Oracle.ResentNotifications = 11 },
		"although health.leader_changed is":                 func(d *results.Document) { d.Health.LeaderChanged = true },
		"oracle.client_notifications only 9":                func(d *results.Document) { d.Oracle.ClientNotifications = 9 },
		"oracle.client_writes 11":                           func(d *results.Document) { d.Oracle.ClientWrites = 11 },
		"timeline goes from":                                func(d *results.Document) { d.Timeline.End += ms },
		"timeline.notifications has 9":                      func(d *results.Document) { d.Timeline.Notifications = d.Timeline.Notifications[1:] },
		"timeline.bystander has 9":                          func(d *results.Document) { d.Timeline.Bystander = d.Timeline.Bystander[1:] },
		"series is missing":                                 func(d *results.Document) { d.Series = nil },
		"window.operations has 10, and the series 0 to 0":   func(d *results.Document) { d.Series.Operations = nil },
		"histograms.release has 10, and the series 11":      func(d *results.Document) { d.Series.Operations[0]++ },
		"series.notifications has 0, and oracle.all_n":      func(d *results.Document) { d.Series.Notifications = nil },
		"notifications has 10, and oracle.client_n":         func(d *results.Document) { d.Oracle.ClientNotifications = 11 },
		"series.requests has 14, and oracle.all_requests 1": func(d *results.Document) { d.Oracle.AllRequests = 15 },
		"counts.requests has 15, and the series 0 to 14":    func(d *results.Document) { d.Counts.Requests["exists"]++ },
		"histograms.acquire has 0, and the series 1 to 1":   func(d *results.Document) { d.Series.Samples[0]++ },
		"sum of histograms.acquire has 0, and the series":   func(d *results.Document) { d.Series.Time[0] += ms },
		"series.largest_herd only 0":                        func(d *results.Document) { d.Series.LargestHerd = nil },
		"failure is missing": func(d *results.Document) {
			d.Scenario.Faults = []results.FaultLoad{{Kind: "kill", Whom: "leader", At: time.Second, For: 2 * time.Second}}
		},
		"failure.unrecovered has 1, and":    func(d *results.Document) { d.Failure = &results.Failure{Unrecovered: 1} },
		"failure.unavailable_ns is 1h":      func(d *results.Document) { d.Failure = &results.Failure{Unavailable: time.Hour} },
		"failure.peak_requests has 15, and": func(d *results.Document) { d.Failure = &results.Failure{PeakRequests: 15} },
		"open.given_up has 1, and":          func(d *results.Document) { d.Open = &results.Open{GivenUp: 1} },
		"stages end at 2ms, and the window": func(d *results.Document) { d.Stages = []results.Stage{{Start: ms, End: 2 * ms}} },
		"stages[].latency has 0, and histograms.release 10": func(d *results.Document) {
			d.Phases, d.Stages = nil, []results.Stage{{Start: ms, End: 2 * ms}}
		},
		"stages[].latency has 10, and":        func(d *results.Document) { d.Stages = []results.Stage{{Latency: d.Herd.Spread}} },
		"write.due without failed has 1, and": func(d *results.Document) { d.Background = unanswered() },
		"across.release has 11, and histograms.release 10": func(d *results.Document) {
			d.Across = map[string]results.Across{"release": {Spans: 1, Within: d.Histograms["release"]}}
		},
		"workers[].clients has 3, and clients 10": func(d *results.Document) { d.Workers = []results.Worker{{Clients: 1}, {Clients: 2}} },
		"oracle.background_writes only 0":         func(d *results.Document) { d.Background = unanswered() },
	} {
		d := recordertest.Whole()
		recordertest.Sound(t, d)
		change(d)
		if err := store.CheckInvariants(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func unanswered() *results.Background {
	return &results.Background{During: &results.BackgroundStretch{Write: results.BackgroundRequests{Due: 1}}}
}

// A notification in no herd was still received: the document counts both together.
func TestUngroupedNotificationsAreAccountedFor(t *testing.T) {
	d := recordertest.Whole()
	d.Herd.Ungrouped = 2
	d.Counts.Notifications["NodeDeleted"] += 2
	if err := store.CheckInvariants(d); err != nil && strings.Contains(err.Error(), "herd.ungrouped") {
		t.Error(err)
	}
}

// A library may send the last request of an operation after it has answered. It belongs to the counts of whole operations, and not to
// those of a window that ends while clients are at work.
func TestRequestsAfterTheLastAnswer(t *testing.T) {
	for _, operations := range []int{1, 0} {
		d := recordertest.Whole()
		d.Scenario.Mode, d.Scenario.Operations = "closed", operations
		late := len(d.Series.Requests) + 1
		d.Series.Requests = append(d.Series.Requests, make([]int64, 2)...)
		d.Series.Requests[late]++
		d.Counts.Requests["delete"]++
		d.Oracle.AllRequests++
		err := store.CheckInvariants(d)
		if whole := operations > 0; (err == nil) != whole || !whole && !strings.Contains(err.Error(), "counts.requests has 15, and the series") {
			t.Errorf("%d operations: %v", operations, err)
		}
	}
}

// A document that contradicts itself is not stored.
func TestWriteChecksInvariants(t *testing.T) {
	d := recordertest.Whole()
	d.Herd.Sizes[0].Count++
	if err := store.Write(d, t.TempDir()); err == nil || !strings.Contains(err.Error(), "herd.ungrouped has 11, and count") {
		t.Errorf("%v", err)
	}
}

func TestUnlistedViolationsCount(t *testing.T) {
	d := recordertest.Whole()
	d.Violations, d.MoreViolations = make([]results.Violation, recorder.MaxViolations), 5
	if d.Metrics = metric.Compute(d); d.Metrics[metric.Violations].Value != recorder.MaxViolations+5 || d.Breaches() != recorder.MaxViolations+5 {
		t.Fatalf("%v", d.Metrics[metric.Violations])
	}
	recordertest.Sound(t, d)
}
