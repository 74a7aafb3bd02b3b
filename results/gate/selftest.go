package gate

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/store"
)

// SelfTestCase is evidence with a known verdict.
type SelfTestCase struct {
	Name   string
	Want   int // the exit code of the report
	Report Report
}

// SelfTest gives the gate evidence that it must reject and evidence that it must pass, like any other. It shows that the gate can fail.
func SelfTest(now time.Time) []SelfTestCase {
	rules := Rules{Paired: DefaultPairRules(now), Baselines: orPanic(BaselinesOf([]*results.Document{syntheticLockstep(1)}))}
	silent, untrue := syntheticLockstep(1), syntheticLockstep(1)
	silent.Health.Reconnects = 1
	untrue.Metrics[metric.NotificationsPerOp] = results.Metric{Value: 0.5, Unit: "per op"}
	unconfirmed, unlike := syntheticLockstep(2), syntheticLockstep(1)
	over := syntheticDocument(results.ClosedMode, 1000, time.Millisecond, 1000)
	unconfirmed.Oracle.Checked, unconfirmed.Oracle.Why = false, synthetic
	unlike.Expected.Costs[metric.NotificationsPerOp] = results.Cost{Formula: synthetic, Value: 2}
	over.Expected.Costs[metric.NotificationsPerOp] = results.Cost{Formula: synthetic, Value: 0.5}
	watching, asking := syntheticLockstep(1), syntheticLockstep(1)
	watching.Counts.Watches = map[string]int64{"exists": 1}
	for _, d := range []*results.Document{watching, asking} {
		d.Counts.Requests, d.Metrics = map[string]int64{"exists": 1}, nil // a reader computes them
		d.Series.Requests[0], d.Oracle.AllRequests = 1, 1
	}
	slower, same := syntheticPairs(1.5, rules.Paired), syntheticPairs(1, rules.Paired)
	slacker := syntheticCapacity(400)
	slacker.Objective = "response-p99 < 500ms"
	edited := bytes.Replace(orPanic(store.Seal(syntheticCapacity(200))), []byte(`"capacity": `), []byte(`"capacity": 9`), 1)
	const atLeast = "- {scenario: self-test, check: " + synthetic + " capacity >= 300, objective: " + syntheticObjective + "}"
	atLeast300 := Rules{Assertions: orPanic(ParseRules("self-test", []byte(atLeast), Names{}))}
	return []SelfTestCase{
		{"a count regression", 3, Evaluate(asRead(syntheticLockstep(2)), rules)},
		{"a slowdown of 1.5 times", 3, Evaluate(Evidence{Pairs: &slower}, Rules{Paired: rules.Paired})},
		{"the same on both sides", 0, Evaluate(Evidence{Pairs: &same}, Rules{Paired: rules.Paired})},
		{"an empty input", 5, Evaluate(Evidence{}, Rules{})},
		{"a metric that one repeat lacks", 5, Evaluate(lackingPhase(), Rules{})},
		{"fewer than the baseline has", 3, Evaluate(asRead(syntheticLockstep(0)), rules)},
		{"a needless watch", 3, Evaluate(asRead(watching), Rules{Baselines: orPanic(BaselinesOf(asRead(asking).Documents))})},
		{"a dearer call", 3, Evaluate(asRead(asking), rules)},
		{"a count unlike its formula", 3, Evaluate(asRead(unlike), Rules{})},
		{"a count over its bound", 3, Evaluate(asRead(over), Rules{})},
		{"a deviation that no oracle confirms", 5, Evaluate(asRead(unconfirmed), rules)},
		{"a metric unlike its counts", 5, Evaluate(asRead(untrue), rules)},
		{"a reconnect kept quiet", 5, Evaluate(asRead(silent), rules)},
		{"a capacity above its limit", 0, Evaluate(asReadCapacity(orPanic(store.Seal(syntheticCapacity(400)))), atLeast300)},
		{"a capacity below its limit", 3, Evaluate(asReadCapacity(orPanic(store.Seal(syntheticCapacity(200)))), atLeast300)},
		{"a capacity for another objective", 5, Evaluate(asReadCapacity(orPanic(store.Seal(slacker))), atLeast300)},
		{"a capacity that was edited", 5, Evaluate(asReadCapacity(edited), atLeast300)},
	}
}

// asRead returns a document as evidence. Like a file, it passes through its text.
func asRead(d *results.Document) Evidence {
	d, err := store.Decode(orPanic(store.Seal(d)))
	if err != nil {
		return Evidence{Unreadable: []error{fmt.Errorf("the self-test case %w", err)}}
	}
	return Evidence{Documents: []*results.Document{d}}
}

