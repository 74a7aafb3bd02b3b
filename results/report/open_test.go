package report_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/grouping"
)

// openDocument is the result of an open load of 50 clients. With a factor of 0, it is beyond the capacity.
func openDocument(variant, kind string, rate results.Rate, repeat int, factor float64) *results.Document {
	metrics := map[string]float64{
		"ops/s": 100, "achieved/s": 99.5, "offered/s": 100, "backlog-max": 3 + factor, "response-p50-ns": 4e6 * factor, "response-p99-ns": 60e6 * factor,
		"service-p50-ns": 3e6, "service-p99-ns": 20e6, "notifications/op": 1, "herd-max": 49, "requests/op": 5, "handoff-p50-ns": 2e6,
	}
	d := document(variant, kind, 50, repeat, metrics)
	d.Scenario.Mode, d.Rate = results.OpenMode, rate
	d.Window = results.Window{End: 10 * time.Second}
	d.Open = &results.Open{LastEmpty: 10 * time.Second}
	if factor == 0 {
		d.Open.LastEmpty = time.Second
		delete(d.Metrics, "response-p50-ns")
		delete(d.Metrics, "response-p99-ns")
	}
	return d
}

// A table of an open load has a column for the rate, and no response times of a load that was beyond the capacity in one of its repeats.
func TestOpenTable(t *testing.T) {
	docs := []*results.Document{
		openDocument("znode", "naive", 100, 1, 2), openDocument("predecessor-watch", "optimized", 100, 1, 1),
		openDocument("znode", "naive", 200, 1, 9), openDocument("znode", "naive", 200, 2, 0), openDocument("predecessor-watch", "optimized", 200, 1, 3),
	}
	compareTables(t, "table-open", docs, 80, 120)
}

// Arrivals that were given up have no response time, with or without faults; those that a client still serves when it waits in vain,
// as it may after a fault, do not make the load one that is beyond the capacity.
func TestGivenUpArrivals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		open   results.Open
		faults []results.FaultLoad
		want   bool
	}{
		{"all served", results.Open{Arrivals: 100, Served: 100}, nil, false},
		{"given up", results.Open{Arrivals: 100, Served: 70, GivenUp: 30}, nil, true},
		{"given up after a fault", results.Open{Arrivals: 100, Served: 70, GivenUp: 30}, []results.FaultLoad{{Kind: "kill", Whom: "leader", At: 6 * time.Second}}, true},
		{"in vain after a fault", results.Open{Arrivals: 100, Served: 98}, []results.FaultLoad{{Kind: "kill", Whom: "leader", At: 6 * time.Second}}, false},
	} {
		d := openDocument("a", "naive", 100, 1, 1)
		tt.open.LastEmpty, d.Open, d.Scenario.Faults = d.Window.End, &tt.open, tt.faults
		if got := d.BeyondCapacity(); got != tt.want {
			t.Errorf("%s: beyond the capacity %t, want %t", tt.name, got, tt.want)
		}
	}
}

// A repeat that was finished is left out if another one of its group was not.
func TestWithoutUnfinished(t *testing.T) {
	cut, fast, other := document("a", "naive", 5, 1, nil), document("a", "naive", 5, 2, nil), document("a", "naive", 6, 1, nil)
	cut.Unfinished = &results.Unfinished{}
	if left := grouping.WithoutUnfinished([]*results.Document{cut, fast, other}); len(left) != 1 || left[0] != other {
		t.Errorf("%d documents are left, want the one with 6 clients", len(left))
	}
}
