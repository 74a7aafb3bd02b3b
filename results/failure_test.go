package results_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

// faultyRun returns a document of a closed load of 5 s with three faults, of which the first is undone after 2 s. The client
// that completes an operation every 100 ms is the victim of the last one, from which no other recovers.
func faultyRun(t *testing.T) *results.Document {
	t.Helper()
	d := described()
	d.Scenario.Mode, d.Scenario.Duration = results.ClosedMode, 5*time.Second
	d.Scenario.Faults = []results.FaultLoad{{Kind: "kill", Whom: "leader", At: time.Second, For: 2 * time.Second}, {Kind: "expire", Whom: "holder", At: 2 * time.Second, Every: 2 * time.Second}}
	m := releases(time.Second, 6*time.Second)
	for _, s := range m.Spans {
		m.Notifications = append(m.Notifications, note(s.End, 0, int64(s.End)))
	}
	d.Counts.BytesIn = 1000
	m.Traffic = map[time.Duration]recorder.Traffic{
		time.Second: {}, 2 * time.Second: {Requests: 5, BytesIn: 100},
		3 * time.Second: {Requests: 9, BytesIn: 500}, 6 * time.Second: {Requests: 14, BytesIn: 1000},
	}
	d.Oracle.ClientNotifications, d.Oracle.ServerNotifications = int64(len(m.Notifications)), int64(len(m.Notifications))
	m.Config = recorder.Config{WindowLength: 5 * time.Second, Faulty: true, Losses: []string{results.Orphans, results.Blocked, "fenced"}, LongestLosses: []string{results.Blocked}}
	m.Faults = []recordertest.Fault{
		{Kind: "kill", Target: "zoo2", Start: 2*time.Second + ms, End: 4 * time.Second},
		{Kind: "expire", Target: "holder", Victims: []int{4, 1}, Start: 3*time.Second + 50*ms},
		{Kind: "expire", Target: "holder", Victims: []int{0}, Start: 5*time.Second + 50*ms},
	}
	m.Failed, m.Missed = []time.Duration{3 * time.Second}, []time.Duration{4 * time.Second}
	m.Rejoined, m.Damage = []time.Duration{4 * time.Second}, map[string]int64{results.Orphans: 2, "fenced": 1, results.Blocked: int64(time.Second)}
	m.Complete(t, d)
	return d
}

func TestFailureMetrics(t *testing.T) {
	d := faultyRun(t)
	sound(t, d)
	ops := float64(d.Window.Operations)
	for metric, want := range map[string]results.Metric{
		results.RecoveryMax:           {Value: float64(950 * ms), Unit: "ns"}, // no recovery from the last one until the load ended
		results.Unavailable:           {Value: float64(100 * ms), Unit: "ns"},
		results.FailedOperationsPerOp: {Value: 1 / ops, Unit: "per op"},
		results.RequestsPeak:          {Value: 5, Unit: "requests in a second"},
		results.BytesPeak:             {Value: 400, Unit: "bytes in a second"},
		results.Orphans:               {Value: 2, Unit: "znodes"},
		results.Blocked:               {Value: 1e9, Unit: "ns"},
		results.FencedPerOp:           {Value: 1 / ops, Unit: "per op"},
	} {
		if d.Metrics[metric] != want {
			t.Errorf("%s is %v, want %v", metric, d.Metrics[metric], want)
		}
	}
	if p50 := time.Duration(d.Metrics[results.RecoveryP50].Value).Round(ms); p50 != 99*ms {
		t.Errorf("the median of 50 ms, 99 ms and none is %s", p50)
	}
	names := results.MetricNames(d.Phases, nil, []string{results.Orphans, results.Blocked, "fenced"})
	for name := range d.Metrics {
		if !slices.Contains(names, name) {
			t.Errorf("%s is none of the metrics of the recipe", name)
		}
	}
	for _, name := range results.FailureMetrics() {
		m := results.MetricNamed(name)
		if _, there := whole(t).Metrics[name]; there || m.Kind == results.KindShare || m.Worse != results.MoreIsWorse {
			t.Errorf("%s: without faults: %t, described as %+v", name, there, m)
		}
	}
	requests, received := results.MetricNamed(results.RequestsPeak).Format(1234), results.MetricNamed(results.BytesPeak).Format(7_575_279)
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
		recovery, err := results.NewHistogram(tt.recovered)
		if err != nil {
			t.Fatal(err)
		}
		d := &results.Document{Failure: &results.Failure{Recovery: recovery, Unrecovered: tt.unrecovered, LongestUnrecovered: tt.waited}}
		metrics, err := d.ComputeMetrics()
		if err != nil {
			t.Fatal(err)
		}
		near := func(metric string, want time.Duration) bool {
			return time.Duration(metrics[metric].Value).Round(100*time.Microsecond) == want
		}
		if !near(results.RecoveryP50, tt.p50) || !near(results.RecoveryMax, tt.longest) || d.AtLeast(results.RecoveryMax) != (tt.unrecovered > 0) {
			t.Errorf("%s: p50 %v, max %v", tt.name, metrics[results.RecoveryP50], metrics[results.RecoveryMax])
		}
	}
	metrics, err := (&results.Document{Failure: &results.Failure{}}).ComputeMetrics()
	if _, there := metrics[results.RecoveryMax]; there || err != nil {
		t.Errorf("without faults: %v, %v", metrics, err)
	}
}