func asReadCapacity(text []byte) (e Evidence) {
	e.addCapacity(capacity.Decode(text))
	return e
}

func lackingPhase() Evidence {
	whole, without := syntheticClosed(1), syntheticClosed(1)
	whole.Scenario.Repeats, without.Scenario.Repeats, without.Repeat = 2, 2, 2
	maps.DeleteFunc(without.Metrics, func(name string, _ results.Metric) bool { return metric.Named(name).Phase == without.Phases[0] })
	return Evidence{Documents: []*results.Document{whole, without}}
}

const synthetic = "synthetic"

const syntheticClients = 50

func syntheticLockstep(notifications float64) *results.Document {
	const operations = 50
	return syntheticDocument(results.LockstepMode, operations, time.Millisecond, int(math.Round(notifications*operations)))
}

// syntheticClosed returns a document of a closed load without notifications, with as many operations as a p99 needs, of ms milliseconds.
func syntheticClosed(ms float64) *results.Document {
	return syntheticDocument(results.ClosedMode, 1000, time.Duration(ms*float64(time.Millisecond)), 0)
}

// syntheticDocument returns a valid document without a measurement. Its clients work one operation after another, each of
// which took the same time, and each notification has a transaction of its own.
func syntheticDocument(mode results.Mode, operations int, took time.Duration, notifications int) *results.Document {
	sent := int64(notifications)
	d := &results.Document{
		Schema: results.Schema, Run: "self-test", Started: time.Unix(0, 0).UTC(), Recipe: synthetic, Variant: synthetic, Kind: "optimized",
		Clients: syntheticClients, Repeat: 1, Batch: 1, Phases: []string{"wait"}, Operation: "wait", UntimedPhases: []string{"wait"},
		Scenario:    results.Scenario{Name: "self-test", Mode: mode, Size: 1, Clients: []int{syntheticClients}, Repeats: 1},
		Environment: results.Environment{Engine: "container", Servers: []string{"127.0.0.1:2181"}, SessionTimeout: time.Second},
		Oracle:      results.Oracle{Checked: true, ClientNotifications: sent, ServerNotifications: sent, AllNotifications: sent},
		Expected: results.Expected{Costs: map[string]results.Cost{
			metric.NotificationsPerOp: {Formula: synthetic, Value: float64(notifications) / float64(operations)},
		}},
	}
	if mode != results.LockstepMode {
		d.Scenario.Duration = time.Second // not the window's length, because documents of different loads are not compared
	}
	r := recorder.New(recorder.Config{Phase: "wait", Operation: "wait"})
	r.OpenWindow(0)
	for i := range notifications {
		r.Notification(recorder.Notification{Zxid: int64(i) + 1, Type: "NodeDeleted"})
	}
	for i := range operations {
		at := time.Duration(i) * took
		r.Span("wait", 0, at, at+took)
	}
	r.CloseWindow(time.Duration(operations) * took)
	r.Close(d, recorder.Unserved{})
	return d
}

// orPanic returns a value that has no error, because it does not depend on any input.
func orPanic[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("a part of the self-test cannot be made: %v", err))
	}
	return value
}

// syntheticPairs returns pairs whose head takes slowdown times as long, with the noise of a quiet machine, confirmed if flagged.
func syntheticPairs(slowdown float64, r PairRules) (p Pairs) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a self-test has to be the same each time
	noise := func() float64 { return math.Exp(0.027 * random.NormFloat64()) }
	block := func(n int) (pairs [][2][]*results.Document) {
		for range n {
			pairs = append(pairs, [2][]*results.Document{{syntheticClosed(noise())}, {syntheticClosed(slowdown * noise())}})
		}
		return pairs
	}
	p.Screen = block(r.Rule.ScreenPairs)
	if metrics, _, _ := p.Flagged(r); len(metrics) > 0 {
		p.Confirm = block(r.Rule.ConfirmPairs)
	}
	return p
}

const syntheticObjective = "response-p99 < 50ms"

func syntheticCapacity(most int) capacity.Report {
	s := capacity.NewSearch(50, 10_000)
	for t, more := s.Next(); more; t, more = s.Next() {
		t.Outcome, t.Why = capacity.Holds, "10.0 ms"
		if t.Load > most {
			t.Outcome, t.Why = capacity.Fails, "beyond the capacity"
		}
		s.Report(t)
	}
	r := capacity.Report{
		Schema: capacity.Schema, Scenario: "self-test", Engine: "container", By: capacity.ByRate, Clients: syntheticClients,
		Objective: syntheticObjective, Repeats: 3, First: 50, Most: 10_000,
	}
	r.Add(synthetic, s)
	return r
}
