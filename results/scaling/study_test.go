package scaling_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/scaling"
	"github.com/zkbench/zkbench/results/table"
)

// outcome is what a variant's measurement under a number of clients comes to.
type outcome struct {
	notifications, requests, throughput float64
	formula                             string
	bound                               float64 // of notifications
}

// herd is a variant whose notifications and requests grow with the number of clients, and whose throughput has a peak.
func herd(n float64) outcome {
	return outcome{0.9 * (n - 1), n + 1, law(500, 0.1, 0.002)(n), "N-1", n - 1}
}

// steady is a variant that costs the same under all numbers of clients.
func steady(n float64) outcome {
	out := outcome{1, 5, law(520, 0.95, 0)(n), "1 (0 for N=1)", 1}
	if n == 1 {
		out.notifications, out.bound = 0, 0
	}
	return out
}

// measured returns a document in a closed load. Repeats differ by up to 2 %.
func measured(variant, kind string, clients, repeat int, of func(float64) outcome) *results.Document {
	o := of(float64(clients))
	wobble := 1 + 0.02*math.Sin(float64(7*clients+3*repeat))
	return &results.Document{
		Recipe: "lock", Variant: variant, Kind: kind, Clients: clients, Repeat: repeat, Phases: []string{"handoff"},
		Scenario:    results.Scenario{Name: "lock-contention", Mode: results.ClosedMode},
		Environment: results.Environment{Engine: "container", ZooKeeper: "3.9.3", Servers: []string{"a", "b", "c"}},
		Expected:    results.Expected{Costs: map[string]results.Cost{results.NotificationsPerOp: {Formula: o.formula, Value: o.bound}}},
		Metrics: map[string]results.Metric{
			results.NotificationsPerOp: {Value: o.notifications}, results.RequestsPerOp: {Value: o.requests},
			results.OpsPerSecond: {Value: o.throughput * wobble},
		},
	}
}

// runOf returns the documents of both variants.
func runOf(clients []int, repeats int) []*results.Document {
	var docs []*results.Document
	for _, n := range clients {
		for r := range repeats {
			docs = append(docs, measured("children-watch", "naive", n, r+1, herd), measured("predecessor-watch", "optimized", n, r+1, steady))
		}
	}
	return docs
}

// only returns the single study of documents.
func only(t *testing.T, docs []*results.Document) scaling.Study {
	t.Helper()
	studies := scaling.Of(docs)
	if len(studies) != 1 {
		t.Fatalf("%d studies, want one", len(studies))
	}
	return studies[0]
}

func costOf(t *testing.T, v scaling.Variant, metric string) scaling.Cost {
	t.Helper()
	i := slices.IndexFunc(v.Costs, func(c scaling.Cost) bool { return c.Metric == metric })
	if i < 0 {
		t.Fatalf("%s has no %s", v.Key.Variant, metric)
	}
	return v.Costs[i]
}

func TestStudy(t *testing.T) {
	s := only(t, runOf([]int{1, 5, 10, 50, 100}, 3))
	if len(s.Variants) != 2 || s.Variants[0].Key.Variant != "children-watch" || s.Repeats != 3 || !slices.Equal(s.Counts, []int{1, 5, 10, 50, 100}) {
		t.Fatalf("got %+v", s)
	}
	naive, optimized := s.Variants[0], s.Variants[1]
	notified := costOf(t, naive, results.NotificationsPerOp)
	if got := notified.LeftOut(); !slices.Equal(got, []int{1}) || len(notified.Fitted) != 4 {
		t.Errorf("left out %v of %v, want 1 client", got, notified.Measured)
	}
	// 0.9(N-1) has the exponent of N-1 at the same numbers of clients, which is above 1 because of the -1.
	if !near(notified.Law.Exponent, notified.Expected.Exponent, 1e-9) || notified.Law.Exponent < 1.02 {
		t.Errorf("exponent %g, by the formula %g", notified.Law.Exponent, notified.Expected.Exponent)
	}
	if got := costOf(t, optimized, results.RequestsPerOp); math.Abs(got.Law.Exponent) > 1e-9 || !math.IsNaN(got.Expected.Exponent) {
		t.Errorf("a constant without a formula: %g, by the formula %g", got.Law.Exponent, got.Expected.Exponent)
	}
	if u := naive.Throughput.Law; !near(u.Sigma, 0.1, 0.05) || !u.Peak.Interval.Contains(math.Sqrt(0.9/0.002)) || u.Poor() {
		t.Errorf("law %+v", u)
	}
	perOp, ops := costOf(t, optimized, scaling.TimePerOp), optimized.Throughput.Measured
	for i, p := range perOp.Measured {
		if !near(p.Value*ops[i].Value, 1e9, 1e-9) || p.Low > p.Value || p.High < p.Value {
			t.Errorf("time/op %+v beside ops/s %+v", p, ops[i])
		}
	}
}

