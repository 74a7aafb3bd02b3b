package recordertest

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/store"
)

const ms = time.Millisecond

// Note returns a notification that /lock was deleted.
func Note(at time.Duration, client int, zxid int64) recorder.Notification {
	return recorder.Notification{At: at, Client: client, Zxid: zxid, Type: "NodeDeleted", Path: "/lock"}
}

// Described returns the document of 10 clients in lockstep before their measurement is recorded.
func Described() *results.Document {
	return &results.Document{
		Schema: results.Schema, Run: "r", Started: time.Unix(1, 0).UTC(), Recipe: "lock", Variant: "a", Kind: "naive", Clients: 10, Repeat: 2,
		Scenario:    results.Scenario{Name: "lock-drain", Mode: "lockstep", Size: 1, Clients: []int{1, 10}, Repeats: 3, BystanderRate: 100},
		Environment: results.Environment{Engine: "container", Servers: []string{"a:1"}, SessionTimeout: time.Second},
		Phases:      []string{"acquire", "release"}, Operation: "release", Batch: 1, Waiting: []string{"acquire"},
		UntimedPhases: []string{"acquire"}, Shares: []results.Share{},
		Counts:   results.Counts{Requests: map[string]int64{"delete": 10, "exists": 4}, Failed: map[string]int64{"exists": 1}, Writes: 10},
		Expected: results.Expected{Costs: map[string]results.Cost{metric.WritesPerOp: {Formula: "1", Value: 1}}},
		Oracle:   results.Oracle{Checked: true, ClientNotifications: 10, ServerNotifications: 10, ClientWrites: 10, ServerTransactions: 10},
		Warnings: []string{}, Invalid: []string{},
	}
}

// Whole returns a document as a run leaves it: of 10 clients in lockstep, each notified once.
func Whole() *results.Document {
	d := Described()
	m := Measurement{Config: recorder.Config{}, Window: Stretch{Start: ms, End: 41 * ms}}
	for i := range 10 {
		at := time.Duration(4*i+2) * ms
		m.Spans = append(m.Spans, Span{Phase: "release", Client: i, Start: at, End: at + ms})
		m.Notifications = append(m.Notifications, Note(at, i, int64(i)+1))
		m.Reads = append(m.Reads, results.BystanderRead{At: at, Service: ms, Response: 2 * ms})
	}
	m.Complete(d)
	return d
}

// Sound fails the test unless a document keeps all invariants and can be read after it was written.
func Sound(t *testing.T, d *results.Document) {
	t.Helper()
	if err := store.CheckInvariants(d); err != nil {
		t.Error(err)
	}
	must.Get(store.Decode(must.Get(store.Seal(d))(t)))(t)
}
