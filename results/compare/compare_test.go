package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
)

// noon is when the first measurement started; the others follow minute by minute.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// doc is a sound measurement of a free load.
func doc(run, variant string, repeat, minute int, metrics map[string]float64) *results.Document {
	d := &results.Document{
		Schema: results.Schema, Run: run, Started: noon.Add(time.Duration(minute) * time.Minute),
		Recipe: "lock", Variant: variant, Kind: "naive", Phases: []string{"handoff", "acquire", "hold"}, Clients: 50, Repeat: repeat,
		Scenario: results.Scenario{Name: "lock-contention", Mode: "closed", Size: 1, Duration: 3 * time.Second, Repeats: 7, Seed: 1},
		Environment: results.Environment{
			Engine: "container", ZooKeeper: "3.9.3", Image: "zookeeper:3.9.3", Servers: []string{"a:1", "b:2", "c:3"}, TxnLog: "/datalog (ext4 on /dev/vda)",
			ServerConfig: map[string]string{"tickTime": "2000", "clientPort": "2181"}, SessionTimeout: 30 * time.Second,
			Zkbench: "1.0", Go: "go1.26", OS: "debian 12", Kernel: "6.1", CPU: "EPYC", CPUs: 2, Memory: 24 << 30,
		},
		Herd:    results.Herd{Grouping: results.GroupedByZxid},
		Metrics: map[string]results.Metric{},
	}
	for name, v := range metrics {
		d.Metrics[name] = results.Metric{Value: v, Unit: unit(name)}
	}
	return d
}

func unit(name string) string {
	switch {
	case name == metric.OpsPerSecond:
		return "1/s"
	case strings.HasSuffix(name, "-ns"):
		return "ns"
	default:
		return "per op"
	}
}

func exact(docs ...*results.Document) []*results.Document {
	for _, d := range docs {
		d.Scenario.Name, d.Scenario.Mode = "lock-drain", results.LockstepMode
	}
	return docs
}

func one(name string, value float64) map[string]float64 { return map[string]float64{name: value} }

// turns is two sides that were measured in turns, where the metric is the given ones.
func turns(metric string, base, other []float64) (a, b compare.Side) {
	a.Name, b.Name = "old", "new"
	for i := range base {
		a.Docs = append(a.Docs, doc("a", "znode", i+1, 2*i+i%2, one(metric, base[i])))
		b.Docs = append(b.Docs, doc("b", "znode", i+1, 2*i+1-i%2, one(metric, other[i])))
	}
	return a, b
}

// only compares two sides of which one row is expected.
func only(t *testing.T, a, b compare.Side, o compare.Options) compare.Row {
	t.Helper()
	c, err := compare.Runs([]compare.Side{a, b}, o)
	if err != nil || len(c.Rows) != 1 {
		t.Fatalf("%d rows, %v; want one", len(c.Rows), err)
	}
	return c.Rows[0]
}

