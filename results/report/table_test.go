package report_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

// Rows of two engines alternate in the order of tables, and stand in two tables all the same.
func TestOneTableForEachEngine(t *testing.T) {
	var rows []summary.Row
	for _, clients := range []int{1, 10} {
		for _, engine := range []string{"container", "process"} {
			rows = append(rows, summary.Of([]*results.Document{{
				Scenario: results.Scenario{Name: "s"}, Recipe: "lock", Variant: "znode", Clients: clients,
				Environment: results.Environment{Engine: engine},
			}})...)
		}
	}
	if text := shown(t, rows, 80); strings.Count(text, "s on ") != 2 {
		t.Errorf("want 2 tables:\n%s", text)
	}
}

const ms = time.Millisecond

func document(variant, kind string, clients, repeat int, metrics map[string]float64) *results.Document {
	d := &results.Document{
		Schema: results.Schema, Recipe: "lock", Variant: variant, Kind: kind, Phases: []string{"handoff", "acquire"}, Clients: clients, Repeat: repeat,
		Scenario:    results.Scenario{Name: "lock-contention", Size: 1},
		Environment: results.Environment{Engine: "container"},
		Metrics:     map[string]results.Metric{},
	}
	for name, v := range metrics {
		d.Metrics[name] = results.Metric{Value: v, Unit: "unit of " + name}
	}
	return d
}

func TestSummarize(t *testing.T) {
	docs := []*results.Document{
		document("b", "optimized", 10, 1, map[string]float64{"ops/s": 5}),
		document("a", "naive", 10, 2, map[string]float64{"ops/s": 1, "violations": 1}),
		document("a", "naive", 10, 1, map[string]float64{"ops/s": 9, "violations": 0}),
		document("a", "naive", 2, 1, map[string]float64{"ops/s": 7}),
		document("a", "naive", 10, 3, map[string]float64{"ops/s": 2, "violations": 1}),
	}
	docs[1].Warnings, docs[2].Warnings, docs[4].Invalid = []string{"w"}, []string{"w"}, []string{"i"}
	rows := summary.Of(docs)
	var order []string
	for _, r := range rows {
		order = append(order, r.Variant)
	}
	if strings.Join(order, "") != "aab" || rows[0].Clients != 2 {
		t.Fatalf("rows = %+v", rows)
	}
	row := rows[1]
	if got, want := row.Metrics["ops/s"], (metric.Aggregated{Value: 2, Min: 1, Max: 9}); got != want {
		t.Errorf("ops/s = %+v, want %+v", got, want)
	}
	if got := row.Metrics["violations"].Value; got != 2 {
		t.Errorf("violations = %g; a breach in two repeats of three is two, not their median", got)
	}
	if len(row.Repeats) != 3 || strings.Join(row.Warnings, ",") != "w,invalid: i" || row.Mark != "INVALID" {
		t.Errorf("repeats %d, warnings %q; want 3 and each once", len(row.Repeats), row.Warnings)
	}
}

func TestTable(t *testing.T) {
	metrics := func(f float64) map[string]float64 {
		return map[string]float64{
			"ops/s": 500 * f, "acquire-p50-ns": 1.2e6 / f, "acquire-p99-ns": 44e6 / f, "handoff-p50-ns": 2e6 / f, "handoff-p99-ns": 3e9,
			"notifications/op": 1 / f, "spurious-wakeups/op": 0, "requests/op": 5, "failed-writes/op": 0.33, "herd-max": 49, "bystander-p99-ns": 8e5,
			"handoff-p50/floor": 1.6 / f, "release-p50/floor": 1.1, "floor-read-p50-ns": 2e5, "floor-write-p50-ns": 1.1e6, "floor-handoff-p50-ns": 1.25e6 / f,
		}
	}
	alone := metrics(1)
	delete(alone, "handoff-p50-ns")
	delete(alone, "handoff-p50/floor")
	docs := []*results.Document{
		document("predecessor-watch", "optimized", 1, 1, alone),
		document("children-watch", "naive", 50, 1, metrics(0.25)),
		document("predecessor-watch", "optimized", 50, 1, metrics(1)),
	}
	compareTables(t, "table", docs, 80, 120, 200)
}

// compareTables compares the tables for several widths, into which they must fit, with golden files.
func compareTables(t *testing.T, name string, docs []*results.Document, widths ...int) {
	t.Helper()
	for _, width := range widths {
		text := shown(t, summary.Of(docs), width)
		if n := table.Width(text); n > width {
			t.Errorf("a line of %d columns in a table for %d", n, width)
		}
		golden.Compare(t, filepath.Join("testdata", fmt.Sprintf("%s-%d.txt", name, width)), []byte(text))
	}
}

func shown(t *testing.T, rows []summary.Row, width int) string {
	t.Helper()
	var out strings.Builder
	report.WriteTable(&out, rows, width)
	return out.String()
}

