package results_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/golden"
)

// paper is what was published: 200 operations of each of 50 clients, counted as two units each, took 10 s.
func paper() results.Published {
	return results.Published{
		Source: "a paper", Differs: "they had 50 machines, and this is one.", Unit: "barrier operations", UnitsPerOperation: 2,
		Rows: []results.PublishedRow{
			{Name: "200 barriers", Operations: 200, Seconds: map[int]float64{50: 10, 100: 20}},
			{Name: "1600 barriers", Operations: 1600, Seconds: map[int]float64{50: 64}},
		},
	}
}

// report is published, too: values of a metric, which a longer load could make larger.
func report() results.Published {
	return results.Published{
		Source: "a report", Differs: "they had another load.", Metric: results.RecoveryMax, Unit: "times without a leader",
		Rows: []results.PublishedRow{
			{Name: "first outage", Values: map[int]float64{50: 2e9, 201: 8e9}},
			{Name: "second outage", Values: map[int]float64{50: 4e9}},
		},
	}
}

func TestPublishedValues(t *testing.T) {
	for _, tt := range []struct {
		name         string
		p            results.Published
		row, clients int
		want         float64
		ok           bool
	}{
		{"rate of 50 x 200 x 2 / 10", paper(), 0, 50, 2000, true},
		{"rate of twice as many", paper(), 0, 100, 2000, true},
		{"rate of another row", paper(), 1, 50, 2500, true},
		{"no time", paper(), 1, 100, 0, false},
		{"value, which does not depend on units or clients", report(), 0, 201, 8e9, true},
		{"value of another row", report(), 1, 50, 4e9, true},
		{"no value", report(), 1, 201, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := tt.p.Value(tt.p.Rows[tt.row], tt.clients); math.Abs(got-tt.want) > 1e-9 || ok != tt.ok {
				t.Errorf("row %d, %d clients: %g, %t; want %g, %t", tt.row, tt.clients, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestPublishedTable(t *testing.T) {
	docs := []*results.Document{
		document("children-watch", "naive", 50, 1, map[string]float64{"ops/s": 200, "violations": 1}),
		document("predecessor-watch", "optimized", 7, 1, map[string]float64{"ops/s": 999}), // nobody has published that
		document("predecessor-watch", "optimized", 50, 1, map[string]float64{"ops/s": 500}),
		document("predecessor-watch", "optimized", 100, 1, map[string]float64{"ops/s": 1500}),
		document("znode", "naive", 100, 1, map[string]float64{"herd-max": 1}), // a drain has no throughput
	}
	for _, width := range []int{50, 80, 120} {
		var out bytes.Buffer
		if err := paper().WriteTable(&out, results.Summarize(docs).Rows, width); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, fmt.Sprintf("testdata/published-%d.txt", width), out.Bytes())
	}
}

// A table of values has the same form. A number that is a lower bound is marked as in other tables.
func TestPublishedTableOfValues(t *testing.T) {
	row := func(variant string, clients int, unrecovered int64, ns float64) results.Row {
		metrics := map[string]results.Aggregated{results.OpsPerSecond: {Value: 77}, results.RecoveryMax: {Value: ns}}
		return results.Row{Variant: variant, Clients: clients, Metrics: metrics, Unrecovered: unrecovered}
	}
	rows := []results.Row{
		row("children-watch", 50, 1, 6e9),
		row("predecessor-watch", 7, 0, 1e9), // not published
		row("predecessor-watch", 50, 0, 5e8),
		row("predecessor-watch", 201, 0, 2e9),
		{Variant: "znode", Clients: 201, Metrics: map[string]results.Aggregated{results.OpsPerSecond: {Value: 77}}}, // without the metric
	}
	for _, width := range []int{80, 120} {
		var out bytes.Buffer
		if err := report().WriteTable(&out, rows, width); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, fmt.Sprintf("testdata/published-values-%d.txt", width), out.Bytes())
	}
}

// What cannot be compared is left out, and the output has the reason: for other numbers of clients, those to run with.
func TestPublishedTableWithNothingToCompare(t *testing.T) {
	foreign := document("znode", "naive", 7, 1, map[string]float64{"ops/s": 500, results.RecoveryMax: 1e9})
	embedded := document("znode", "naive", 50, 1, map[string]float64{"ops/s": 500, results.RecoveryMax: 1e9})
	embedded.Environment.Engine = "embedded"
	unmeasured := document("znode", "naive", 50, 1, map[string]float64{"herd-max": 1})
	for _, tt := range []struct {
		name string
		p    results.Published
		doc  *results.Document
	}{
		{"clients", paper(), foreign},
		{"embedded", paper(), embedded},
		{"measured", paper(), unmeasured},
		{"clients-values", report(), foreign},
		{"embedded-values", report(), embedded},
		{"measured-values", report(), unmeasured},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := tt.p.WriteTable(&out, results.Summarize([]*results.Document{tt.doc}).Rows, 80); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/published-not-"+tt.name+".txt", out.Bytes())
		})
	}
}