// Repeats do not narrow the interval around the same medians.
func TestRepeatsAreNoFurtherPoints(t *testing.T) {
	once, often := only(t, runOf([]int{2, 5, 10, 50}, 1)), runOf([]int{2, 5, 10, 50}, 1)
	for range 9 {
		for _, d := range runOf([]int{2, 5, 10, 50}, 1) {
			d.Repeat = 2
			often = append(often, d)
		}
	}
	a, b := costOf(t, once.Variants[0], scaling.TimePerOp).Law.Interval, costOf(t, only(t, often).Variants[0], scaling.TimePerOp).Law.Interval
	if a != b {
		t.Errorf("the interval is %v with one repeat, and %v with ten equal ones", a, b)
	}
}

// What must not be used is not fitted.
func TestUnusableMeasurementsAreLeftOut(t *testing.T) {
	clean := only(t, runOf([]int{1, 5, 10, 50, 100}, 2))
	for name, spoil := range map[string]func(*results.Document){
		"invalid": func(d *results.Document) { d.Invalid = []string{"the servers counted differently"} },
		"broken":  func(d *results.Document) { d.Violations = []results.Violation{{Text: "two holders"}} },
	} {
		docs := runOf([]int{1, 5, 10, 50, 100}, 2)
		for _, d := range runOf([]int{20}, 2) {
			d.Metrics[results.RequestsPerOp] = results.Metric{Value: 1e6}
			spoil(d)
			docs = append(docs, d)
		}
		got, want := costOf(t, only(t, docs).Variants[0], results.RequestsPerOp).Law, costOf(t, clean.Variants[0], results.RequestsPerOp).Law
		if got.Exponent != want.Exponent {
			t.Errorf("%s measurements change the exponent from %g to %g", name, want.Exponent, got.Exponent)
		}
	}
}

// Throughput has a law only where the clients set the pace; in lockstep zkbench does.
func TestPaceOfLockstep(t *testing.T) {
	docs := runOf([]int{1, 5, 10, 50, 100}, 1)
	for _, d := range docs {
		d.Scenario.Mode, d.Window.Lockstep = results.LockstepMode, true
	}
	v := only(t, docs).Variants[0]
	if v.Throughput != nil || slices.ContainsFunc(v.Costs, func(c scaling.Cost) bool { return c.Metric == scaling.TimePerOp }) {
		t.Errorf("the throughput was fitted: %+v", v)
	}
	if costOf(t, v, results.RequestsPerOp).Err != nil {
		t.Error("counts were not fitted")
	}
}

// openRun returns the documents of an open load at two rates.
func openRun(clients []int) []*results.Document {
	var docs []*results.Document
	for _, rate := range []int{100, 200} {
		for _, d := range runOf(clients, 1) {
			d.Scenario.Mode, d.Scenario.Rates, d.Rate = results.OpenMode, "100,200", rate
			docs = append(docs, d)
		}
	}
	return docs
}

// stagedRun returns the documents of a closed load whose number of clients changes.
func stagedRun(clients []int) []*results.Document {
	docs := runOf(clients, 1)
	for _, d := range docs {
		d.Scenario.Name, d.Scenario.Stages = "lock-burst", []results.StageLoad{{For: time.Second, Clients: 1}, {For: time.Second, Clients: d.Clients}}
	}
	return docs
}

// In an open load the arrivals set the pace, and in a load of stages it changes: neither is fitted, and a line says so once.
func TestUnfittedLoads(t *testing.T) {
	for _, tt := range []struct {
		name string
		docs []*results.Document
		want string
	}{
		{"open", openRun([]int{1, 5, 10, 50}), "no scaling law for lock-contention: the arrivals of an open load set its pace\n"},
		{"stages", stagedRun([]int{5}), "no scaling law for lock-burst: the load changes in stages\n"},
		{"both", append(stagedRun([]int{5}), openRun([]int{5})...),
			"no scaling law for lock-burst: the load changes in stages\nno scaling law for lock-contention: the arrivals of an open load set its pace\n"},
	} {
		for _, s := range scaling.Of(tt.docs) {
			if len(s.Variants) > 0 {
				t.Errorf("%s: was fitted: %+v", tt.name, s.Variants)
			}
		}
		if got := write(t, tt.docs, 120); got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, tt.want)
		}
	}
}

