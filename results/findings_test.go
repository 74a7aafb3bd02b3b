package results_test

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
)

// A measurement without a flaw passes; each flaw alone makes it invalid, or adds a warning.
func TestFindings(t *testing.T) {
	sound := func() *results.Document {
		return &results.Document{
			Window:  results.Window{Operations: 10},
			Oracle:  results.Oracle{Checked: true, ClientNotifications: 5, ServerNotifications: 5},
			Metrics: map[string]results.Metric{"bystander-p99-ns": {Value: 1e6}},
		}
	}
	for _, tt := range []struct {
		name              string
		flaw              func(*results.Document)
		invalid, warnings int
	}{
		{"sound", func(*results.Document) {}, 0, 0},
		{"nothing done", func(d *results.Document) { d.Window.Operations = 0 }, 1, 0},
		{"oracles disagree", func(d *results.Document) { d.Oracle.ServerNotifications++ }, 1, 0},
		{"a write too many", func(d *results.Document) { d.Oracle.ServerTransactions++ }, 1, 0},
		{"a notification lost with a connection", func(d *results.Document) { d.Oracle.ServerNotifications++; d.Oracle.LostNotifications++ }, 0, 0},
		{"one that may have been lost", func(d *results.Document) { d.Oracle.ServerNotifications++; d.Oracle.UnknownNotifications = 2 }, 0, 0},
		{"a notification that nothing sent", func(d *results.Document) { d.Oracle.ServerNotifications--; d.Oracle.UnknownNotifications = 2 }, 1, 0},
		{"sessions were opened and ended", func(d *results.Document) { d.Oracle.ServerTransactions += 2; d.Oracle.SessionTransactions = 2 }, 0, 0},
		{"a write that had no effect", func(d *results.Document) { d.Oracle.ClientWrites++; d.Oracle.UnknownTransactions = 1 }, 0, 0},
		{"a write too many, one in doubt", func(d *results.Document) { d.Oracle.ServerTransactions++; d.Oracle.UnknownTransactions = 1 }, 1, 0},
		{"no oracle", func(d *results.Document) { d.Oracle = results.Oracle{Why: "shared"} }, 0, 1},
		{"session lost", func(d *results.Document) { d.Health.SessionsLost = 1 }, 1, 0},
		{"reconnected", func(d *results.Document) { d.Health.Reconnects = 1 }, 1, 0},
		{"decoder lost the thread", func(d *results.Document) { d.Health.UnmatchedReplies = 1 }, 1, 0},
		{"new leader", func(d *results.Document) { d.Health.LeaderChanged = true }, 1, 0},
		{"saturated client", func(d *results.Document) { d.Health.ClientCPU = 0.9 }, 0, 1},
		{"saturated machine", func(d *results.Document) { d.Health.MachineCPU = 0.99 }, 0, 1},
		{"throttled", func(d *results.Document) { d.Health.Throttled = 1 }, 0, 1},
		{"late by itself", func(d *results.Document) { d.Health.LatenessP99 = 300 * time.Microsecond }, 0, 1},
		{"herds guessed", func(d *results.Document) { d.Herd.Grouping = "path and time" }, 0, 1},
		{"herds not whole", func(d *results.Document) { d.Herd.Ungrouped = 1 }, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := sound()
			tt.flaw(d)
			f := d.Findings()
			if len(f.Invalid) != tt.invalid || len(f.Warnings) != tt.warnings {
				t.Errorf("invalid %q, warnings %q; want %d and %d", f.Invalid, f.Warnings, tt.invalid, tt.warnings)
			}
		})
	}
}

// The document's own opinion is neither asked nor repeated: what it leaves out is added, what it says stays.
func TestVoid(t *testing.T) {
	d := &results.Document{Window: results.Window{Operations: 10}, Invalid: []string{"a reason", "the leader changed, or there was none"}}
	d.Health.LeaderChanged, d.Health.Reconnects = true, 2
	want := append(slices.Clone(d.Invalid), "2 times a session had to reconnect")
	if got := d.Void(); !slices.Equal(got, want) || len(d.Invalid) != 2 {
		t.Errorf("got %q, want %q", got, want)
	}
}