func TestPairsDecide(t *testing.T) {
	flat := func(v float64, n int) []float64 { return slices.Repeat([]float64{v}, n) }
	around := []float64{90, 110, 95, 105, 99, 102, 101}
	for _, tt := range []struct {
		name        string
		metric      string
		base, other []float64
		ratio       float64
		want        compare.Verdict
		reason      string
	}{
		{"longer", "handoff-p50-ns", flat(100, 7), flat(150, 7), 1.5, compare.Worse, "outside"},
		{"shorter", "handoff-p50-ns", flat(100, 7), flat(50, 7), 0.5, compare.Better, "outside"},
		{"faster", "ops/s", flat(100, 7), flat(150, 7), 1.5, compare.Better, "outside"},
		{"slower", "ops/s", flat(100, 7), flat(50, 7), 0.5, compare.Worse, "outside"},
		{"a count of a free load", "requests/op", flat(4, 6), flat(5, 6), 1.25, compare.Worse, "outside"},
		{"a share", "acquire/handoff", flat(0.5, 6), flat(0.25, 6), 0.5, compare.Better, "outside"},
		{"noise", "handoff-p50-ns", flat(100, 7), around, 1.01, compare.NotShown, "within"},
		{"equal, but no exact count", "requests/op", flat(4, 7), flat(4, 7), 1, compare.NotShown, "all repeats are equal"},
		{"equal, and none", "requests/op", flat(0, 1), flat(0, 1), math.NaN(), compare.NotShown, "all repeats are equal"},
		{"too few", "handoff-p50-ns", flat(100, 5), flat(900, 5), 9, compare.Undecided, "5 pairs, too few: alternate 6 runs of each side"},
		{"a single one", "handoff-p50-ns", flat(100, 1), flat(900, 1), 9, compare.Undecided, "1 pair, too few"},
		{"no direction", "herd-spread-p99-ns", flat(100, 7), flat(900, 7), 9, compare.Different, "outside"},
		{"a maximum", "handoff-max-ns", flat(100, 7), flat(900, 7), 9, compare.Undecided, "a maximum"},
		{"never", "requests/op", flat(4, 7), flat(0, 7), math.NaN(), compare.Better, "a probability of 0.00058"},
		{"never, of two repeats", "requests/op", flat(4, 2), flat(0, 2), math.NaN(), compare.Undecided, "a value of 0 has no ratio"},
		{"a count, three repeats", "notifications/op", []float64{39, 40, 41}, flat(1, 3), 1.0 / 40, compare.Better, "a probability of 0.1"},
		{"a count of which the window cut more", "notifications/op", flat(1.001, 7), flat(1.002, 7), 1.002 / 1.001, compare.NotShown, "in the digits shown"},
		{"a count that overlaps", "notifications/op", []float64{1, 40, 41}, []float64{1, 2, 3}, 3.0 / 41, compare.Undecided, "3 pairs, too few"},
		{"a time, three repeats", "handoff-p50-ns", flat(40, 3), flat(1, 3), 1.0 / 40, compare.Undecided, "3 pairs, too few"},
		{"many small ones against few large ones", "handoff-p50-ns", flat(100, 30),
			append(flat(99, 16), 200, 210, 220, 230, 240, 250, 260, 270, 280, 290, 300, 310, 320, 330), 0.99, compare.Undecided, "disagree"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := turns(tt.metric, tt.base, tt.other)
			r := only(t, a, b, compare.Options{Metrics: []string{tt.metric}})
			same := math.Abs(float64(r.Ratio)-tt.ratio) < 1e-9 || math.IsNaN(float64(r.Ratio)) && math.IsNaN(tt.ratio)
			if r.Verdict != tt.want || !strings.Contains(r.Reason, tt.reason) || !same {
				t.Errorf("%s (%s), ratio %g; want %s (%s), %g", r.Verdict, r.Reason, float64(r.Ratio), tt.want, tt.reason, tt.ratio)
			}
		})
	}
}

func TestExactCounts(t *testing.T) {
	side := func(name string, minute int, metric string, values ...float64) compare.Side {
		s := compare.Side{Name: name}
		for i, v := range values {
			s.Docs = append(s.Docs, exact(doc(name, "znode", i+1, minute+i, one(metric, v)))...)
		}
		return s
	}
	for _, tt := range []struct {
		name        string
		metric      string
		base, other []float64
		want        compare.Verdict
		reason      string
	}{
		{"more", "requests/op", []float64{4}, []float64{4.02}, compare.Worse, "exact counts, different"},
		{"fewer", "writes/op", []float64{4, 4}, []float64{2}, compare.Better, "exact counts, different"},
		{"equal", "herd-max", []float64{49}, []float64{49, 49}, compare.Same, "exact counts, equal"},
		{"none at all", "notifications/op", []float64{0}, []float64{0}, compare.Same, "exact counts, equal"},
		{"none any more", "notifications/op", []float64{2}, []float64{0}, compare.Better, "exact counts, different"},
		{"the base varies", "requests/op", []float64{4, 9}, []float64{9, 9}, compare.Undecided, "repeats of one side disagree"},
		{"the other side varies", "requests/op", []float64{9, 9}, []float64{9, 8}, compare.Undecided, "repeats of one side disagree"},
		{"a time of a drain", "handoff-p50-ns", []float64{4, 4}, []float64{9, 8}, compare.Undecided, "not measured in turns: alternate 6"},
		{"bytes are in no formula", "bytes/op", []float64{400}, []float64{500}, compare.Undecided, "1 pair, too few"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := only(t, side("old", 0, tt.metric, tt.base...), side("new", 5, tt.metric, tt.other...), compare.Options{Metrics: []string{tt.metric}})
			if r.Verdict != tt.want || !strings.Contains(r.Reason, tt.reason) {
				t.Errorf("%s (%s), want %s (%s)", r.Verdict, r.Reason, tt.want, tt.reason)
			}
		})
	}
}

