package gate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/results"
)

// plantedClients is how many clients a plant has.
const plantedClients = 50

// plantedDuration is what was asked of every free-running plant, however long it took: another load is not compared.
const plantedDuration = 500 * time.Millisecond

// plantedLoad is what a plant's clients did, one operation after another.
type plantedLoad struct {
	mode          string
	operations    int
	took          time.Duration // by each operation
	notifications int           // one each of so many transactions
}

// document returns what a run would have left of the load: by the same way from events to metrics, so that it is valid.
func (l plantedLoad) document() *results.Document {
	length := time.Duration(l.operations) * l.took
	d := &results.Document{
		Schema: results.Schema, Run: "self-test", Started: time.Unix(0, 0).UTC(), Recipe: "planted", Variant: "planted", Kind: "optimized", Clients: plantedClients, Repeat: 1,
		Scenario:    results.Scenario{Name: "self-test", Mode: l.mode, Size: 1, ClientCounts: fmt.Sprint([]int{plantedClients}), Repeats: 1, BystanderRate: 1},
		Environment: results.Environment{Engine: "container", Servers: []string{"127.0.0.1:2181"}, SessionTimeout: time.Second},
		Servers:     []results.ServerReport{{Server: 1, Name: "planted"}},
		Phases:      []string{"wait"}, Operation: "wait", Batch: 1, Waiting: []string{"wait"}, PacedPhases: []string{"wait"}, Shares: []results.Share{},
		Counts:   results.Counts{Requests: map[string]int64{}, Failed: map[string]int64{}},
		Oracle:   results.Oracle{Checked: true, ClientNotifications: int64(l.notifications), ServerNotifications: int64(l.notifications)},
		Warnings: []string{}, Invalid: []string{}, Violations: []results.Violation{},
	}
	raw := results.Raw{Window: results.Window{End: length, Operations: int64(l.operations), Paced: l.mode == "drain"}}
	if !raw.Window.Paced {
		d.Scenario.Duration = plantedDuration
	}
	for i := range l.operations {
		start := time.Duration(i) * l.took
		raw.Samples = append(raw.Samples, results.Sample{Phase: "wait", Client: i % plantedClients, Start: start, End: start + l.took})
	}
	for i := range l.notifications {
		at := length * time.Duration(i) / time.Duration(l.notifications)
		raw.Notifications = append(raw.Notifications, results.Notification{At: at, Client: i % plantedClients, Zxid: int64(i + 1), Type: "NodeDeleted", Path: "/"})
	}
	d.Expected = results.Expected{Exact: d.CountsExactly(), Costs: map[string]results.Cost{
		results.NotificationsPerOp: {Formula: "planted", Value: float64(l.notifications) / float64(l.operations)},
	}}
	if err := d.Observe(raw); err != nil {
		panic(fmt.Sprintf("a plant's histograms cannot be encoded: %v", err))
	}
	d.Judge()
	return d
}

// planted returns a document as a drain leaves it, in which each operation takes so many notifications.
func planted(notifications float64) *results.Document {
	const operations = 50
	return plantedLoad{"drain", operations, time.Millisecond, int(math.Round(notifications * operations))}.document()
}

// plantedPairs returns pairs of which the head takes slowdown times as long, give or take what a quiet machine does. If
// the screen flags that, there is a confirmation.
func plantedPairs(slowdown float64, r PairRules) Pairs {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a plant has to be the same each time
	stage := func(n int) [][2][]*results.Document {
		var pairs [][2][]*results.Document
		for range n {
			noise := func() float64 { return math.Exp(0.027 * random.NormFloat64()) }
			pairs = append(pairs, [2][]*results.Document{{timed(noise())}, {timed(slowdown * noise())}})
		}
		return pairs
	}
	p := Pairs{Screen: stage(r.Rule.ScreenPairs)}
	if variants, _ := p.Flagged(r); len(variants) > 0 {
		p.Confirm = stage(r.Rule.ConfirmPairs)
	}
	return p
}

// timed returns a document whose operations took so many milliseconds; as many as a p99 needs, and without any
// notification.
func timed(ms float64) *results.Document {
	const operations = 1000
	return plantedLoad{"closed", operations, time.Duration(ms * float64(time.Millisecond)), 0}.document()
}
