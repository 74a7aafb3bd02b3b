package doubts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
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
		{"workers apart", func(d *results.Document) { d.Window.Apart = d.Window.Length()/50 + 1 }, 0, 1},
		{"herds guessed", func(d *results.Document) { d.Herd.Grouping = "path and time" }, 0, 1},
		{"herds not whole", func(d *results.Document) { d.Herd.Ungrouped = 1 }, 0, 1},
		{"a count unlike its formula is true", costs(results.LockstepMode, 24.52), 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := sound()
			tt.flaw(d)
			invalid, warnings := doubts.Invalid(d), doubts.Warnings(d)
			if len(invalid) != tt.invalid || len(warnings) != tt.warnings {
				t.Errorf("invalid %q, warnings %q; want %d and %d", invalid, warnings, tt.invalid, tt.warnings)
			}
		})
	}
}

// The reason why herds are guessed names the product and the version of the servers.
func TestGuessedHerdsNameTheServers(t *testing.T) {
	for want, e := range map[string]results.Environment{
		"notifications of ZooKeeper 3.8.0 do not name":               {ZooKeeper: "3.8.0"},
		"notifications of ClickHouse Keeper 26.7 do not name":        {Product: "ClickHouse Keeper", ZooKeeper: "26.7"},
		"notifications of servers of an unknown version do not name": {},
	} {
		d := &results.Document{Environment: e, Window: results.Window{Operations: 1}, Oracle: results.Oracle{Checked: true}}
		d.Herd.Grouping = results.GroupedByPathAndTime
		if got := doubts.Warnings(d); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
}

// A count deviates if it differs from an exact formula in either direction, or is above a bound.
func TestDeviations(t *testing.T) {
	for _, tt := range []struct {
		name string
		of   func(*results.Document)
		want string
	}{
		{"exact", costs(results.LockstepMode, 24.5), ""},
		{"one too many in 50 operations", costs(results.LockstepMode, 24.52), "notifications/op is 24.52, not 24.5 by its formula, (N-1)/2"},
		{"one too few", costs(results.LockstepMode, 24.48), "notifications/op is 24.48, not 24.5 by its formula, (N-1)/2"},
		{"below a bound", costs(results.ClosedMode, 3), ""},
		{"a bound, give or take the operations that the window cuts", costs(results.ClosedMode, 25.4), ""},
		{"over a bound", costs(results.ClosedMode, 30), "notifications/op is 30, over the bound of 24.5 by its formula, (N-1)/2"},
		{"with faults", func(d *results.Document) {
			costs(results.ClosedMode, 30)(d)
			d.Scenario.Faults = []results.FaultLoad{{Kind: results.StopFault}}
		}, ""},
	} {
		d := &results.Document{Metrics: map[string]results.Metric{}}
		tt.of(d)
		got := ""
		for _, v := range doubts.Deviations(d) {
			got += v.String()
		}
		if got != tt.want || doubts.EqualsFormulas(d) != (tt.name == "exact") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// An exact count is certain if each repeat has it, and an oracle confirms it. A bound is exceeded by one repeat.
func TestDisturbed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		exact bool
		spoil func(second *results.Document)
		want  string // a part; empty if it is certain
	}{
		{"equal repeats", true, func(*results.Document) {}, ""},
		{"repeats that differ", true, func(d *results.Document) { d.Metrics[metric.RequestsPerOp] = results.Metric{Value: 7} }, "it is 6 in repeat 1 and 7 in repeat 2"},
		{"repeats of a bound", false, func(d *results.Document) { d.Metrics[metric.RequestsPerOp] = results.Metric{Value: 7} }, ""},
		{"an invalid repeat", true, func(d *results.Document) { d.Invalid = []string{"the leader changed"} }, "repeat 2 was disturbed: the leader changed"},
		{"an invalid repeat of a bound", false, func(d *results.Document) { d.Invalid = []string{"the leader changed"} }, "repeat 2 was disturbed"},
		{"no oracle", true, func(d *results.Document) { d.Oracle = results.Oracle{Why: "shared"} }, "no second oracle confirms repeat 2: shared"},
		{"an oracle in doubt", true, func(d *results.Document) { d.Oracle.UnknownTransactions = 1 }, "no second oracle"},
		{"no oracle of a bound", false, func(d *results.Document) { d.Oracle = results.Oracle{Why: "shared"} }, ""},
	} {
		var repeats []*results.Document
		for i := range 2 {
			repeats = append(repeats, &results.Document{
				Repeat: i + 1, Window: results.Window{Operations: 10}, Oracle: results.Oracle{Checked: true},
				Metrics: map[string]results.Metric{metric.RequestsPerOp: {Value: 6}},
			})
		}
		tt.spoil(repeats[1])
		if got := doubts.Disturbed(repeats, metric.RequestsPerOp, tt.exact, doubts.Repeat); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// costs gives a document of 50 operations a number of notifications, of which a formula says that it is 24.5.
func costs(mode results.Mode, measured float64) func(*results.Document) {
	return func(d *results.Document) {
		d.Clients, d.Batch, d.Scenario.Mode, d.Window.Operations = 1, 1, mode, 50
		d.Expected.Costs = map[string]results.Cost{metric.NotificationsPerOp: {Formula: "(N-1)/2", Value: 24.5}}
		d.Metrics[metric.NotificationsPerOp] = results.Metric{Value: measured}
	}
}

// The doubts that a document lists are not used: missing ones are added, and others stay.
func TestVoid(t *testing.T) {
	d := &results.Document{Window: results.Window{Operations: 10}, Invalid: []string{"a reason", "the leader changed, or there was none"}}
	d.Health.LeaderChanged, d.Health.Reconnects = true, 2
	want := append(slices.Clone(d.Invalid), "2 times a session had to reconnect")
	if got := doubts.Void(d); !slices.Equal(got, want) || len(d.Invalid) != 2 {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The gravest of several marks is returned, whichever repeat has it.
func TestMark(t *testing.T) {
	marks := []struct {
		word string
		set  func(d *results.Document)
	}{
		{"DEVIATES", costs(results.LockstepMode, 30)},
		{"unfinished", func(d *results.Document) { d.Unfinished = &results.Unfinished{} }},
		{"known broken", func(d *results.Document) { d.KnownBroken = "two may hold" }},
		{"PARTIAL", func(d *results.Document) { d.Partial = true }},
		{"INVALID", func(d *results.Document) { d.Invalid = []string{"i"} }},
		{"BROKEN", func(d *results.Document) { d.Violations = []results.Violation{{}} }},
	}
	repeats := []*results.Document{{Variant: "a", Metrics: map[string]results.Metric{}}, {Variant: "a", Metrics: map[string]results.Metric{}}}
	if got := doubts.Mark(repeats); got != "" {
		t.Errorf("sound repeats are marked %q", got)
	}
	for i, m := range marks {
		m.set(repeats[i%2])
		if got := doubts.Mark(repeats); got != m.word {
			t.Errorf("marked %q, want %q", got, m.word)
		}
	}
	expected := results.Document{Variant: "a", KnownBroken: "two may hold", Violations: []results.Violation{{}}, Scenario: results.Scenario{Broken: []string{"a"}}}
	if got := doubts.Mark([]*results.Document{&expected}); got != "known broken" {
		t.Errorf("a breach that the scenario expects is marked %q", got)
	}
}

// One worker that is slow, or far from the servers, is named; workers of which two are slow are a matter of the setup.
func TestSlowWorker(t *testing.T) {
	for _, tt := range []struct {
		reads []time.Duration // of each worker; 0 for one that did not measure its floor
		want  string
	}{
		{nil, ""},
		{[]time.Duration{9 * ms}, ""},
		{[]time.Duration{ms, 4 * ms, ms}, "worker 2 on host1 is slow"},
		{[]time.Duration{4 * ms, 4 * ms, ms}, ""},
		{[]time.Duration{ms, 2 * ms, ms}, ""},
		{[]time.Duration{4 * ms, 0}, ""},
	} {
		d := &results.Document{Window: results.Window{Operations: 1}, Oracle: results.Oracle{Checked: true}}
		for i, read := range tt.reads {
			w := results.Worker{Host: fmt.Sprintf("host%d", i)}
			if read > 0 {
				h := results.NewHistogram([]time.Duration{read})
				w.Floor = &results.Floor{Before: map[string]results.Histogram{results.FloorRead: h}}
			}
			d.Workers = append(d.Workers, w)
		}
		if got := strings.Join(doubts.Warnings(d), "; "); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("reads of %v: %q, want %q", tt.reads, got, tt.want)
		}
	}
}
