package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

// beside returns a document with a background whose requests took 2 ms in the time before the load, and 6 ms in the window.
func beside(t *testing.T) *results.Document {
	t.Helper()
	return besideTimes(t, 1)
}

// besideTimes returns the same with factor times the requests.
func besideTimes(t *testing.T, factor int) *results.Document {
	t.Helper()
	d := recordertest.Whole()
	d.Scenario.Background = &results.BackgroundLoad{Reads: 1000 * factor, Writes: 500 * factor, Bytes: 10, Znodes: 3, Sessions: 2}
	stretch := func(start, end, took time.Duration) results.BackgroundStretch {
		requests := func(n int64) results.BackgroundRequests {
			response := results.NewHistogram(slices.Repeat([]time.Duration{took}, int(n)))
			return results.BackgroundRequests{Due: n, Answered: n, Response: response, Service: response}
		}
		length := int64(factor) * int64((end-start)/ms)
		return results.BackgroundStretch{Start: start, End: end, BacklogMax: 3, Read: requests(length), Write: requests(length / 2)}
	}
	during := stretch(d.Window.Start, d.Window.End, 6*ms)
	d.Background = &results.Background{Alone: stretch(d.Window.Start-20*ms, d.Window.Start, 2*ms), During: &during}
	d.Oracle.BackgroundWrites = 30 * int64(factor)
	d.Oracle.ServerTransactions += 30 * int64(factor)
	d.Metrics = metric.Compute(d)
	return d
}

func TestBackgroundMetrics(t *testing.T) {
	d := besideTimes(t, 10)
	recordertest.Sound(t, d)
	for metric, want := range map[string]float64{
		"background-read-p50-slowdown":  3,
		"background-write-p99-slowdown": 3,
		"background-reads/s":            10000,
		"background-alone-writes/s":     5000,
		"background-backlog-max":        3,
	} {
		if got := d.Metrics[metric].Value; got < 0.99*want || got > 1.01*want {
			t.Errorf("%s is %g, want %g", metric, got, want)
		}
	}
	names := metric.Names(nil, nil, nil)
	for name := range d.Metrics {
		if metric.Named(name).Part == metric.BackgroundPart && !slices.Contains(names, name) {
			t.Errorf("claims cannot name %s", name)
		}
	}
	// A load without writes has no metrics of writes.
	d.Scenario.Background.Writes = 0
	d.Background.Alone.Write, d.Background.During.Write = results.BackgroundRequests{}, results.BackgroundRequests{}
	d.Metrics = metric.Compute(d)
	for name := range d.Metrics {
		if strings.HasPrefix(name, "background") && strings.Contains(name, "write") {
			t.Errorf("without writes there is %s", name)
		}
	}
}

// A p99 of fewer than 100 requests rests on one or two of them, and so would its slowdown.
func TestSlowdownOfFewRequests(t *testing.T) {
	for _, tt := range []struct {
		factor int // times 20 reads and 10 writes alone
		want   []string
	}{
		{1, []string{"read-p50", "write-p50"}},
		{5, []string{"read-p50", "read-p99", "write-p50"}},
		{9, []string{"read-p50", "read-p99", "write-p50"}},
		{10, []string{"read-p50", "read-p99", "write-p50", "write-p99"}},
	} {
		d := besideTimes(t, tt.factor)
		recordertest.Sound(t, d)
		var got []string
		for name := range d.Metrics {
			if name, ok := strings.CutSuffix(name, "-slowdown"); ok {
				got = append(got, strings.TrimPrefix(name, "background-"))
			}
		}
		if slices.Sort(got); !slices.Equal(got, tt.want) {
			t.Errorf("%d reads and %d writes alone: slowdowns of %v, want %v", 20*tt.factor, 10*tt.factor, got, tt.want)
		}
	}
}

func TestFindingsOfBackgrounds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(d *results.Document)
		want   string // the only reason why the document is invalid
	}{
		{"all is well", func(*results.Document) {}, ""},
		{"saturated", func(d *results.Document) {
			d.Background.During, d.Window.Operations = nil, 0
			d.Background.Alone.Read.Answered = 10
			d.Expected = results.Expected{Costs: map[string]results.Cost{}}
		}, "the background alone saturates the ensemble: it offered 1000 reads/s and 500 writes/s, and achieved 500 and 500, with up to 3 requests unanswered: ask for a lower rate"},
		{"failed requests", func(d *results.Document) { d.Background.Alone.Write.Failed, d.Background.During.Read.Failed = 2, 3 }, "5 requests of the background failed"},
		{"failed requests, as servers were killed", func(d *results.Document) {
			d.Background.Alone.Write.Failed = 2
			d.Scenario.Faults = []results.FaultLoad{{Kind: "kill", Whom: "leader", At: time.Second}}
		}, ""},
		{"a write that the servers did not count", func(d *results.Document) { d.Oracle.ServerTransactions-- }, "clients and background sent 40 writes, servers made 39 transactions: +1"},
	} {
		d := beside(t)
		tt.change(d)
		d.Metrics = metric.Compute(d)
		if got := strings.Join(doubts.Invalid(d), "; "); got != tt.want {
			t.Errorf("%s: invalid %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A background that keeps up alone, and not beside the load, has times that depend on the length of the window.
func TestBackgroundFallsBehind(t *testing.T) {
	for _, tt := range []struct {
		name          string
		due, answered int64
		want          bool
	}{
		{"it keeps up", 1000, 1000, false},
		{"some are on their way", 1000, 990, false},
		{"some are on their way in a short window", 100, 90, false},
		{"it answers a backlog from before", 1000, 1050, false},
		{"it falls behind", 1000, 980, true},
	} {
		for _, kind := range []string{"reads", "writes"} {
			d := beside(t)
			requests := map[string]*results.BackgroundRequests{"reads": &d.Background.During.Read, "writes": &d.Background.During.Write}[kind]
			requests.Due, requests.Answered = tt.due, tt.answered
			text := strings.Join(doubts.Warnings(d), "; ")
			if got := strings.Contains(text, "did not keep up beside the load") && strings.Contains(text, kind); got != tt.want {
				t.Errorf("%s, %s: warnings %q", tt.name, kind, text)
			}
		}
	}
}

func TestTableOfBackgrounds(t *testing.T) {
	metrics := func(f float64) map[string]float64 {
		return map[string]float64{
			"ops/s": 200 / f, "acquire-p50-ns": 1e7 * f, "acquire-p99-ns": 4e9 * f, "notifications/op": 1 * f, "requests/op": 5, "herd-max": 49, "bystander-p99-ns": 8e5,
			"background-read-p50-ns": 1e6 * f, "background-read-p50-slowdown": f, "background-read-p99-ns": 5e6 * f,
			"background-write-p50-ns": 2e6 * f, "background-write-p50-slowdown": 2 * f,
		}
	}
	docs := []*results.Document{document("children-watch", "naive", 50, 1, metrics(3)), document("predecessor-watch", "optimized", 50, 1, metrics(1.04))}
	for _, d := range docs {
		d.Scenario.Background = &results.BackgroundLoad{Reads: 1000, Writes: 500, Bytes: 10, Znodes: 3, Sessions: 2}
	}
	compareTables(t, "table-background", docs, 80, 200)
}