// Other conditions are another study: a fit over both would show the conditions instead of the clients.
func TestConditionsAreKeptApart(t *testing.T) {
	docs, others := runOf([]int{1, 5, 10}, 1), runOf([]int{20, 50, 100}, 1)
	for _, d := range others {
		d.Scenario.Hold = time.Second
	}
	if got := scaling.Of(append(docs, others...)); len(got) != 2 || len(got[0].Counts) != 3 {
		t.Errorf("%d studies, want two", len(got))
	}
}

func write(t *testing.T, docs []*results.Document, width int) string {
	t.Helper()
	var out strings.Builder
	if err := scaling.Write(&out, scaling.Of(docs), width); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// manyKinds returns measurements of variants whose fits have every outcome.
func manyKinds() []*results.Document {
	docs := runOf([]int{1, 5, 10, 50, 100}, 2)
	add := func(variant string, clients []int, of func(float64) outcome) {
		for _, n := range clients {
			docs = append(docs, measured(variant, "optimized", n, 1, of))
		}
	}
	counts := []int{1, 5, 10, 50, 100}
	add("always-zero", counts, func(n float64) outcome { return outcome{0, 2, law(500, 0.02, 1e-9)(n), "0", 0} })
	add("accelerates", counts, func(n float64) outcome { return outcome{1, 2, law(500, 0.9, -0.005)(n), "1", 1} })
	add("collapses", counts, func(n float64) outcome { return outcome{n, n, 500 * math.Exp(-n/20), "N", n} })
	add("falls", counts, func(n float64) outcome { return outcome{n * n, n, law(500, 1.5, 0.01)(n), "N²", n * n} })
	add("interrupted", counts[:2], herd)
	add("three-counts", counts[:3], herd)
	return docs
}

func TestTables(t *testing.T) {
	for _, width := range []int{80, 120} {
		got := write(t, manyKinds(), width)
		golden.Compare(t, filepath.Join("testdata", fmt.Sprintf("scaling-%d.txt", width)), []byte(got))
		if w := table.Width(got); w > width {
			t.Errorf("the longest line has %d columns, more than %d", w, width)
		}
	}
}

// Where no law can be found, the reason stands there instead of a number.
func TestReasonsInsteadOfNumbers(t *testing.T) {
	faulty := runOf([]int{1, 5, 10, 50}, 1)
	for _, d := range faulty {
		d.Scenario.Faults = []string{"kill leader at 1s"}
	}
	lockstep := runOf([]int{1, 5, 10, 50}, 1)
	for _, d := range lockstep {
		d.Scenario.Mode, d.Window.Lockstep, d.Expected.Exact = results.LockstepMode, true, true
	}
	busy := runOf([]int{1, 5, 10, 50}, 1)
	busy[2].Health.ClientCPU = 0.9
	embedded := runOf([]int{1, 5, 10, 50}, 1)
	for _, d := range embedded {
		d.Environment.Engine = results.Embedded
	}
	for _, tt := range []struct {
		name     string
		docs     []*results.Document
		has, not string
	}{
		{"two client counts", runOf([]int{1, 5}, 9), "no scaling law for lock-contention: too few client counts", "exponent  "},
		{"three client counts", runOf([]int{2, 5, 10}, 9), "too few client counts: 3 of 4", "λ, ops/s"},
		{"zeros leave two of three", runOf([]int{1, 5, 10}, 9), "notifications/op too few client", "notifications/op   "},
		{"faults", faulty, "no scaling law for lock-contention: the measurements contain the recovery from faults", "exponent  "},
		{"lockstep", lockstep, "by formula", "universal"},
		{"a busy machine", busy, "in doubt at 5 clients", "embedded"},
		{"the embedded server", embedded, "says nothing about an ensemble", "in doubt"},
		{"nothing", nil, "", "scaling"},
	} {
		got := write(t, tt.docs, 120)
		if !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(tt.has), " ")) || strings.Contains(got, tt.not) {
			t.Errorf("%s: want %q and not %q in\n%s", tt.name, tt.has, tt.not, got)
		}
	}
}