// Two sides are paired if, and only if, as many of one as of the other have been measured after each pair.
func TestInTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	paired, unpaired := 0, 0
	for range 3000 {
		n := 1 + rng.IntN(4)
		order := slices.Repeat([]string{"a", "b"}, n)
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		sides := map[string]*compare.Side{"a": {Name: "a"}, "b": {Name: "b"}}
		balance, want := 0, true
		for minute, name := range order {
			s := sides[name]
			s.Docs = append(s.Docs, doc(name, "znode", len(s.Docs)+1, minute, one("ops/s", 100)))
			balance += map[string]int{"a": 1, "b": -1}[name]
			want = want && (minute%2 == 0 || balance == 0)
		}
		for _, s := range sides { // the order of the documents says nothing, that of the measurements does
			rng.Shuffle(n, func(i, j int) { s.Docs[i], s.Docs[j] = s.Docs[j], s.Docs[i] })
		}
		r := only(t, *sides["a"], *sides["b"], compare.Options{})
		switch {
		case want && r.Pairs == n:
			paired++
		case !want && r.Pairs == 0 && strings.HasPrefix(r.Reason, "not measured in turns"):
			unpaired++
		default:
			t.Fatalf("%v: %d pairs (%s), want in turns: %t", order, r.Pairs, r.Reason, want)
		}
	}
	if paired < 100 || unpaired < 100 {
		t.Errorf("%d and %d orders: too few of a kind", paired, unpaired)
	}
}

// Runs that overlapped on one machine alternate, too, but each disturbed the other.
func TestSimultaneousMeasurementsTakeNoTurns(t *testing.T) {
	for end, want := range map[time.Duration]int{time.Minute: 7, time.Minute + time.Second: 0} {
		a, b := turns("ops/s", slices.Repeat([]float64{100}, 7), slices.Repeat([]float64{50}, 7))
		for _, d := range slices.Concat(a.Docs, b.Docs) {
			d.Window.End = end
		}
		if r := only(t, a, b, compare.Options{}); r.Pairs != want {
			t.Errorf("measurements of %s, a minute apart: %d pairs (%s), want %d", end, r.Pairs, r.Reason, want)
		}
	}
}

// Within a pair it does not matter who came first, and which pair came when changes nothing either.
func TestSwappedSidesTurnTheRatioRound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var base, other []float64
		for range 6 + rng.IntN(4) {
			base, other = append(base, 50+100*rng.Float64()), append(other, 50+150*rng.Float64())
		}
		for _, metric := range []string{"ops/s", "handoff-p50-ns"} {
			a, b := turns(metric, base, other)
			there, back := only(t, a, b, compare.Options{}), only(t, b, a, compare.Options{})
			opposite := map[compare.Verdict]compare.Verdict{compare.Better: compare.Worse, compare.Worse: compare.Better, compare.NotShown: compare.NotShown}
			if back.Verdict != opposite[there.Verdict] || math.Abs(float64(there.Ratio*back.Ratio)-1) > 1e-9 || math.Abs(float64(there.Low*back.High)-1) > 1e-9 {
				t.Fatalf("%+v, and the other way round %+v", there, back)
			}
		}
	}
}

func TestAnInterruptedLastPairIsLeftOut(t *testing.T) {
	a, b := turns("ops/s", slices.Repeat([]float64{100}, 7), slices.Repeat([]float64{50}, 7))
	b.Docs = b.Docs[:6]
	if r := only(t, a, b, compare.Options{}); r.Pairs != 6 || r.Verdict != compare.Worse {
		t.Errorf("%d pairs, %s", r.Pairs, r.Verdict)
	}
	b.Docs = b.Docs[:5]
	if r := only(t, a, b, compare.Options{}); r.Pairs != 0 || r.Verdict != compare.Undecided {
		t.Errorf("two are missing: %d pairs, %s", r.Pairs, r.Verdict)
	}
	for i := range a.Docs {
		a.Docs[i].Started = noon
	}
	for i := range b.Docs {
		b.Docs[i].Started = noon
	}
	if r := only(t, a, b, compare.Options{}); r.Pairs != 0 {
		t.Errorf("all at once: %d pairs", r.Pairs)
	}
}

func TestUnsoundNumbersGetNoVerdict(t *testing.T) {
	for mark, spoil := range map[string]func(*results.Document) (reason string){
		"INVALID": func(d *results.Document) string { d.Invalid = []string{"x"}; return "must not be used" },
		"BROKEN": func(d *results.Document) string {
			d.Violations, d.Invalid = []results.Violation{{}}, []string{"x"}
			return "must not be used"
		},
		"PARTIAL": func(d *results.Document) string { d.Partial = true; return "was interrupted" },
	} {
		a, b := turns("ops/s", slices.Repeat([]float64{100}, 7), slices.Repeat([]float64{50}, 7))
		reason := spoil(b.Docs[3])
		r := only(t, a, b, compare.Options{})
		if r.Verdict != compare.Undecided || r.Other.Mark != mark || r.Base.Mark != "" || !strings.Contains(r.Reason, reason) {
			t.Errorf("%s: %+v", mark, r)
		}
	}
}

