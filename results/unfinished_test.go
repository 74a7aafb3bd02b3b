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
	of := int64(d.Clients) * 20
	d.Unfinished = &results.Unfinished{Done: 3, Of: of, Requests: d.Counts.TotalRequests + 1, Notifications: d.Counts.Notified}
	d.Warnings, d.Expected.Exact, d.Expected.Equal = []string{}, false, false
	var err error
	if d.Metrics, err = d.ComputeMetrics(); err != nil {
		t.Fatal(err)
	}
	return d
}

// What does not fit an unfinished load is named.
func TestValidateUnfinished(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(d *results.Document)
		want   string
	}{
		{"whole", func(*results.Document) {}, ""},
		{"more than there is", func(d *results.Document) { d.Unfinished.Done = d.Unfinished.Of }, "unfinished.done is"},
		{"another load", func(d *results.Document) { d.Unfinished.Of-- }, "unfinished.of is"},
		{"no limit", func(d *results.Document) { d.Scenario.AtMost = 0 }, "scenario.at_most_ns is not"},
		{"fewer requests than in the window", func(d *results.Document) { d.Unfinished.Requests = 0 }, "unfinished.requests is 0"},
		{"a part that was forgotten", func(d *results.Document) { d.Unfinished = nil }, "metrics."},
		{"another share", func(d *results.Document) { d.Metrics[results.Finished] = results.Metric{Value: 1, Unit: "share"} }, "metrics.finished"},
		{"a number", func(d *results.Document) {
			d.Metrics[results.NotificationsPerOp] = results.Metric{Value: 1, Unit: "per op"}
		}, "metrics.notifications/op"},
	} {
		d := unfinishedRun(t)
		tt.change(d)
		check(t, tt.name, d, tt.want)
	}
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

// How the sessions were established must fit the number of clients and the metric.
func TestValidateConnect(t *testing.T) {
	each := make([]time.Duration, 10)
	for i := range each {
		each[i] = time.Duration(i+1) * time.Millisecond
	}
	for _, tt := range []struct {
		name   string
		change func(c *results.Connect)
		want   string
	}{
		{"whole", func(*results.Connect) {}, ""},
		{"another number of sessions", func(c *results.Connect) { c.Sessions++ }, "connect.sessions is"},
		{"less time than one session", func(c *results.Connect) { c.Total = 1 }, "connect.total_ns is"},
		{"less time than the slowest session", func(c *results.Connect) { c.Total = 1500 * time.Microsecond }, "connect.total_ns is"},
		{"no times", func(c *results.Connect) { c.Each = results.Histogram{} }, "connect.each has 0"},
	} {
		d := closedRun(t, 100*time.Millisecond)
		histogram, err := results.NewHistogram(each[:d.Clients])
		if err != nil {
			t.Fatal(err)
		}
		d.Connect = &results.Connect{Sessions: d.Clients, Total: time.Second, Each: histogram}
		tt.change(d.Connect)
		if d.Metrics, err = d.ComputeMetrics(); err != nil {
			t.Fatal(err)
		}
		check(t, tt.name, d, tt.want)
	}
}
