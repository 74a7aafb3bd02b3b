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
