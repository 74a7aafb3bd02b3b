package results_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

const ms = time.Millisecond

func TestHerdQuantile(t *testing.T) {
	h := results.Herd{Sizes: []results.SizeCount{{1, 98}, {50, 1}, {100, 1}}}
	for q, want := range map[float64]int{0.5: 1, 0.98: 1, 0.99: 50, 1: 100} {
		if got := h.Quantile(q); got != want {
			t.Errorf("quantile %g = %d, want %d", q, got, want)
		}
	}
}

// Histograms that are decoded together equal one histogram of all samples.
func TestDecodingAllIsLossless(t *testing.T) {
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
			parts = append(parts, results.NewHistogram(part))
		}
		if want := results.NewHistogram(all).Decode(); !results.DecodeAll(parts).Equals(want) {
			t.Fatalf("%d samples that are decoded together differ from the same recorded at once", want.TotalCount())
		}
	}
}

// The smallest readings are compared, and a growth that may be noise is not reported.
func TestHeapPerWatch(t *testing.T) {
	for _, tt := range []struct {
		name string
		heap results.Heap
		want float64 // 0: not reported
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
		recordertest.Measurement{}.Complete(d)
		if m, told := d.Metrics[metric.HeapPerWatch]; told != ok || m.Value != tt.want {
			t.Errorf("%s: the metric is %+v (%v)", tt.name, m, told)
		}
	}
}

// Only ZooKeeper is known to name transactions, since 3.9. A newer version of another product is not taken for a newer ZooKeeper.
func TestServersOfAnEnvironment(t *testing.T) {
	for _, tt := range []struct {
		e        results.Environment
		software string
		names    bool
	}{
		{results.Environment{ZooKeeper: "3.9.3"}, "ZooKeeper 3.9.3", true},
		{results.Environment{ZooKeeper: "3.10.0"}, "ZooKeeper 3.10.0", true},
		{results.Environment{ZooKeeper: "4.0.0"}, "ZooKeeper 4.0.0", true},
		{results.Environment{ZooKeeper: "3.8.4"}, "ZooKeeper 3.8.4", false},
		{results.Environment{}, "ZooKeeper", false},
		{results.Environment{Product: "ClickHouse Keeper", ZooKeeper: "26.7.5.10"}, "ClickHouse Keeper 26.7.5.10", false},
	} {
		if software, names := tt.e.Software(), tt.e.NamesTransactions(); software != tt.software || names != tt.names {
			t.Errorf("%+v: %s, names transactions: %t; want %s, %t", tt.e, software, names, tt.software, tt.names)
		}
	}
	var plain results.Environment
	secure := results.Environment{TLS: true, Auth: "digest"}
	got := []string{plain.Access("process"), plain.Access(), secure.Access("external"), secure.Access()}
	if want := []string{"process", "", "external, TLS, digest", "TLS, digest"}; !slices.Equal(got, want) {
		t.Errorf("access: %q, want %q", got, want)
	}
	if text := string(must.Get(json.Marshal(plain))(t)); strings.Contains(text, "product") || strings.Contains(text, "tls") || strings.Contains(text, "auth") {
		t.Errorf("ZooKeeper on a plain connection is written as %s", text)
	}
}