// A measurement that the gate of pairs would not decide by gets no verdict here either.
func TestDoubtfulMeasurementsGetNoVerdict(t *testing.T) {
	for reason, spoil := range map[string]func(*results.Document){
		"out of CPU":          func(d *results.Document) { d.Health.Throttled = 1 },
		"beyond the capacity": func(d *results.Document) { d.Open = &results.Open{GivenUp: 1} },
		"too few samples":     func(d *results.Document) { d.Histograms = map[string]results.Histogram{"handoff": {Samples: 999}} },
	} {
		a, b := turns("handoff-p99-ns", slices.Repeat([]float64{100}, 7), slices.Repeat([]float64{50}, 7))
		o := compare.Options{Metrics: []string{"handoff-p99-ns"}}
		if r := only(t, a, b, o); r.Verdict != compare.Better {
			t.Errorf("without a doubt: %s (%s)", r.Verdict, r.Reason)
		}
		spoil(b.Docs[3])
		r := only(t, a, b, o)
		if r.Verdict != compare.Undecided || !strings.Contains(r.Reason, reason) || !r.MayBeDrawn() || r.Ratio != 0.5 || r.Low.Finite() {
			t.Errorf("%s (%s), ratio %g, want %s and the ratio of the values", r.Verdict, r.Reason, float64(r.Ratio), reason)
		}
	}
}

// Runs one after the other differ by drift. A count differs if the sides are more than twice as far apart as the repeats of each.
func TestCountsWithoutTurns(t *testing.T) {
	for _, tt := range []struct {
		base, other []float64
		want        compare.Verdict
	}{
		{[]float64{10, 11, 12}, []float64{25, 26, 27}, compare.Worse},
		{[]float64{10, 11, 12}, []float64{4, 4, 5}, compare.Better},
		{[]float64{0, 0, 0}, []float64{1, 1, 1}, compare.Worse},
		{[]float64{4.99, 5, 5.01}, []float64{5.99, 6, 6.01}, compare.Worse},
		{[]float64{10, 11, 12}, []float64{16, 16, 16}, compare.Undecided}, // exactly twice as far apart
		{[]float64{16, 16, 16}, []float64{10, 11, 11.9}, compare.Better},  // a little further
		{[]float64{10, 10, 10}, []float64{25, 40, 42}, compare.Undecided}, // one side varies more
		{[]float64{5.001, 5.001, 5.001}, []float64{5.003, 5.003, 5.003}, compare.NotShown},
		{[]float64{5.001, 5.001, 5.001}, []float64{5.0047, 5.0047, 5.0054}, compare.Undecided}, // the ends that face each other are shown alike
		{[]float64{7.817, 7.919, 8.113}, []float64{7.289, 7.5, 7.502}, compare.Undecided},      // one build, twice
		{[]float64{10, 11}, []float64{25, 26}, compare.Undecided},
	} {
		a, b := turns("notifications/op", tt.base, tt.other)
		for _, d := range b.Docs {
			d.Started = d.Started.Add(time.Hour)
		}
		r := only(t, a, b, compare.Options{})
		if r.Verdict != tt.want || r.Verdict == compare.Undecided && r.Reason != "not measured in turns: alternate 3 runs of each side" {
			t.Errorf("%v against %v: %s (%s), want %s", tt.other, tt.base, r.Verdict, r.Reason, tt.want)
		}
	}
}

// A count that is far apart on both sides is not decided either if one of the measurements does not describe the load that was asked for.
func TestCountsOfDoubtfulMeasurements(t *testing.T) {
	a, b := turns("requests/op", slices.Repeat([]float64{40}, 3), slices.Repeat([]float64{1}, 3))
	b.Docs[1].Unfinished = new(results.Unfinished)
	if r := only(t, a, b, compare.Options{}); r.Verdict != compare.Undecided {
		t.Errorf("%s (%s), want undecided", r.Verdict, r.Reason)
	}
}