// What a schedule explains is a warning, and everything else makes the measurement invalid.
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
			f := d.Findings()
			explained := slices.Contains(strings.Fields(o.by), string(kind))
			said := strings.Join(f.Invalid, "; ")
			if explained {
				said = strings.Join(f.Warnings, "; ")
			}
			if (len(f.Invalid) == 0) != explained || !strings.Contains(said, o.name) {
				t.Errorf("%s with %s: invalid %q, warnings %q", o.name, kind, f.Invalid, f.Warnings)
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
		{"counts over the formulas", func(d *results.Document) { d.Expected.Costs[results.WritesPerOp] = results.Cost{} }, "", "!bound"},
		{"a stall after a fault", func(d *results.Document) { d.Stalls = []results.Stall{{Length: time.Hour, AfterFault: true}} }, "", "!no operation completed for"},
		{"a stall before it", func(d *results.Document) { d.Stalls = []results.Stall{{Length: time.Hour}} }, "", "no operation completed for 1h"},
		{"a server that is away", func(d *results.Document) { d.Servers = []results.ServerReport{{Name: "zoo1", Unread: "refused"}} }, "", "!did not answer"},
		{"no fault", func(d *results.Document) { d.Failure.Faults = nil }, "no fault happened in the window: 1 met no victim", ""},
		{"a recovery of more than an hour", func(d *results.Document) { d.Failure.Recovery.Dropped = 1 }, "1 recoveries took over an hour", ""},
	} {
		d := faultyRun(t)
		tt.change(d)
		f := d.Findings()
		invalid, warnings := strings.Join(f.Invalid, "; "), strings.Join(f.Warnings, "; ")
		absent, not := strings.CutPrefix(tt.warn, "!")
		if (invalid == "") != (tt.invalid == "") || !strings.Contains(invalid, tt.invalid) || strings.Contains(warnings, absent) == not {
			t.Errorf("%s: invalid %q, warnings %q", tt.name, invalid, warnings)
		}
	}
}

// What is lost without faults is a metric, too, and nothing else of a failure is.
func TestLossesWithoutFaults(t *testing.T) {
	d := whole(t)
	m := releases(0, time.Second)
	m.Config = recorder.Config{Losses: []string{results.TornReads, results.Orphans}}
	m.Damage = map[string]int64{results.TornReads: 3}
	m.Complete(t, d)
	for metric, want := range map[string]float64{results.TornReads: 3, results.Orphans: 0} {
		if got, there := d.Metrics[metric]; !there || got.Value != want || d.Losses[metric] != int64(want) {
			t.Errorf("%s is %v, want %v; losses %v", metric, got, want, d.Losses)
		}
	}
	if _, there := d.Metrics[results.Unavailable]; there || d.Failure != nil {
		t.Errorf("without faults: failure %+v, metrics %v", d.Failure, d.Metrics)
	}
	var out bytes.Buffer
	if err := results.Summarize([]*results.Document{d}).WriteTable(&out, 200); err != nil || !strings.Contains(out.String(), "torn") {
		t.Errorf("%v: no column of torn reads in\n%s", err, out.String())
	}
}

// A document with faults is read back as it was written.
func TestFailureIsKept(t *testing.T) {
	d := faultyRun(t)
	text, err := results.Seal(d)
	if err != nil {
		t.Fatal(err)
	}
	read, err := results.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := results.Seal(read)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("%v: %s, want %s", err, again, text)
	}
}

// Losses of one repeat of three are in the table.
func TestLossesOfRepeats(t *testing.T) {
	var docs []*results.Document
	for i, lost := range []float64{0, 2, 0} {
		docs = append(docs, document("a", "naive", 1, i+1, map[string]float64{results.ItemsLost: lost, results.Blocked: lost, results.Unavailable: lost}))
	}
	all := results.Aggregate(docs)
	if all[results.ItemsLost].Value != 2 || all[results.Blocked].Value != 2 || all[results.Unavailable].Value != 0 {
		t.Errorf("%v", all)
	}
}

func TestTableOfFaults(t *testing.T) {
	metrics := func(f float64) map[string]float64 {
		return map[string]float64{
			"ops/s": 200 / f, "acquire-p50-ns": 1e7 * f, "acquire-p99-ns": 4e9 * f, "notifications/op": 1 * f, "requests/op": 5, "herd-max": 49, "bystander-p99-ns": 8e5,
			results.RecoveryMax: 4e9 * f, results.RecoveryP50: 2e9 * f, results.Unavailable: 4.1e9 * f, results.FailedOperationsPerOp: 0.01 * f,
			results.Orphans: 0, results.Blocked: 4e9, results.FencedPerOp: 0.002, results.Violations: 0,
			results.RequestsPeak: 12_345 * f, results.BytesPeak: 2_345_678 * f,
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
	for width, name := range map[int]string{80: "table-faults-80.txt", 200: "table-faults-200.txt", 240: "table-faults-240.txt"} {
		var out bytes.Buffer
		if err := results.Summarize(docs).WriteTable(&out, width); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, filepath.Join("testdata", name), out.Bytes())
	}
}
