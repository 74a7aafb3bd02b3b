package claim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
)

// change sets the properties of a measurement that a test is about.
type change func(d *results.Document)

func value(name string, value float64) change {
	return func(d *results.Document) { d.Metrics[name] = results.Metric{Value: value} }
}

// The reasons for doubts.
func busy(d *results.Document)      { d.Health.MachineCPU = 0.99 }
func throttled(d *results.Document) { d.Health.Throttled = 1 }
func embedded(d *results.Document)  { d.Environment.Engine = results.Embedded }
func external(d *results.Document)  { d.Environment.Engine = results.External }
func guessed(d *results.Document)   { d.Herd.Grouping = results.GroupedByPathAndTime }
func unwoken(d *results.Document)   { d.Herd.Sizes = nil }
func broken(d *results.Document)    { d.KnownBroken = "two may hold" }
func partial(d *results.Document)   { d.Partial = true }
func few(d *results.Document)       { d.Histograms = map[string]results.Histogram{"wait": {Samples: 100}} }
func starving(d *results.Document)  { d.Window.UnfinishedWaits, d.Window.StarvingWaits = 50, 49 }
func another(d *results.Document)   { d.Environment.ZooKeeper = "another" }
func unrecovered(d *results.Document) {
	d.Failure = &results.Failure{Unrecovered: 1}
}

func unfinished(d *results.Document) {
	d.Unfinished = &results.Unfinished{Breach: "stuck"}
	value(metric.Finished, 0.5)(d)
}

// caught makes a variant one that the scenario expects to break its promise.
func caught(d *results.Document) { broken(d); d.Scenario.Broken = []string{d.Variant} }

func rate(n results.Rate) change { return func(d *results.Document) { d.Rate = n } }

func clients(n int) change { return func(d *results.Document) { d.Clients = n } }