func TestMissingMetrics(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(a, b *compare.Side)
		want  string
	}{
		{"in the base", func(a, _ *compare.Side) { strip(a.Docs, "ops/s") }, "not measured in the base"},
		{"in the other", func(_, b *compare.Side) { strip(b.Docs, "ops/s") }, "measured in the base only"},
		{"in one repeat", func(_, b *compare.Side) { strip(b.Docs[:1], "ops/s") }, "not measured in every repeat"},
	} {
		a, b := turns("ops/s", slices.Repeat([]float64{100}, 7), slices.Repeat([]float64{50}, 7))
		tt.spoil(&a, &b)
		if r := only(t, a, b, compare.Options{}); r.Reason != tt.want || r.Verdict != compare.Undecided {
			t.Errorf("%s: %s (%s), want %s", tt.name, r.Verdict, r.Reason, tt.want)
		}
	}
}

// A document lists only the operations that were used.
func TestAnOperationThatOneSideDoesNotUse(t *testing.T) {
	name := metric.RequestsOf("exists")
	a, b := turns(name, []float64{0}, []float64{2})
	strip(a.Docs, name)
	exact(a.Docs[0], b.Docs[0])
	r := only(t, a, b, compare.Options{Metrics: []string{name}})
	if r.Verdict != compare.Worse || r.Base.Value != 0 {
		t.Errorf("%s (%s), base %s", r.Verdict, r.Reason, r.Base.Value)
	}
}

func strip(docs []*results.Document, metric string) {
	for _, d := range docs {
		delete(d.Metrics, metric)
	}
}

