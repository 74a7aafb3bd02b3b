package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/summary"
)

// faultyRun returns a document of a closed load of 5 s with three faults, of which the first is undone after 2 s. The client
// that completes an operation every 100 ms is the victim of the last one, from which no other recovers.
func faultyRun(t *testing.T) *results.Document {
	t.Helper()
	d := recordertest.Described()
	d.Scenario.Mode, d.Scenario.Duration = results.ClosedMode, 5*time.Second
	d.Scenario.Faults = []results.FaultLoad{{Kind: "kill", Whom: "leader", At: time.Second, For: 2 * time.Second}, {Kind: "expire", Whom: "holder", At: 2 * time.Second, Every: 2 * time.Second}}
	m := releases(time.Second, 6*time.Second)
	for _, s := range m.Spans {
		m.Notifications = append(m.Notifications, recordertest.Note(s.End, 0, int64(s.End)))
	}
	d.Counts.BytesIn = 1000
	m.Traffic = map[time.Duration]recorder.Traffic{
		time.Second: {}, 2 * time.Second: {Requests: 5, BytesIn: 100},
		3 * time.Second: {Requests: 9, BytesIn: 500}, 6 * time.Second: {Requests: 14, BytesIn: 1000},
	}
	d.Oracle.ClientNotifications, d.Oracle.ServerNotifications = int64(len(m.Notifications)), int64(len(m.Notifications))
	m.Config = recorder.Config{WindowLength: 5 * time.Second, Faulty: true, Losses: []string{metric.Orphans, metric.Blocked, "fenced"}}
	m.Faults = []recordertest.Fault{
		{Kind: "kill", Target: "zoo2", Start: 2*time.Second + ms, End: 4 * time.Second},
		{Kind: "expire", Target: "holder", Victims: []int{4, 1}, Start: 3*time.Second + 50*ms},
		{Kind: "expire", Target: "holder", Victims: []int{0}, Start: 5*time.Second + 50*ms},
	}
	m.Failed, m.Missed = []time.Duration{3 * time.Second}, []time.Duration{4 * time.Second}
	m.Rejoined, m.Damage = []time.Duration{4 * time.Second}, map[string]int64{metric.Orphans: 2, "fenced": 1, metric.Blocked: int64(time.Second)}
	m.Complete(d)
	return d
}

func TestFailureMetrics(t *testing.T) {
	d := faultyRun(t)
	recordertest.Sound(t, d)
	text := must.Get(store.Seal(d))(t)
	if again := must.Get(store.Seal(must.Get(store.Decode(text))(t)))(t); !bytes.Equal(text, again) {
		t.Errorf("read back as %s, want %s", again, text)
	}
	ops := float64(d.Window.Operations)
	for metric, want := range map[string]results.Metric{
		metric.RecoveryMax:           {Value: float64(950 * ms), Unit: "ns"}, // no recovery from the last one until the load ended
		metric.Unavailable:           {Value: float64(100 * ms), Unit: "ns"},
		metric.FailedOperationsPerOp: {Value: 1 / ops, Unit: "per op"},
		metric.RequestsPeak:          {Value: 5, Unit: "requests in a second"},
		metric.BytesPeak:             {Value: 400, Unit: "bytes in a second"},
		metric.Orphans:               {Value: 2, Unit: "znodes"},
		metric.Blocked:               {Value: 1e9, Unit: "ns"},
		metric.FencedPerOp:           {Value: 1 / ops, Unit: "per op"},
	} {
		if d.Metrics[metric] != want {
			t.Errorf("%s is %v, want %v", metric, d.Metrics[metric], want)
		}
	}
	if p50 := time.Duration(d.Metrics[metric.RecoveryP50].Value).Round(ms); p50 != 99*ms {
		t.Errorf("the median of 50 ms, 99 ms and none is %s", p50)
	}
	names := metric.Names(d.Phases, nil, []string{metric.Orphans, metric.Blocked, "fenced"})
	for name := range d.Metrics {
		if !slices.Contains(names, name) && metric.Named(name).Operation == "" {
			t.Errorf("%s is none of the metrics of the recipe", name)
		}
	}
	for _, name := range metric.OfFaults() {
		m := metric.Named(name)
		if _, there := recordertest.Whole().Metrics[name]; there || m.Kind == metric.KindShare || m.Worse != metric.MoreIsWorse {
			t.Errorf("%s: without faults: %t, described as %+v", name, there, m)
		}
	}
	requests, received := metric.Named(metric.RequestsPeak).Format(1234), metric.Named(metric.BytesPeak).Format(7_575_279)
	if requests != "1234" || received != "7.58 MB" {
		t.Errorf("peaks are shown as %s and %s", requests, received)
	}
}

