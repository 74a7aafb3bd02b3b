package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
)

// A table has a line for the workers, and the error of their clocks beside a percentile of which it is a large share.
func TestTablesOfWorkers(t *testing.T) {
	d := document("a", "naive", 10, 1, map[string]float64{"handoff-p50-ns": 1e6, "acquire-p50-ns": 1e6, "handoff-p99-ns": 9e6})
	d.Across = map[string]results.Across{"handoff": {Spans: 100}}
	d.Workers = []results.Worker{
		{Host: "h1", Zone: "z1", ClockBound: 60 * time.Microsecond}, {Host: "h2", Zone: "z2", ClockBound: 40 * time.Microsecond},
	}
	const line = "clients of 2 workers (1 in z1, 1 in z2) on h1, h2, with clocks that differ by up to 100 µs"
	rows := summary.Of([]*results.Document{d})
	if text := shown(t, rows, 160); !strings.Contains(text, line) {
		t.Errorf("the table does not say %q:\n%s", line, text)
	}
	for metric, want := range map[string]string{
		"handoff-p50-ns": "1.00 ms ±100 µs", "acquire-p50-ns": "1.00 ms", "handoff-p99-ns": "9.00 ms", "handoff-max-ns": "–",
	} {
		if got := report.Show(rows[0], metric); got != want {
			t.Errorf("%s is %q, want %q", metric, got, want)
		}
	}
	if got := report.Workers(document("a", "naive", 1, 1, nil)); got != "" {
		t.Error(got)
	}
}

// Measurements with other workers share neither a row nor a table.
func TestWorkersAreKeptApart(t *testing.T) {
	var docs []*results.Document
	for n := range 3 {
		d := document("a", "naive", 10, 1, map[string]float64{"ops/s": 5})
		d.Workers = make([]results.Worker, n)
		docs = append(docs, d)
	}
	rows := summary.Of(docs)
	if text := shown(t, rows, 120); len(rows) != 3 || strings.Count(text, "median of") != 3 {
		t.Errorf("%d rows:\n%s", len(rows), text)
	}
}
