package results_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/results/table"
)

const ms = time.Millisecond

// note is a notification in few words.
func note(at time.Duration, client int, zxid int64) results.Notification {
	return results.Notification{At: at, Client: client, Zxid: zxid, Type: "NodeDeleted", Path: "/lock"}
}

func TestHerdQuantile(t *testing.T) {
	h := results.Herd{Sizes: []results.SizeCount{{1, 98}, {50, 1}, {100, 1}}}
	for q, want := range map[float64]int{0.5: 1, 0.98: 1, 0.99: 50, 1: 100} {
		if got := h.Quantile(q); got != want {
			t.Errorf("quantile %g = %d, want %d", q, got, want)
		}
	}
}

// Merging histograms is what recording everything into one would have been.
func TestMergeHistogramsIsLossless(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var all []time.Duration
		var parts []results.Histogram
		for range 1 + random.IntN(5) {
			part := make([]time.Duration, random.IntN(200))
			for i := range part {
				part[i] = time.Duration(random.ExpFloat64() * float64(50*ms))
			}
			all = append(all, part...)
			h, err := results.NewHistogram(part)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, h)
		}
		want, err := results.NewHistogram(all)
		if err != nil {
			t.Fatal(err)
		}
		got, err := results.MergeHistograms(parts)
		if err != nil || got != want {
			t.Fatalf("merged %d samples differ from the same recorded at once (%v)", want.Samples, err)
		}
	}
}

func TestFindingsAgainstFormulas(t *testing.T) {
	for _, tt := range []struct {
		name              string
		exact             bool
		measured          float64
		invalid, warnings int
	}{
		{"exact", true, 24.5, 0, 0},
		{"one too many in 50 operations", true, 24.52, 1, 0},
		{"one too few", true, 24.48, 1, 0},
		{"below a bound", false, 3, 0, 0},
		{"a bound, give or take the operations that the window cuts", false, 25.4, 0, 0},
		{"over a bound", false, 30, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &results.Document{
				Clients:  1,
				Batch:    1,
				Window:   results.Window{Operations: 50},
				Expected: results.Expected{Exact: tt.exact, Costs: map[string]results.Cost{results.NotificationsPerOp: {Formula: "(N-1)/2", Value: 24.5}}},
				Metrics:  map[string]results.Metric{results.NotificationsPerOp: {Value: tt.measured}},
			}
			d.Oracle.Checked = true
			f := d.Findings()
			if len(f.Invalid) != tt.invalid || len(f.Warnings) != tt.warnings {
				t.Errorf("invalid %q, warnings %q; want %d and %d", f.Invalid, f.Warnings, tt.invalid, tt.warnings)
			}
		})
	}
}

// document is a result with the given metrics.
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
	s := results.Summarize(docs)
	var order []string
	for _, r := range s.Rows {
		order = append(order, r.Variant)
	}
	if strings.Join(order, "") != "aab" || s.Rows[0].Clients != 2 {
		t.Fatalf("rows = %+v", s.Rows)
	}
	row := s.Rows[1]
	if got, want := row.Metrics["ops/s"], (results.Aggregated{Value: 2, Unit: "unit of ops/s", Min: 1, Max: 9}); got != want {
		t.Errorf("ops/s = %+v, want %+v", got, want)
	}
	if got := row.Metrics["violations"].Value; got != 2 {
		t.Errorf("violations = %g; a breach in two repeats of three is two, not their median", got)
	}
	if row.Repeats != 3 || strings.Join(row.Warnings, ",") != "w,invalid: i" || row.Mark != "INVALID" {
		t.Errorf("repeats %d, warnings %q; want 3 and each once", row.Repeats, row.Warnings)
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
	for _, width := range []int{80, 120, 200} {
		var out bytes.Buffer
		if err := results.Summarize(docs).WriteTable(&out, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
				t.Errorf("a line of %d columns in a table for %d", n, width)
			}
		}
		golden.Compare(t, filepath.Join("testdata", "table-"+map[int]string{80: "80", 120: "120", 200: "200"}[width]+".txt"), out.Bytes())
	}
}