// Faults without a recovery never make the recovery look better.
func TestUnrecoveredFaultsAreTheLongest(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		recovered            []time.Duration
		unrecovered          int64
		waited, p50, longest time.Duration
	}{
		{"one short wait", []time.Duration{ms, 3 * ms}, 1, 2 * time.Microsecond, 3 * ms, 3 * ms},
		{"one long wait", []time.Duration{ms, 3 * ms}, 1, time.Second, 3 * ms, time.Second},
		{"most without", []time.Duration{ms}, 2, time.Second, time.Second, time.Second},
		{"half without", []time.Duration{ms, 2 * ms}, 2, time.Second, 2 * ms, time.Second},
		{"none with", nil, 2, time.Second, time.Second, time.Second},
		{"all with", []time.Duration{ms, 2 * ms, 3 * ms}, 0, 0, 2 * ms, 3 * ms},
	} {
		recovery := results.NewHistogram(tt.recovered)
		d := &results.Document{Failure: &results.Failure{Recovery: recovery, Unrecovered: tt.unrecovered, LongestUnrecovered: tt.waited}}
		metrics := metric.Compute(d)
		near := func(metric string, want time.Duration) bool {
			return time.Duration(metrics[metric].Value).Round(100*time.Microsecond) == want
		}
		if !near(metric.RecoveryP50, tt.p50) || !near(metric.RecoveryMax, tt.longest) || metric.AtLeast(d, metric.RecoveryMax) != (tt.unrecovered > 0) {
			t.Errorf("%s: p50 %v, max %v", tt.name, metrics[metric.RecoveryP50], metrics[metric.RecoveryMax])
		}
	}
	metrics := metric.Compute(&results.Document{Failure: &results.Failure{}})
	if _, there := metrics[metric.RecoveryMax]; there {
		t.Errorf("without faults: %v", metrics)
	}
}

// Outages that a schedule explains are warnings, and all others make the measurement invalid.
func TestOutages(t *testing.T) {
	outages := []struct {
		name   string
		happen func(d *results.Document)
		by     string // the kinds of faults that explain it
	}{
		{"sessions were lost", func(d *results.Document) { d.Health.SessionsLost = 2 }, "kill pause partition expire stop"},
		{"had to reconnect", func(d *results.Document) { d.Health.Reconnects = 2 }, "kill pause partition expire stop cut"},
		{"the leader changed", func(d *results.Document) { d.Health.LeaderChanged = true }, "kill pause partition"},
		{"reads by bystanders failed", func(d *results.Document) { d.Health.BystanderErrors = 1 }, "kill pause partition"},
		{"zoo1 restarted", func(d *results.Document) { d.Servers = []results.ServerReport{{Name: "zoo1", Restarted: true}} }, "kill pause partition"},
		{"could not match 1 replies", func(d *results.Document) { d.Health.UnmatchedReplies = 1 }, ""},
	}
	for _, kind := range []results.FaultKind{"kill", "pause", "partition", "expire", "cut", "stop", "deaf"} {
		for _, o := range outages {
			d := &results.Document{
				Scenario: results.Scenario{Faults: []results.FaultLoad{{Kind: kind, Whom: "any", At: time.Second}}}, Window: results.Window{Operations: 1},
				Failure: &results.Failure{Faults: make([]results.Fault, 1)}, Oracle: results.Oracle{Checked: true},
			}
			o.happen(d)
			invalid, warnings := doubts.Invalid(d), doubts.Warnings(d)
			explained := slices.Contains(strings.Fields(o.by), string(kind))
			said := strings.Join(invalid, "; ")
			if explained {
				said = strings.Join(warnings, "; ")
			}
			if (len(invalid) == 0) != explained || !strings.Contains(said, o.name) {
				t.Errorf("%s with %s: invalid %q, warnings %q", o.name, kind, invalid, warnings)
			}
		}
	}
}

