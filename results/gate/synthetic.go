package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/recorder"
)

// synthetic is the name of the recipe, the variant and the server of synthetic documents.
const synthetic = "synthetic"

const syntheticClients = 50

// syntheticDuration is the duration in the scenario of all synthetic closed loads. It does not depend on the window, because
// documents of different loads are not compared.
const syntheticDuration = 500 * time.Millisecond

// syntheticLoad describes a measurement that was not taken. Its clients work one operation after another.
type syntheticLoad struct {
	mode          results.Mode
	operations    int
	took          time.Duration // of each operation
	notifications int           // each of a transaction of its own
}

// document returns the document of the load. It is recorded like a real measurement, so that it is valid.
func (l syntheticLoad) document() *results.Document {
	d := &results.Document{
		Schema: results.Schema, Run: "self-test", Started: time.Unix(0, 0).UTC(), Recipe: synthetic, Variant: synthetic, Kind: "optimized", Clients: syntheticClients, Repeat: 1,
		Scenario:    results.Scenario{Name: "self-test", Mode: l.mode, Size: 1, Clients: []int{syntheticClients}, Repeats: 1, BystanderRate: 1},
		Environment: results.Environment{Engine: "container", Servers: []string{"127.0.0.1:2181"}},
		Phases:      []string{"wait"}, Operation: "wait", Batch: 1, Waiting: []string{"wait"}, UntimedPhases: []string{"wait"}, Shares: []results.Share{},
		Warnings: []string{}, Invalid: []string{},
	}
	if l.mode != results.LockstepMode {
		d.Scenario.Duration = syntheticDuration
	}
	err := l.record(d).Close(d, recorder.Facts{
		Counts:         results.Counts{Requests: map[string]int64{}, Failed: map[string]int64{}},
		Oracle:         results.Oracle{Checked: true, ClientNotifications: int64(l.notifications), ServerNotifications: int64(l.notifications)},
		Servers:        []results.ServerReport{{Server: 1, Name: synthetic}},
		Costs:          map[string]results.Cost{results.NotificationsPerOp: {Formula: synthetic, Value: float64(l.notifications) / float64(l.operations)}},
		SessionTimeout: time.Second,
	})
	if err != nil {
		panic(fmt.Sprintf("a synthetic document cannot be completed: %v", err))
	}
	return d
}

// record returns a recorder that has received the load's events in order of time. The notifications are spread evenly over
// the window.
func (l syntheticLoad) record(d *results.Document) *recorder.Recorder {
	length := time.Duration(l.operations) * l.took
	r := recorder.New(recorder.Config{Phase: d.Phases[0], Operation: d.Operation, Waiting: d.Waiting, Clients: d.Clients, WindowLength: length, Lockstep: l.mode == results.LockstepMode})
	r.OpenWindow(0)
	arrival := func(i int) time.Duration { return length * time.Duration(i) / time.Duration(l.notifications) }
	sent := 0
	for i := range l.operations {
		start := time.Duration(i) * l.took
		for ; sent < l.notifications && arrival(sent) <= start+l.took; sent++ {
			r.Notification(results.Notification{At: arrival(sent), Client: sent % syntheticClients, Zxid: int64(sent + 1), Type: "NodeDeleted", Path: "/"})
		}
		r.Span(d.Operation, i%syntheticClients, start, start+l.took)
	}
	r.CloseWindow(length)
	return r
}

// syntheticLockstep returns a document of a lockstep run with that many notifications per operation.
func syntheticLockstep(notifications float64) *results.Document {
	const operations = 50
	return syntheticLoad{results.LockstepMode, operations, time.Millisecond, int(math.Round(notifications * operations))}.document()
}

// syntheticClosed returns a document of a closed load whose operations took that many milliseconds. It has as many operations
// as a p99 needs, and no notification.
func syntheticClosed(ms float64) *results.Document {
	const operations = 1000
	return syntheticLoad{results.ClosedMode, operations, time.Duration(ms * float64(time.Millisecond)), 0}.document()
}

// syntheticPairs returns pairs in which the head takes slowdown times as long, with the noise of a quiet machine. They
// include a confirmation if the screen is flagged.
func syntheticPairs(slowdown float64, r PairRules) Pairs {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a self-test has to be the same each time
	stage := func(n int) [][2][]*results.Document {
		var pairs [][2][]*results.Document
		for range n {
			noise := func() float64 { return math.Exp(0.027 * random.NormFloat64()) }
			pairs = append(pairs, [2][]*results.Document{{syntheticClosed(noise())}, {syntheticClosed(slowdown * noise())}})
		}
		return pairs
	}
	p := Pairs{Screen: stage(r.Rule.ScreenPairs)}
	if variants, _ := p.Flagged(r); len(variants) > 0 {
		p.Confirm = stage(r.Rule.ConfirmPairs)
	}
	return p
}

// syntheticObjective is what the synthetic capacities are for.
const syntheticObjective = "response-p99 < 50ms"

// syntheticCapacity returns the report of a search in which the objective held up to a rate.
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

// syntheticLimit returns the rule that a synthetic capacity is at least a rate.
func syntheticLimit(rate float64) Assertion {
	objective, err := capacity.ParseObjective(syntheticObjective)
	if err != nil {
		panic(fmt.Sprintf("the synthetic objective cannot be read: %v", err))
	}
	return Assertion{
		Claim:  claim.Claim{Variant: synthetic, Metric: results.Capacity, Op: ">=", Value: rate},
		Source: FromFile, Scenario: "self-test", Objective: objective, By: capacity.ByRate,
	}
}
