package report_test

import (
	"bytes"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
)

func TestParsePair(t *testing.T) {
	for text, want := range map[string]claim.Pair{
		"b against a by ops/s":                           {Optimized: "b", Naive: "a", Metrics: []string{"ops/s"}},
		" b  against a by failover-clean-p50-ns":         {Optimized: "b", Naive: "a", Metrics: []string{"failover-clean-p50-ns"}},
		"b against a by ops/s and herd-max":              {Optimized: "b", Naive: "a", Metrics: []string{"ops/s", "herd-max"}},
		"b against a by ops/s, each watches one, if any": {Optimized: "b", Naive: "a", Metrics: []string{"ops/s"}, Change: "each watches one, if any"},
		"b against a":                    {},
		"b against a by":                 {},
		"b versus a by ops/s":            {},
		"b against a by ops/s x":         {},
		"b against a by ops/s or x/op":   {},
		"a against a by ops/s":           {},
		"b against a by ops/s and ops/s": {},
		"":                               {},
	} {
		got, err := claim.ParsePair(text)
		if !reflect.DeepEqual(got, want) || (err == nil) != (want.Naive != "") {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestOverview(t *testing.T) {
	metrics := func(speed, notifications float64) map[string]float64 {
		return map[string]float64{"ops/s": speed, "handoff-p50-ns": 1e9 / speed, "notifications/op": notifications, "herd-max": notifications}
	}
	scenario := func(name, pair string, docs ...*results.Document) []*results.Document {
		for _, d := range docs {
			d.Scenario.Name, d.Scenario.Overview = name, pair
		}
		return docs
	}
	inTurns := func(repeats int) (docs []*results.Document) {
		for i := range repeats {
			for j, variant := range []string{"slow", "fast"} {
				d := document(variant, "naive", 2, i+1, map[string]float64{"ops/s": 100 * float64(1+j) * float64(10+i), "take-p50-ns": float64(10 + (i+j)%2)})
				if j == 1 && i == 0 {
					d.Metrics["ops/s"] = results.Metric{Value: 1500} // the ratio of the medians is not the median of the ratios
				}
				d.Started = time.Unix(int64(2*i+j), 0)
				docs = append(docs, d)
			}
		}
		return docs
	}
	docs := slices.Concat(
		scenario("by-six-pairs", "fast against slow by ops/s and take-p50-ns", inTurns(6)...),
		scenario("by-three-pairs", "fast against slow by ops/s and take-p50-ns", inTurns(3)...),
		scenario("by-rate", "fast against slow by ops/s and notifications/op and herd-max, each client watches the one before it and no client is woken in vain",
			document("slow", "naive", 50, 1, metrics(97, 58.1)), document("fast", "optimized", 50, 1, metrics(502, 1)),
			document("slow", "naive", 100, 1, metrics(1, 1)), // the other one was not measured with so many
			document("slow", "naive", 1, 1, metrics(1, 1)), document("fast", "optimized", 1, 1, metrics(1, 1))),
		scenario("by-time", "fast against slow by handoff-p50-ns",
			document("slow", "naive", 2, 1, metrics(10, 2)), document("fast", "optimized", 2, 1, metrics(5, 1))),
		scenario("not-measured", "fast against slow by take-p50-ns",
			document("slow", "naive", 2, 1, nil), document("fast", "optimized", 2, 1, nil)),
		scenario("by-share", "fast against slow by acquire/handoff",
			document("slow", "naive", 2, 1, map[string]float64{"acquire/handoff": 0.125}), document("fast", "optimized", 2, 1, map[string]float64{"acquire/handoff": 0})),
		scenario("by-loss", "fast against slow by items-lost and ops/s, no item is lost",
			document("slow", "naive", 2, 1, map[string]float64{"items-lost": 12, "ops/s": 20}), document("fast", "optimized", 2, 1, map[string]float64{"items-lost": 0, "ops/s": 10})),
		scenario("one-pair", "predecessor-watch against children-watch by ops/s",
			document("children-watch", "naive", 2, 1, metrics(10, 2)), document("predecessor-watch", "optimized", 2, 1, metrics(20, 1))),
		scenario("unpaired", "", document("slow", "naive", 2, 1, metrics(10, 2))),
		scenario("half", "fast against slow by ops/s", document("slow", "naive", 2, 1, metrics(10, 2))),
	)
	docs[18].Invalid = []string{"a reason"}
	rows := summary.Of(docs)
	var text, markdown bytes.Buffer
	report.WriteAnswers(&text, summary.Of(docs), func(*results.Document) string { return "" }, 80)
	report.WriteOverviewMarkdown(&markdown, rows)
	golden.Compare(t, filepath.Join("testdata", "overview.txt"), text.Bytes())
	golden.Compare(t, filepath.Join("testdata", "overview.md"), markdown.Bytes())
}