// Measurements of different sizes share neither a row nor a table.
func TestSizesAreKeptApart(t *testing.T) {
	docs := []*results.Document{
		document("a", "naive", 10, 1, map[string]float64{"ops/s": 5}),
		document("a", "naive", 10, 1, map[string]float64{"ops/s": 5}),
		document("a", "naive", 10, 2, map[string]float64{"ops/s": 5}),
	}
	docs[0].Scenario.Size, docs[1].Scenario.Size, docs[2].Scenario.Size = 1000, 1, 1
	s := results.Summarize(docs)
	if len(s.Rows) != 2 || s.Rows[0].Repeats != 2 || s.Rows[0].Size != 1 || s.Rows[1].Size != 1000 {
		t.Fatalf("rows = %+v, want one of size 1 with two repeats and one of size 1000", s.Rows)
	}
	var out bytes.Buffer
	if err := s.WriteTable(&out, 80); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "median of") != 2 || strings.Count(text, "size 1000, median of 1 repeat\n") != 1 {
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
	var kept bytes.Buffer
	results.WriteVerdict(&kept, docs)
	golden.Compare(t, filepath.Join("testdata", "verdict-invalid.txt"), kept.Bytes())
	docs[2].Violations = []results.Violation{{At: 3 * ms, Text: "client 1 acquired the lock while client 0 held it"}}
	var broken bytes.Buffer
	results.WriteVerdict(&broken, docs)
	golden.Compare(t, filepath.Join("testdata", "verdict-broken.txt"), broken.Bytes())
	docs[2].KnownBroken, docs[2].Scenario.Broken, docs[2].Scenario.Duration = "two clients may hold the lock", []string{"b"}, time.Second
	docs[2].Unfinished = &results.Unfinished{Breach: "stuck after", Requests: 20, Notifications: 5}
	var known bytes.Buffer
	results.WriteVerdict(&known, docs)
	golden.Compare(t, filepath.Join("testdata", "verdict-known-broken.txt"), known.Bytes())
}

// described returns the document of 10 clients in lockstep before their measurement is recorded.
func described() *results.Document {
	return &results.Document{
		Schema: results.Schema, Run: "r", Started: time.Unix(1, 0).UTC(), Recipe: "lock", Variant: "a", Kind: "naive", Clients: 10, Repeat: 2,
		Scenario:    results.Scenario{Name: "lock-drain", Mode: "lockstep", Size: 1, Clients: []int{1, 10}, Repeats: 3, BystanderRate: 100},
		Environment: results.Environment{Engine: "container", Servers: []string{"a:1"}, SessionTimeout: time.Second},
		Phases:      []string{"acquire", "release"}, Operation: "release", Batch: 1, Waiting: []string{"acquire"}, UntimedPhases: []string{"acquire"}, Shares: []results.Share{},
		Counts:   results.Counts{Requests: map[string]int64{"delete": 10, "exists": 4}, Failed: map[string]int64{"exists": 1}, TotalRequests: 14, TotalFailed: 1, Writes: 10},
		Expected: results.Expected{Costs: map[string]results.Cost{results.WritesPerOp: {Formula: "1", Value: 1}}},
		Oracle:   results.Oracle{Checked: true, ClientNotifications: 10, ServerNotifications: 10, ClientWrites: 10, ServerTransactions: 10},
		Warnings: []string{}, Invalid: []string{},
	}
}

// whole returns a document as a run leaves it: of 10 clients in lockstep, each notified once.
func whole(t testing.TB) *results.Document {
	t.Helper()
	d := described()
	m := recordertest.Measurement{Config: recorder.Config{Lockstep: true}, Window: recordertest.Stretch{Start: ms, End: 41 * ms}}
	for i := range 10 {
		at := time.Duration(4*i+2) * ms
		m.Spans = append(m.Spans, recordertest.Span{Phase: "release", Client: i, Start: at, End: at + ms})
		m.Notifications = append(m.Notifications, note(at, i, int64(i)+1))
		m.Reads = append(m.Reads, results.BystanderRead{At: at, Service: ms, Response: 2 * ms})
	}
	m.Complete(t, d)
	return d
}

func TestWriteAndRead(t *testing.T) {
	dir := t.TempDir()
	d := whole(t)
	if err := d.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := results.WriteJSON(filepath.Join(dir, "summary.json"), results.Summary{}); err != nil {
		t.Fatal(err)
	}
	docs, err := results.ReadAll([]string{dir})
	if err != nil || len(docs) != 1 {
		t.Fatalf("read %d documents, %v; want 1 and the summary beside it left alone", len(docs), err)
	}
	got, _ := json.Marshal(docs[0])
	want, _ := json.Marshal(d)
	if !bytes.Equal(got, want) {
		t.Errorf("read back:\n got %s\nwant %s", got, want)
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "nowhere.json"), "no such file or folder"},
		{"truncated", write("cut.json", `{"schema": 1, "run": "2026`), "truncated"},
		{"empty", write("empty.json", ""), "truncated"},
		{"newer", write("newer.json", `{"schema": 99}`), "reads only schema 1: measure again"},
		{"impossible", write("zero.json", `{"schema": 0}`), "has schema 0"},
		{"something else", write("other.json", `{"rows": []}`), "it has no schema number"},
		{"without a digest", write("types.json", `{"schema": 1, "clients": "many"}`), "has no digest"},
		{"an empty folder", t.TempDir(), "holds no results"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := results.ReadAll([]string{tt.path}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want it to say %q", err, tt.want)
			}
		})
	}
	_, err := results.ReadAll([]string{filepath.Join(dir, "cut.json"), filepath.Join(dir, "newer.json")})
	if err == nil || !strings.Contains(err.Error(), "cut.json") || !strings.Contains(err.Error(), "newer.json") {
		t.Errorf("error = %v, want every unreadable file in it", err)
	}
}