// The costs of faults come first, and a recovery that may be longer is not compared.
func TestFailuresAreCompared(t *testing.T) {
	all := map[string]float64{"ops/s": 1, metric.RecoveryMax: 1, metric.RecoveryP50: 1, metric.Orphans: 0}
	a, b := doc("a", "znode", 1, 0, all), doc("b", "znode", 1, 1, all)
	b.Failure = &results.Failure{Unrecovered: 1}
	c, err := compare.Runs([]compare.Side{{Name: "a", Docs: []*results.Document{a}}, {Name: "b", Docs: []*results.Document{b}}}, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range c.Rows {
		got = append(got, r.Metric)
	}
	if want := []string{metric.RecoveryP50, metric.RecoveryMax, metric.Orphans, metric.OpsPerSecond}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, r := range c.Rows[:2] {
		if r.Verdict != compare.Undecided || !strings.HasPrefix(r.Reason, "a lower bound") {
			t.Errorf("%s: %s (%s)", r.Metric, r.Verdict, r.Reason)
		}
	}
}

func TestGuessedHerdsAreNotCompared(t *testing.T) {
	a, b := doc("a", "znode", 1, 0, one("herd-max", 4)), doc("b", "znode", 1, 1, one("herd-max", 9))
	exact(a, b)
	b.Herd.Grouping = "path and time"
	r := only(t, compare.Side{Name: "a", Docs: []*results.Document{a}}, compare.Side{Name: "b", Docs: []*results.Document{b}}, compare.Options{})
	if r.Verdict != compare.Undecided || !strings.Contains(r.Reason, "do not say") {
		t.Errorf("%s (%s)", r.Verdict, r.Reason)
	}
}

// The throughput of an open load is its rate, whichever build is measured, so that the waiting times of users are compared.
func TestMetricsOfOpenLoads(t *testing.T) {
	values := map[string]float64{"ops/s": 100, "response-p50-ns": 1, "response-p90-ns": 1, "response-p99-ns": 1, "handoff-p50-ns": 1}
	sides := make([]compare.Side, 2)
	for i, name := range []string{"a", "b"} {
		d := doc(name, "znode", 1, i, values)
		d.Rate, d.Scenario.Mode = 100, results.OpenMode
		sides[i] = compare.Side{Name: name, Docs: []*results.Document{d}}
	}
	c := must.Get(compare.Runs(sides, compare.Options{}))(t)
	var got []string
	for _, r := range c.Rows {
		got = append(got, r.Metric)
	}
	if want := "response-p50-ns response-p90-ns handoff-p50-ns"; strings.Join(got, " ") != want {
		t.Errorf("compared are %v, want %s", got, want)
	}
}

func TestMetricsAreChosen(t *testing.T) {
	all := map[string]float64{}
	for _, name := range []string{"ops/s", "handoff-p50-ns", "handoff-p99-ns", "acquire-p50-ns", "hold-p50-ns", "requests/op", "writes/op", "notifications/op", "herd-max", "herd-mean"} {
		all[name] = 1
	}
	a, b := compare.Side{Name: "a", Docs: []*results.Document{doc("a", "znode", 1, 0, all)}}, compare.Side{Name: "b", Docs: []*results.Document{doc("b", "znode", 1, 1, all)}}
	for _, tt := range []struct{ patterns, want string }{
		{"", "ops/s handoff-p50-ns acquire-p50-ns requests/op writes/op notifications/op herd-max"},
		{"hold-p50-ns ops/s", "hold-p50-ns ops/s"},
		{"*/op ops/s", "notifications/op requests/op writes/op ops/s"},
		{"handoff-*", "handoff-p50-ns handoff-p99-ns"},
		{"*p99*", "handoff-p99-ns"},
		{"herd-m?x *-max", "herd-max"},
	} {
		c, err := compare.Runs([]compare.Side{a, b}, compare.Options{Metrics: strings.Fields(tt.patterns)})
		var got []string
		for _, r := range c.Rows {
			got = append(got, r.Metric)
		}
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%q: %v, %v; want %s", tt.patterns, got, err, tt.want)
		}
	}
	c, err := compare.Runs([]compare.Side{a, b}, compare.Options{Metrics: []string{"*"}})
	if err != nil || len(c.Rows) != len(all) {
		t.Errorf("all: %d rows, %v", len(c.Rows), err)
	}
	for wrong, want := range map[string]string{
		"handof-p50-ns": `did you mean "handoff-p50-ns"?`, "xyz-*": "there are: acquire-p50-ns, handoff-p50-ns,",
	} {
		_, err := compare.Runs([]compare.Side{a, b}, compare.Options{Metrics: []string{wrong}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", wrong, err, want)
		}
	}
}

func TestBaseOfVariants(t *testing.T) {
	side := func(overview string, variants ...string) compare.Side {
		s := compare.Side{Name: "run"}
		for i, v := range variants {
			name, kind, _ := strings.Cut(v, ":")
			d := doc("r", name, 1, i, one("ops/s", 1))
			d.Kind, d.Scenario.Overview = kind, overview
			s.Docs = append(s.Docs, d)
		}
		return s
	}
	three := []string{"children:naive", "znode:naive", "predecessor:optimized"}
	for _, tt := range []struct {
		name, wanted, overview string
		variants               []string
		base                   string
	}{
		{"the overview's", "", "predecessor against znode by ops/s", three, "znode"},
		{"the first naive one", "", "", three, "children"},
		{"the overview's was not measured", "", "predecessor against other by ops/s", three, "children"},
		{"no naive one", "", "", []string{"x:optimized", "y:optimized"}, "x"},
		{"wanted", "predecessor", "predecessor against znode by ops/s", three, "predecessor"},
		{"wanted by its full name", "lock/predecessor", "", three, "predecessor"},
	} {
		c, err := compare.Variants(side(tt.overview, tt.variants...), compare.Options{Base: tt.wanted})
		if err != nil || len(c.Rows) != len(tt.variants)-1 || c.Rows[0].Base.Variant != tt.base {
			t.Errorf("%s: %+v, %v; want %s", tt.name, c.Rows, err, tt.base)
		}
	}
	if _, err := compare.Variants(side("", three...), compare.Options{Base: "other"}); err == nil || !strings.Contains(err.Error(), "lock/znode") {
		t.Errorf("an unknown base: %v", err)
	}
	if _, err := compare.Variants(side("", "znode:naive"), compare.Options{}); err == nil || !strings.Contains(err.Error(), "has no two variants") {
		t.Errorf("a single variant: %v", err)
	}
}

func TestNothingInCommon(t *testing.T) {
	a, b := turns("ops/s", []float64{1}, []float64{2})
	b.Docs[0].Clients = 10
	_, err := compare.Runs([]compare.Side{a, b}, compare.Options{})
	for _, want := range []string{"nothing in common", "old has lock-contention with 50 clients: lock/znode", "new has lock-contention with 10 clients: lock/znode"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q in it", err, want)
		}
	}
	b.Docs = append(b.Docs, doc("b", "znode", 1, 9, one("ops/s", 3)))
	c, err := compare.Runs([]compare.Side{a, b}, compare.Options{})
	if err != nil || len(c.Rows) != 1 || fmt.Sprint(c.LeftOut) != "[only in new: lock-contention with 10 clients: lock/znode]" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := compare.Runs([]compare.Side{a, a}, compare.Options{}); err == nil || !strings.Contains(err.Error(), "stands on both sides") {
		t.Errorf("compared with itself: %v", err)
	}
}