// doc is a sound measurement of a variant on containers.
func doc(variant string, changes ...change) *results.Document {
	d := &results.Document{
		Recipe: "lock", Variant: variant, Phases: []string{"wait"}, Clients: 10, Scenario: results.Scenario{Name: "s"},
		Environment: results.Environment{Engine: "container"},
		Herd:        results.Herd{Grouping: results.GroupedByZxid, Sizes: []results.SizeCount{{Size: 1, Count: 1}}},
		Histograms:  map[string]results.Histogram{"wait": {Samples: 2000}},
		Metrics:     map[string]results.Metric{metric.NotificationsPerOp: {Value: 1}, "wait-p50-ns": {Value: 1e6}, "wait-p99-ns": {Value: 1e6}},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

func parsed(t *testing.T, text string) claim.Claim {
	t.Helper()
	c := must.Get(claim.ParseForEvery(text))(t)
	return c
}

func one(t *testing.T, text string, docs ...*results.Document) claim.Check {
	t.Helper()
	checks := claim.Of(docs).Check(parsed(t, text))
	if len(checks) != 1 {
		t.Fatalf("%s: %d checks, want 1", text, len(checks))
	}
	return checks[0]
}

func TestCheck(t *testing.T) {
	const pass, fail, open = outcome.Pass, outcome.Regression, outcome.Inconclusive
	herd := func(n float64) change { return value(metric.HerdMax, n) }
	for _, tt := range []struct {
		claim string
		docs  []*results.Document
		want  outcome.Outcome
		why   string
	}{
		// The limit, and multiples of another variant.
		{"a notifications/op <= 1", docs(doc("a")), pass, "it is 1, against 1"},
		{"a notifications/op < 1", docs(doc("a")), fail, "it is 1, against 1"},
		{"a wait-p99 < 900us", docs(doc("a")), fail, "it is 1ms, against 900µs"},
		{"a herd-max >= 40 x b", docs(doc("a", herd(49)), doc("b", herd(1))), pass, ""},
		{"a herd-max >= 50 x b", docs(doc("a", herd(49)), doc("b", herd(1))), fail, ""},
		{"a herd-max < 1 x b", docs(doc("a", herd(49)), doc("b", herd(0))), open, "has no multiples"},
		// A claim about a metric that was not measured is inconclusive.
		{"a herd-max <= 1", docs(doc("a")), open, "herd-max of a was not measured with 10 clients"},
		{"b notifications/op <= 1", docs(doc("a")), open, "was not measured"},
		// Requests of an operation that no client used are counted, and none.
		{"a exists-requests/op == 0", docs(doc("a")), pass, "it is 0, against 0"},
		{"a exists-watches/op >= 1", docs(doc("a")), fail, "it is 0, against 1"},
		{"a exists-watches/op == 0", docs(doc("a", unfinished)), open, "was not finished"},
		{"a notifications/op <= 1 x b", docs(doc("a")), open, "was not measured"},
		{"a notifications/op <= 1", docs(doc("a"), doc("a", another)), open, "two conditions"},
		{"a notifications/op <= 1", docs(doc("a", partial)), open, "interrupted"},
		{"a notifications/op <= 1", docs(doc("a", unfinished)), open, "was not finished"},
		{"a finished == 1", docs(doc("a", unfinished)), fail, ""},
		// The largest number of clients and the largest rate decide.
		{"a notifications/op <= 1", docs(doc("a"), doc("a", clients(50), value(metric.NotificationsPerOp, 49))), fail, ""},
		{"a backlog-max < 5", docs(doc("a", rate(100), value("backlog-max", 9)), doc("a", rate(200), value("backlog-max", 4))), pass, ""},
		{"a response-p99 < 1s", docs(doc("a", rate(100), value("response-p99-ns", 1)), doc("a", rate(200))), open, "was not measured"},
		// A busy machine delays times, and both sides of a ratio alike, unless zkbench itself was short of CPU.
		{"a wait-p99 < 2ms", docs(doc("a", busy)), open, "busy"},
		{"a wait-p99 < 900us", docs(doc("a", busy)), open, "busy"},
		{"a notifications/op <= 1", docs(doc("a", busy)), pass, ""},
		{"a wait-p99-ns < 2 x b", docs(doc("a", busy), doc("b", busy)), pass, ""},
		{"a wait-p99-ns < 2 x b", docs(doc("a"), doc("b", throttled)), open, "out of CPU"},
		{"a wait-p99 < 2ms", docs(doc("a"), doc("b", busy)), pass, ""},
		// Too few samples, and waits that the percentile leaves out.
		{"a wait-p99 < 2ms", docs(doc("a", few)), open, "100 samples"},
		{"a wait-p50 < 2ms", docs(doc("a", few)), pass, ""},
		{"a wait-p99 < 2ms", docs(doc("a", starving)), open, "clients starve"},
		{"a wait-p50 < 2ms", docs(doc("a", starving)), pass, ""},
		{"a wait-p50 < 2ms", docs(doc("a", few, starving)), open, "clients starve"},
		// Servers, and variants that are known to be broken.
		{"a wait-p99 < 2ms", docs(doc("a", embedded)), open, claim.EmbeddedTimes},
		{"a notifications/op <= 1", docs(doc("a", embedded)), pass, ""},
		{"a herd-max <= 1", docs(doc("a", guessed, herd(1))), open, claim.HerdsAreGuessed},
		{"a wait-p50 < 2ms", docs(doc("a", broken)), open, "known to be broken"},
		{"a notifications/op <= 1", docs(doc("a", broken)), pass, ""},
	} {
		if c := one(t, tt.claim, tt.docs...); c.Outcome != tt.want || !strings.Contains(c.Why, tt.why) || c.Why == "" {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.claim, c.Outcome, c.Why, tt.want, tt.why)
		}
	}
}

func docs(all ...*results.Document) []*results.Document { return all }

// The repeat that contradicts a claim most decides, unless the claim is about a time.
func TestCheckRepeats(t *testing.T) {
	var all []*results.Document
	add := func(variant, name string, values ...float64) {
		for i, v := range values {
			all = append(all, doc(variant, value(name, v), func(d *results.Document) { d.Repeat = i + 1 }))
		}
	}
	add("a", metric.HerdMax, 1, 49, 1)
	add("b", metric.HerdMax, 1, 1, 1)
	add("c", metric.HerdMax, 20, 1, 20)
	add("t", "wait-p50-ns", 1, 49, 1)
	for text, want := range map[string]outcome.Outcome{
		"a herd-max <= 1": outcome.Regression, "a herd-max == 1": outcome.Regression, "a herd-max == 49": outcome.Regression,
		"a herd-max < 50": outcome.Pass, "a herd-max >= 1": outcome.Pass, "c herd-max >= 20": outcome.Regression, "c herd-max > 0": outcome.Pass,
		"c herd-max == 20": outcome.Regression, "b herd-max == 1": outcome.Pass, "b herd-max <= 1 x a": outcome.Pass,
		"b herd-max < 1 x c": outcome.Regression, "c herd-max >= 1 x b": outcome.Pass, "c herd-max >= 0.5 x a": outcome.Regression,
		"t wait-p50-ns <= 1": outcome.Pass, "t wait-p50-ns >= 2": outcome.Regression,
	} {
		if c := one(t, text, all...); c.Outcome != want {
			t.Errorf("%s: %s (%s), want %s", text, c.Outcome, c.Why, want)
		}
	}
}

// A claim that could turn out otherwise if the load had continued is inconclusive.
func TestCheckLowerBounds(t *testing.T) {
	all := docs(doc("a", value(metric.RecoveryMax, 2e9), value(metric.Orphans, 1), unrecovered), doc("b", value(metric.RecoveryMax, 2e9)))
	for text, want := range map[string]outcome.Outcome{
		"a recovery-max < 3s":          outcome.Inconclusive,
		"a recovery-max < 1s":          outcome.Regression,
		"a recovery-max > 1s":          outcome.Pass,
		"a recovery-max > 3s":          outcome.Inconclusive,
		"a recovery-max == 2s":         outcome.Inconclusive,
		"a recovery-max == 1s":         outcome.Regression,
		"a recovery-max == 3s":         outcome.Inconclusive,
		"b recovery-max < 3s":          outcome.Pass,
		"b recovery-max > 3s":          outcome.Regression,
		"b recovery-max-ns <= 1 x a":   outcome.Pass,
		"b recovery-max-ns < 0.5 x a":  outcome.Inconclusive,
		"b recovery-max-ns >= 1 x a":   outcome.Inconclusive,
		"b recovery-max-ns >= 2 x a":   outcome.Regression,
		"b recovery-max-ns == 0.5 x a": outcome.Inconclusive,
		"b recovery-max-ns == 1.5 x a": outcome.Regression,
		"a orphans <= 1":               outcome.Pass,
	} {
		if c := one(t, text, all...); c.Outcome != want {
			t.Errorf("%s: %s (%s), want %s", text, c.Outcome, c.Why, want)
		}
	}
}

// A tolerance is a share of the limit, on the side on which the claim fails.
func TestTolerance(t *testing.T) {
	for text, want := range map[string]outcome.Outcome{
		"a notifications/op <= 0.96": outcome.Pass, "a notifications/op <= 0.94": outcome.Regression,
		"a notifications/op >= 1.04": outcome.Pass, "a notifications/op == 1.04": outcome.Pass,
	} {
		c := parsed(t, text)
		c.Tolerance = 0.05
		if got := claim.Of(docs(doc("a"))).Check(c)[0]; got.Outcome != want {
			t.Errorf("%s: %s, want %s", text, got.Outcome, want)
		}
	}
}

// A claim about every variant leaves out the one that it compares with, and those whose metric shows how they are broken.
func TestCheckEvery(t *testing.T) {
	for _, tt := range []struct {
		claim string
		docs  []*results.Document
		want  string
	}{
		{"notifications/op <= 1", docs(doc("a"), doc("b")), "a b"},
		{"notifications/op <= 1 x a", docs(doc("a"), doc("b")), "b"},
		{"notifications/op <= 1 x a", docs(doc("a")), "*"},
		{"ops/s > 0", docs(doc("a"), doc("b", broken)), "a"},
		{"notifications/op <= 1", docs(doc("a"), doc("b", broken)), "a b"},
		{"violations == 0", docs(doc("a"), doc("b", caught)), "a"},
		{"violations == 0", docs(doc("b", caught)), "*"},
	} {
		checks := claim.Of(tt.docs).Check(parsed(t, tt.claim))
		got := strings.Join(list.Map(checks, func(c claim.Check) string { return c.Variant }), " ")
		if got != tt.want || got == claim.Every && checks[0].Outcome != outcome.Inconclusive {
			t.Errorf("%s: variants %s, want %s", tt.claim, got, tt.want)
		}
	}
}

// Whether servers can decide a claim does not depend on which measurement comes first. A measurement without notifications
// does not show whether they name transactions.
func TestUndecidable(t *testing.T) {
	for _, tt := range []struct {
		claim string
		docs  []*results.Document
		want  bool
	}{
		{"a wait-p50 < 2ms", docs(doc("a")), false},
		{"a wait-p50 < 2ms", docs(doc("a", embedded)), true},
		{"a wait-p50 < 2ms", docs(doc("a", external)), false},
		{"a wait-p50 < 2ms", docs(doc("a", embedded), doc("b")), false},
		{"a heap-bytes/watch < 600", docs(doc("a", external)), true},
		{"a heap-bytes/watch < 600", docs(doc("a")), false},
		{"a notifications/op <= 1", docs(doc("a", embedded, guessed)), false},
		{"a herd-max <= 1", docs(doc("a", guessed), doc("b", unwoken)), true},
		{"a herd-max <= 1", docs(doc("b", unwoken), doc("c", guessed)), true},
		{"a herd-max <= 1", docs(doc("a", unwoken)), false},
		{"a herd-max <= 1", docs(doc("a", guessed), doc("b")), false},
	} {
		for range 2 {
			if c := one(t, tt.claim, tt.docs...); c.Undecidable != tt.want {
				t.Errorf("%s: undecidable %t, want %t", tt.claim, c.Undecidable, tt.want)
			}
			slices.Reverse(tt.docs)
		}
	}
}

func TestTally(t *testing.T) {
	all := docs(doc("a"), doc("b", few), doc("e"))
	for want, claims := range map[string][]string{
		"2 of 2 claims hold": {"a notifications/op <= 1", "b notifications/op <= 1"},
		"1 of 1 claim holds": {"a notifications/op <= 1"},
		"1 of 4 claims hold, 1 does not hold, 2 not decided": {
			"a notifications/op <= 1", "a notifications/op < 1", "b wait-p99 < 2ms", "c wait-p99 < 2ms",
		},
		"0 of 2 claims hold, 2 do not hold": {"a notifications/op < 1", "b notifications/op < 1"},
	} {
		checks := claim.Of(all).Check(list.Map(claims, func(text string) claim.Claim { return parsed(t, text) })...)
		if got := claim.Tally(checks); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	embedded := claim.Of(docs(doc("a", embedded))).Check(parsed(t, "a wait-p50 < 2ms"))
	if got, want := claim.Tally(embedded), "1 not decidable by these servers"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A slowdown is as scarce as the scarcer of its two times.
func TestSlowdownsAreScarceLikeTimes(t *testing.T) {
	times := func(n int) results.BackgroundRequests {
		h := results.NewHistogram(slices.Repeat([]time.Duration{time.Millisecond}, n))
		return results.BackgroundRequests{Response: h, Service: h}
	}
	for _, tt := range []struct {
		metric        string
		alone, during int
		scarce        bool
	}{
		{"background-write-p99-slowdown", 1000, 1000, false},
		{"background-write-p99-slowdown", 999, 1000, true},
		{"background-write-p99-slowdown", 1000, 999, true},
		{"background-write-p50-slowdown", 20, 20, false},
	} {
		d := &results.Document{Background: &results.Background{
			Alone: results.BackgroundStretch{Write: times(tt.alone)}, During: &results.BackgroundStretch{Write: times(tt.during)},
		}}
		if why := claim.Scarce(d, tt.metric); (why != "") != tt.scarce {
			t.Errorf("%s of %d and %d requests: %q", tt.metric, tt.alone, tt.during, why)
		}
	}
}

// A multiple of the floor is scarce if its time is scarce.
func TestMultiplesOfTheFloorAreScarceLikeTimes(t *testing.T) {
	d := doc("a", func(d *results.Document) { d.Window.UnfinishedWaits, d.Window.StarvingWaits = 2000, 2000 })
	for _, metric := range []string{"wait-p50-ns", metric.FloorMultiple("wait")} {
		if claim.Scarce(d, metric) == "" {
			t.Errorf("%s: clients starve, and nothing was said", metric)
		}
	}
}