func TestWrapKeepsLinesApart(t *testing.T) {
	got := table.Wrap("one two three\nfour\n", 8)
	if want := "one two\nthree\nfour"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The smallest readings are compared, and a growth that may be noise is not told.
func TestHeapPerWatch(t *testing.T) {
	for _, tt := range []struct {
		name string
		heap results.Heap
		want float64 // 0: not told
	}{
		{"the smallest count", results.Heap{Before: []int64{1010_000, 1000_000, 1005_000}, After: []int64{4000_000, 4020_000, 4001_000}, Watches: 10}, 300_000},
		{"not measured", results.Heap{Why: "no", Watches: 10}, 0},
		{"not measured in the end", results.Heap{Before: []int64{1000_000}, Watches: 10}, 0},
		{"no watches", results.Heap{Before: []int64{1000_000}, After: []int64{4000_000}}, 0},
		{"it shrank", results.Heap{Before: []int64{4000_000}, After: []int64{1000_000}, Watches: 10}, 0},
		{"noise before", results.Heap{Before: []int64{1000_000, 1601_000}, After: []int64{4000_000}, Watches: 10}, 0},
		{"noise after", results.Heap{Before: []int64{1000_000}, After: []int64{4601_000, 4000_000}, Watches: 10}, 0},
		{"just enough", results.Heap{Before: []int64{1000_000, 1600_000}, After: []int64{4000_000}, Watches: 10}, 300_000},
		{"less than servers may drift", results.Heap{Before: []int64{1_000_000}, After: []int64{1_010_940}, Watches: 10}, 0},
	} {
		got, ok := tt.heap.PerWatch()
		if got != tt.want || ok != (tt.want > 0) {
			t.Errorf("%s: %g bytes per watch (%v), want %g", tt.name, got, ok, tt.want)
		}
		d := &results.Document{Heap: &tt.heap}
		recordertest.Measurement{}.Complete(t, d)
		if m, told := d.Metrics[results.HeapPerWatch]; told != ok || m.Value != tt.want {
			t.Errorf("%s: the metric is %+v (%v)", tt.name, m, told)
		}
	}
}

// Only an average of a window has edges to be forgiven for.
func TestExceeds(t *testing.T) {
	for _, tt := range []struct {
		metric       string
		value        float64
		batch, asked int
		want         bool
	}{
		{results.RequestsPerOp, 1, 1, 0, false},
		{results.RequestsPerOp, 1.2, 1, 0, false}, // of 10 clients, 20 operations may be cut
		{results.RequestsPerOp, 1.21, 1, 0, true},
		{results.RequestsPerOp, 1.6, 3, 0, false}, // three to a step
		{results.RequestsPerOp, 1.61, 3, 0, true},
		{results.RequestsPerOp, 1.01, 1, 10, true}, // none is
		{results.HerdMax, 2, 1, 0, true},
		{results.HerdMax, 1, 1, 0, false},
	} {
		d := &results.Document{Clients: 10, Batch: tt.batch, Window: results.Window{Operations: 100}, Metrics: map[string]results.Metric{tt.metric: {Value: tt.value}}}
		d.Scenario.Operations = tt.asked
		if got := d.Exceeds(tt.metric, 1); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
}

// Of several marks the gravest stands, whichever repeat has it.
func TestMark(t *testing.T) {
	marks := []struct {
		word string
		set  func(d *results.Document)
	}{
		{"unfinished", func(d *results.Document) { d.Unfinished = &results.Unfinished{} }},
		{"known broken", func(d *results.Document) { d.KnownBroken = "two may hold" }},
		{"PARTIAL", func(d *results.Document) { d.Partial = true }},
		{"INVALID", func(d *results.Document) { d.Invalid = []string{"i"} }},
		{"BROKEN", func(d *results.Document) { d.Violations = []results.Violation{{}} }},
	}
	repeats := []*results.Document{{Variant: "a"}, {Variant: "a"}}
	if got := results.Mark(repeats); got != "" {
		t.Errorf("sound repeats are marked %q", got)
	}
	for i, m := range marks {
		m.set(repeats[i%2])
		if got := results.Mark(repeats); got != m.word {
			t.Errorf("marked %q, want %q", got, m.word)
		}
	}
	expected := results.Document{Variant: "a", KnownBroken: "two may hold", Violations: []results.Violation{{}}, Scenario: results.Scenario{Broken: []string{"a"}}}
	if got := results.Mark([]*results.Document{&expected}); got != "known broken" {
		t.Errorf("a breach that the scenario expects is marked %q", got)
	}
}
