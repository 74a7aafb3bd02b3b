package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/results/summary"
)

// closedRun returns a document of a closed load with a window of that length, a notification every 100 ms, each with its own
// transaction, and a timeline from its middle.
func closedRun(t *testing.T, length time.Duration) *results.Document {
	t.Helper()
	d := recordertest.Described()
	d.Scenario.Mode, d.Scenario.Duration = results.ClosedMode, length
	m := releases(time.Second, time.Second+length)
	for _, s := range m.Spans {
		m.Notifications = append(m.Notifications, recordertest.Note(s.End, 0, int64(s.End)))
	}
	d.Oracle.ClientNotifications, d.Oracle.ServerNotifications = int64(len(m.Notifications)), int64(len(m.Notifications))
	m.Complete(d)
	return d
}

// partialRun returns a document of the first five seconds of an hour.
func partialRun(t *testing.T) *results.Document {
	t.Helper()
	d := closedRun(t, 5*time.Second)
	d.Scenario.Duration, d.Partial = time.Hour, true
	d.Oracle.Checked, d.Oracle.Why = false, "the load was still under way"
	d.Oracle.ServerNotifications, d.Oracle.ServerTransactions = 0, 0
	return d
}

// Tables mark a partial measurement, and say how long it was.
func TestPartialIsShown(t *testing.T) {
	d := partialRun(t)
	if want := "the measurement was interrupted after 5s of 1h0m0s"; !slices.ContainsFunc(doubts.Warnings(d), func(w string) bool { return strings.HasPrefix(w, want) }) {
		t.Errorf("warnings %q, want %q", doubts.Warnings(d), want)
	}
	whole := closedRun(t, 5*time.Second)
	rows := summary.Of([]*results.Document{d, whole})
	partial := func(d *results.Document) bool { return d.Partial }
	if len(rows) != 2 || rows[0].Any(partial) == rows[1].Any(partial) {
		t.Fatalf("rows %+v, want one that is partial", rows)
	}
	if text := shown(t, summary.Of([]*results.Document{d}), 120); !strings.Contains(text, "PARTIAL") {
		t.Errorf("a table without PARTIAL:\n%s", text)
	}
}

// unfinishedRun returns the document of a closed load that was ended after 3 of 20 operations of 10 clients each.
func unfinishedRun(t *testing.T) *results.Document {
	t.Helper()
	d := closedRun(t, 100*time.Millisecond)
	d.Scenario.Duration, d.Scenario.Operations, d.Scenario.Size, d.Scenario.AtMost = 0, 20, 1, time.Minute
	d.Unfinished = &results.Unfinished{Done: 3, Requests: d.Counts.TotalRequests() + 1, Notifications: d.Counts.Notified()}
	d.Warnings = []string{}
	d.Metrics = metric.Compute(d)
	return d
}

// A row has no numbers if one of its repeats was not finished.
func TestUnfinishedRow(t *testing.T) {
	finished, unfinished := unfinishedRun(t), unfinishedRun(t)
	finished.Unfinished, finished.Repeat, finished.Scenario.Repeats = nil, 1, 2
	unfinished.Repeat, unfinished.Scenario.Repeats = 2, 2
	finished.Metrics = metric.Compute(finished)
	rows := summary.Of([]*results.Document{finished, unfinished})
	if len(rows) != 1 || len(rows[0].Metrics) != 2 || !rows[0].Unfinished() || !strings.Contains(doubts.Progress(unfinished), "did 3 of ") {
		t.Fatalf("rows = %+v, want one without numbers", rows)
	}
}
