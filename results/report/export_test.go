package report_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
)

// exported are rows with a metric that some lack, with doubts, and with marks.
func exported() []summary.Row {
	broken := document("children-watch", "naive", 50, 1, map[string]float64{"ops/s": 110.4, "herd-max": 49})
	broken.Violations, broken.Warnings = []results.Violation{{Text: "two holders"}}, []string{"a, warning", `with "quotes"`}
	invalid := document("predecessor-watch", "optimized", 50, 1, map[string]float64{"ops/s": 443.2})
	invalid.Invalid = []string{"a reason"}
	faulty := document("predecessor-watch", "optimized", 50, 1, map[string]float64{metric.RecoveryMax: 1.5e9, metric.Orphans: 2})
	faulty.Scenario.Faults = []results.FaultLoad{{Kind: "kill", Whom: "leader", At: time.Second, For: 2 * time.Second}}
	first, second := openDocument("predecessor-watch", "optimized", 200, 1, 1), openDocument("predecessor-watch", "optimized", 200, 2, 2)
	first.Tags, second.Tags = results.Tags{"branch": "main"}, results.Tags{"branch": "topic", "host": "ci"}
	return summary.Of([]*results.Document{broken, invalid, faulty, first, second})
}

func TestFormats(t *testing.T) {
	var text, markdown, csv, json bytes.Buffer
	s := exported()
	report.WriteTable(&text, s, 80)
	report.WriteMarkdown(&markdown, s)
	report.WriteCSV(&csv, s)
	must.Do(t, report.WriteJSON(&json, s))
	for _, format := range report.TrendFormats() {
		var trend bytes.Buffer
		must.Do(t, report.WriteTrend(&trend, format, append(s, summary.Of(trendDocuments())...)))
		golden.Compare(t, "testdata/trend."+format+".json", trend.Bytes())
	}
	golden.Compare(t, "testdata/report.txt", text.Bytes())
	golden.Compare(t, "testdata/report.md", markdown.Bytes())
	golden.Compare(t, "testdata/report.csv", csv.Bytes())
	golden.Compare(t, "testdata/report.json", json.Bytes())
}

// trendDocuments are two repeats on containers, whose times of handoffs have enough samples, and one on the embedded server.
func trendDocuments() []*results.Document {
	values := map[string]float64{metric.RequestsPerOp: 5, metric.HerdMax: 1, "ops/s": 100, "handoff-p50/floor": 2.5, "violations": 0, metric.BackgroundSlowdown("reads", 50): 3}
	first := document("predecessor-watch", "optimized", 10, 1, values)
	values[metric.RequestsPerOp] = 5.5
	second := document("predecessor-watch", "optimized", 10, 2, values)
	embedded := document("children-watch", "naive", 10, 1, values)
	embedded.Environment.Engine = results.Embedded
	return []*results.Document{first, second, embedded}
}
