package results_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
)

// unfinishedRun returns the document of a closed load that was ended after 3 of 20 operations of 10 clients each.
func unfinishedRun(t *testing.T) *results.Document {
	t.Helper()
	d := closedRun(t, 100*time.Millisecond)
	d.Scenario.Duration, d.Scenario.Operations, d.Scenario.Size, d.Scenario.AtMost = 0, 20, 1, time.Minute
	d.Unfinished = &results.Unfinished{Done: 3, Requests: d.Counts.TotalRequests + 1, Notifications: d.Counts.Notified}
	d.Warnings, d.Expected.Exact, d.Expected.Equal = []string{}, false, false
	var err error
	if d.Metrics, err = d.ComputeMetrics(); err != nil {
		t.Fatal(err)
	}
	return d
}

// A row has no numbers if one of its repeats was not finished.
func TestUnfinishedRow(t *testing.T) {
	finished, unfinished := unfinishedRun(t), unfinishedRun(t)
	finished.Unfinished, finished.Repeat, finished.Scenario.Repeats = nil, 1, 2
	unfinished.Repeat, unfinished.Scenario.Repeats = 2, 2
	var err error
	if finished.Metrics, err = finished.ComputeMetrics(); err != nil {
		t.Fatal(err)
	}
	rows := results.Summarize([]*results.Document{finished, unfinished}).Rows
	if len(rows) != 1 || len(rows[0].Metrics) != 2 || !strings.Contains(rows[0].Unfinished, "did 3 of ") {
		t.Fatalf("rows = %+v, want one without numbers", rows)
	}
}
