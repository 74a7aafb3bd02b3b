package results_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
)

// partialRun returns a document of the first five seconds of an hour.
func partialRun(t *testing.T) *results.Document {
	t.Helper()
	d := closedRun(t, 5*time.Second)
	d.Scenario.Duration, d.Partial = time.Hour, true
	d.Oracle.Checked, d.Oracle.Why = false, "the load was still under way"
	d.Oracle.ServerNotifications, d.Oracle.ServerTransactions = 0, 0
	return d
}

// A window may be shorter than the load that was asked for only in a document that says so, which has nothing from the end of the
// measurement. It has a whole window if the run was interrupted after it.
func TestValidatePartial(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(d *results.Document)
		want   string
	}{
		{"a part", func(*results.Document) {}, ""},
		{"with half a floor", func(d *results.Document) {
			d.Floor = &results.Floor{Why: "the load was still under way", Before: half(t, ms, ms, ms, 10)}
			d.Metrics, _ = d.ComputeMetrics()
		}, ""},
		{"without the mark", func(d *results.Document) { d.Partial = false }, "window has a length of 5s, less than scenario.duration_ns"},
		{"a whole window", func(d *results.Document) { d.Scenario.Duration = 5 * time.Second }, ""},
		{"a rehearsal", func(d *results.Document) { d.Repeat = 0 }, "repeat is 0"},
		{"with an oracle", func(d *results.Document) { d.Oracle.Checked, d.Oracle.Why = true, "" }, "so is oracle.checked"},
		{"with a whole floor", func(d *results.Document) {
			d.Floor = &results.Floor{Before: half(t, ms, ms, ms, 10), After: half(t, ms, ms, ms, 10)}
		}, "floor.after is there"},
		{"with waits from the end", func(d *results.Document) { d.Window.UnfinishedWaits = 1 }, "window.unfinished_waits is 1"},
	} {
		d := partialRun(t)
		tt.change(d)
		check(t, tt.name, d, tt.want)
	}
}

// Tables mark a partial measurement, and say how long it was.
func TestPartialIsShown(t *testing.T) {
	d := partialRun(t)
	if want := "the measurement was interrupted after 5s of 1h0m0s"; !slices.ContainsFunc(d.Findings().Warnings, func(w string) bool { return strings.HasPrefix(w, want) }) {
		t.Errorf("warnings %q, want %q", d.Findings().Warnings, want)
	}
	whole := closedRun(t, 5*time.Second)
	rows := results.Summarize([]*results.Document{d, whole}).Rows
	if len(rows) != 2 || rows[0].Partial == rows[1].Partial {
		t.Fatalf("rows %+v, want one that is partial", rows)
	}
	var text strings.Builder
	if err := results.Summarize([]*results.Document{d}).WriteTable(&text, 120); err != nil || !strings.Contains(text.String(), "PARTIAL") {
		t.Errorf("%v, a table without PARTIAL:\n%s", err, text.String())
	}
}