// Measurements of different sizes share neither a row nor a table.
func TestSizesAreKeptApart(t *testing.T) {
	docs := []*results.Document{
		document("a", "naive", 10, 1, map[string]float64{"ops/s": 5}),
		document("a", "naive", 10, 1, map[string]float64{"ops/s": 5}),
		document("a", "naive", 10, 2, map[string]float64{"ops/s": 5}),
	}
	docs[0].Scenario.Size, docs[1].Scenario.Size, docs[2].Scenario.Size = 1000, 1, 1
	rows := summary.Of(docs)
	if len(rows) != 2 || len(rows[0].Repeats) != 2 || rows[0].Size != 1 || rows[1].Size != 1000 {
		t.Fatalf("rows = %+v, want one of size 1 with two repeats and one of size 1000", rows)
	}
	if text := shown(t, rows, 80); strings.Count(text, "median of") != 2 || strings.Count(text, "size 1000, median of 1 repeat\n") != 1 {
		t.Errorf("the tables do not tell the sizes apart:\n%s", text)
	}
}

func TestVerdict(t *testing.T) {
	docs := []*results.Document{
		document("a", "naive", 1, 1, nil), document("a", "naive", 10, 1, nil), document("b", "optimized", 10, 1, nil),
	}
	docs[0].Oracle = results.Oracle{Checked: true, ClientNotifications: 3, ServerNotifications: 3, ClientWrites: 5, ServerTransactions: 5}
	docs[1].Oracle = results.Oracle{Checked: true, ClientNotifications: 3, ServerNotifications: 4}
	docs[1].Invalid = []string{"clients received 3 notifications, servers sent 4: -1"}
	docs[0].Warnings, docs[1].Warnings = []string{"busy"}, []string{"busy"}
	compareVerdict(t, "verdict-invalid.txt", docs)
	docs[2].Violations = []results.Violation{{At: 3 * ms, Text: "client 1 acquired the lock while client 0 held it"}}
	compareVerdict(t, "verdict-broken.txt", docs)
	docs[2].KnownBroken, docs[2].Scenario.Broken, docs[2].Scenario.Duration = "two clients may hold the lock", []string{"b"}, time.Second
	docs[2].Unfinished = &results.Unfinished{Breach: "stuck after", Requests: 20, Notifications: 5}
	compareVerdict(t, "verdict-known-broken.txt", docs)
}

func compareVerdict(t *testing.T, name string, docs []*results.Document) {
	t.Helper()
	var out bytes.Buffer
	report.WriteVerdict(&out, docs)
	golden.Compare(t, filepath.Join("testdata", name), out.Bytes())
}

// A percentile of too few samples has a mark, which a line below the table explains.
func TestRoughPercentiles(t *testing.T) {
	for samples, want := range map[int]bool{99: true, 100: false} {
		d := recordertest.Described()
		d.Scenario.Mode, d.Histograms = results.ClosedMode, map[string]results.Histogram{
			d.Phases[0]: results.NewHistogram(slices.Repeat([]time.Duration{time.Millisecond}, samples)),
		}
		d.Metrics = metric.Compute(d)
		var text strings.Builder
		report.WriteTable(&text, summary.Of([]*results.Document{d}), 200)
		if got := strings.Contains(text.String(), "1.00 ms?") && strings.Contains(text.String(), "?: too few samples"); got != want {
			t.Errorf("%d samples: marked %t in\n%s", samples, got, text.String())
		}
	}
}

// A narrow table keeps the columns that the scenario asks about, and marks a row with warnings.
func TestAskedColumnsAndWarnedRows(t *testing.T) {
	d := document("znode", "naive", 10, 1, map[string]float64{
		"ops/s": 5, "acquire-p50-ns": 1e6, "acquire-p99-ns": 2e6, "handoff-p50-ns": 1e6, "handoff-p99-ns": 2e6, "bystander-p99-ns": 1e6,
		"notifications/op": 1, "requests/op": 5, "herd-max": 9, "failed-writes/op": 1,
	})
	d.Scenario.Asks, d.Warnings = []string{"acquire-p99-ns"}, []string{"busy"}
	text := shown(t, summary.Of([]*results.Document{d}), 80)
	for _, want := range []string{"acquire p99", "notif/op", "req/op", "lock/znode *", "*: measured with a warning"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "bystander p99") {
		t.Errorf("a column that is not asked about is kept:\n%s", text)
	}
}

// releases returns a measurement in which one client completes an operation every 100 ms of a window.
func releases(start, end time.Duration) recordertest.Measurement {
	m := recordertest.Measurement{Config: recorder.Config{WindowLength: end - start}, Window: recordertest.Stretch{Start: start, End: end}}
	for at := start; at <= end; at += 100 * ms {
		m.Spans = append(m.Spans, recordertest.Span{Phase: "release", Start: at, End: at})
	}
	return m
}