func TestFindingsOfFaults(t *testing.T) {
	for _, tt := range []struct {
		name          string
		change        func(d *results.Document)
		invalid, warn string
	}{
		{"unrecovered", func(*results.Document) {}, "", "after 1 fault no other client completed"},
		{"missed", func(*results.Document) {}, "", "1 fault met no victim"},
		{"counts over the formulas", func(d *results.Document) { d.Expected.Costs[metric.WritesPerOp] = results.Cost{} }, "", "!bound"},
		{"a stall after a fault", func(d *results.Document) { d.Stalls = []results.Stall{{Length: time.Hour, AfterFault: true}} }, "", "!no operation completed for"},
		{"a stall before it", func(d *results.Document) { d.Stalls = []results.Stall{{Length: time.Hour}} }, "", "no operation completed for 1h"},
		{"a server that is away", func(d *results.Document) { d.Servers = []results.ServerReport{{Name: "zoo1", Unread: "refused"}} }, "", "!did not answer"},
		{"no fault", func(d *results.Document) { d.Failure.Faults = nil }, "no fault happened in the window: 1 met no victim", ""},
		{"a recovery of more than an hour", func(d *results.Document) { d.Failure.Recovery.Dropped = 1 }, "1 recoveries took over an hour", ""},
	} {
		d := faultyRun(t)
		tt.change(d)
		invalid, warnings := strings.Join(doubts.Invalid(d), "; "), strings.Join(doubts.Warnings(d), "; ")
		absent, not := strings.CutPrefix(tt.warn, "!")
		if (invalid == "") != (tt.invalid == "") || !strings.Contains(invalid, tt.invalid) || strings.Contains(warnings, absent) == not {
			t.Errorf("%s: invalid %q, warnings %q", tt.name, invalid, warnings)
		}
	}
}

// Losses without faults are a metric, too, and no other part of a failure is.
func TestLossesWithoutFaults(t *testing.T) {
	d := recordertest.Whole()
	m := releases(0, time.Second)
	m.Config = recorder.Config{Losses: []string{metric.TornReads, metric.Orphans}}
	m.Damage = map[string]int64{metric.TornReads: 3}
	m.Complete(d)
	for metric, want := range map[string]float64{metric.TornReads: 3, metric.Orphans: 0} {
		if got, there := d.Metrics[metric]; !there || got.Value != want || d.Losses[metric] != int64(want) {
			t.Errorf("%s is %v, want %v; losses %v", metric, got, want, d.Losses)
		}
	}
	if _, there := d.Metrics[metric.Unavailable]; there || d.Failure != nil {
		t.Errorf("without faults: failure %+v, metrics %v", d.Failure, d.Metrics)
	}
	if text := shown(t, summary.Of([]*results.Document{d}), 200); !strings.Contains(text, "torn") {
		t.Errorf("no column of torn reads in\n%s", text)
	}
}

// Losses of one repeat of three are in the table.
func TestLossesOfRepeats(t *testing.T) {
	var docs []*results.Document
	for i, lost := range []float64{0, 2, 0} {
		docs = append(docs, document("a", "naive", 1, i+1, map[string]float64{metric.ItemsLost: lost, metric.Blocked: lost, metric.Unavailable: lost}))
	}
	all := metric.Aggregate(docs)
	if all[metric.ItemsLost].Value != 2 || all[metric.Blocked].Value != 2 || all[metric.Unavailable].Value != 0 {
		t.Errorf("%v", all)
	}
}

func TestTableOfFaults(t *testing.T) {
	metrics := func(f float64) map[string]float64 {
		return map[string]float64{
			"ops/s": 200 / f, "acquire-p50-ns": 1e7 * f, "acquire-p99-ns": 4e9 * f, "notifications/op": 1 * f, "requests/op": 5, "herd-max": 49, "bystander-p99-ns": 8e5,
			metric.RecoveryMax: 4e9 * f, metric.RecoveryP50: 2e9 * f, metric.Unavailable: 4.1e9 * f, metric.FailedOperationsPerOp: 0.01 * f,
			metric.Orphans: 0, metric.Blocked: 4e9, metric.FencedPerOp: 0.002, metric.Violations: 0,
			metric.RequestsPeak: 12_345 * f, metric.BytesPeak: 2_345_678 * f,
		}
	}
	docs := []*results.Document{
		document("children-watch", "naive", 50, 1, metrics(3)),
		document("predecessor-watch", "optimized", 50, 1, metrics(1)),
		document("predecessor-watch", "optimized", 50, 1, metrics(0.5)),
	}
	for _, d := range docs[:2] {
		d.Scenario.Faults, d.Failure = []results.FaultLoad{{Kind: "stop", Whom: "holder", At: 2 * time.Second, Every: 8 * time.Second}, {Kind: "kill", Whom: "leader", At: 5 * time.Second, For: 3 * time.Second}}, &results.Failure{}
	}
	docs[0].Failure.Unrecovered = 1
	docs[2].Scenario.Faults = []results.FaultLoad{{Kind: "expire", Whom: "any", At: time.Second}}
	compareTables(t, "table-faults", docs, 80, 200, 240)
}
