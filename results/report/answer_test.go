package report_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

const contention = "predecessor-watch against children-watch by ops/s and herd-max, each waiter watches the one before it"

// contended returns repeats of two locks that were measured in turns. The second one is about speedup times as fast.
func contended(repeats int, speedup float64, change func(d *results.Document)) (docs []*results.Document) {
	for i := range repeats {
		for j, variant := range []string{"children-watch", "predecessor-watch"} {
			metrics := map[string]float64{"ops/s": 80 + float64(i), "notifications/op": 59, "requests/op": 62, "herd-max": 50, "handoff-p50-ns": 11e6}
			if j == 1 {
				metrics = map[string]float64{"ops/s": speedup * (84 - float64(i)), "notifications/op": 1, "requests/op": 5.01, "herd-max": 1, "handoff-p50-ns": 2e6}
			}
			d := document(variant, []string{"naive", "optimized"}[j], 50, i+1, metrics)
			d.Scenario.Overview, d.Scenario.Mode, d.Started = contention, results.ClosedMode, time.Unix(int64(60*(2*i+j)), 0)
			if change != nil {
				change(d)
			}
			docs = append(docs, d)
		}
	}
	return docs
}

// stops lets the process of a client stop dead twice in a window of 12 s, whose session lives for 4 s.
func stops(d *results.Document) {
	d.Window = results.Window{Start: time.Second, End: 13 * time.Second}
	d.Scenario.Faults = []results.FaultLoad{{Kind: results.StopFault, Whom: "holder", At: 2 * time.Second, Every: 6 * time.Second}}
	d.Failure = &results.Failure{Faults: []results.Fault{
		{At: 2 * time.Second, Kind: "expire", Recovery: time.Hour},
		{At: 3 * time.Second, Kind: "stop", Recovery: 4 * time.Second},
		{At: 4 * time.Second, Kind: "stop", Recovery: 3 * time.Second},
		{At: 9 * time.Second, Kind: "stop", Recovery: -1},
	}}
	if d.Variant == "children-watch" {
		d.Failure.Faults = d.Failure.Faults[:2]
	}
}

func TestAnswers(t *testing.T) {
	only := func(variant string, docs []*results.Document) (out []*results.Document) {
		for _, d := range docs {
			if d.Variant == variant {
				out = append(out, d)
			}
		}
		return out
	}
	embedded := func(d *results.Document) { d.Environment.Engine = results.Embedded }
	expecting := func(claims ...string) func(d *results.Document) {
		return func(d *results.Document) { d.Scenario.Expect = claims }
	}
	broken := func(d *results.Document) {
		if d.Variant == "predecessor-watch" {
			d.Violations = []results.Violation{{Text: "two clients held the lock"}}
		}
	}
	knownBroken := func(d *results.Document) {
		if d.Variant == "children-watch" {
			d.KnownBroken = "two clients may hold the lock"
		}
	}
	var got bytes.Buffer
	for _, tt := range []struct {
		name string
		docs []*results.Document
	}{
		{"six pairs", contended(6, 4, nil)},
		{"six pairs, worse", contended(6, 0.5, nil)},
		{"six pairs without a difference", contended(6, 0.98, nil)},
		{"three pairs", contended(3, 4, nil)},
		{"one repeat", contended(1, 4, nil)},
		{"embedded", contended(6, 4, embedded)},
		{"one variant", only("znode", append(contended(1, 4, nil), document("znode", "naive", 1, 1, map[string]float64{"ops/s": 800, "handoff-p50-ns": 1e6, "requests/op": 2, "notifications/op": 0})))},
		{"one variant of a pair", only("children-watch", contended(3, 4, nil))},
		{"one variant, embedded", only("children-watch", contended(3, 4, embedded))},
		{"no pair", contended(3, 4, func(d *results.Document) { d.Scenario.Overview = "" })},
		{"a broken variant", contended(6, 4, broken)},
		{"all broken", only("predecessor-watch", contended(6, 4, broken))},
		{"a variant that is known to be broken", contended(6, 4, knownBroken)},
		{"faults that dominate", contended(1, 4, stops)},
		{"claims that hold", contended(6, 4, expecting("predecessor-watch herd-max <= 1", "predecessor-watch writes/op <= 1"))},
		{"a claim that does not hold", contended(6, 4, expecting("predecessor-watch herd-max <= 1", "children-watch requests/op <= 12 x predecessor-watch"))},
		{"without the largest load", contended(6, 4, func(d *results.Document) {
			d.Scenario.Expect, d.Scenario.Clients = []string{"children-watch herd-max <= 1"}, []int{50, 100}
		})},
		{"nothing measured", contended(1, 4, func(d *results.Document) { d.Metrics = nil })},
		{"equal times of one repeat", contended(1, 80.0/84, nil)},
		{"a count that one variant lacks", contended(1, 4, func(d *results.Document) {
			if d.Scenario.Overview = ""; d.Variant == "children-watch" {
				delete(d.Metrics, "notifications/op")
			}
		})},
		{"a rate", contended(1, 4, func(d *results.Document) { d.Rate = 200 })},
	} {
		for _, d := range tt.docs {
			if d.Scenario.Name == "" {
				t.Fatalf("%s: a document without a scenario", tt.name)
			}
		}
		hint := func(d *results.Document) string {
			return fmt.Sprintf("What does the lock of your client library cost? zkbench run lock-libraries --clients %d", d.Clients)
		}
		fmt.Fprintf(&got, "# %s\n", tt.name)
		report.WriteAnswers(&got, summary.Of(tt.docs), hint, 80)
		fmt.Fprintln(&got)
	}
	if n := table.Width(got.String()); n > 80 {
		t.Errorf("a line of %d columns", n)
	}
	golden.Compare(t, filepath.Join("testdata", "answers.txt"), got.Bytes())
}

// Several scenarios have an answer each and no hint.
func TestAnswersOfSeveralScenarios(t *testing.T) {
	var docs []*results.Document
	for i := range 3 {
		docs = append(docs, contended(1, 4, func(d *results.Document) { d.Scenario.Name = fmt.Sprintf("s%d", i) })...)
		var out strings.Builder
		report.WriteAnswers(&out, summary.Of(docs), func(*results.Document) string { return "the hint" }, 80)
		if got := strings.Count(out.String(), "compared with"); got != i+1 || strings.Contains(out.String(), "the hint") != (i == 0) {
			t.Errorf("%d scenarios: %d answers in\n%s", i+1, got, out.String())
		}
	}
}

// The factor is never below 1, in a metric of which more is better and in one of which less is.
func TestGainsSayWhichIsBetter(t *testing.T) {
	for _, tt := range []struct {
		metric  string
		speedup float64
		want    string
	}{
		{metric.OpsPerSecond, 4, "times as fast in ops/s"},
		{metric.OpsPerSecond, 0.25, "times as slow in ops/s"},
		{"handoff-p50-ns", 4, "5.50 times as fast in handoff p50"},
	} {
		docs := contended(6, tt.speedup, func(d *results.Document) {
			d.Scenario.Overview = "predecessor-watch against children-watch by " + tt.metric
			d.Histograms = map[string]results.Histogram{"handoff": results.NewHistogram(make([]time.Duration, 200))}
		})
		var out bytes.Buffer
		report.WriteAnswers(&out, summary.Of(docs), func(*results.Document) string { return "" }, 1000)
		if !strings.Contains(out.String(), strings.Replace(tt.want, " in ", " as children-watch in ", 1)) && !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s, %g: %s", tt.metric, tt.speedup, out.String())
		}
	}
}
