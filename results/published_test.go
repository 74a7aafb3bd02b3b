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

func TestPublishedRates(t *testing.T) {
	p := paper()
	for _, tt := range []struct {
		row, clients int
		want         float64
		ok           bool
	}{
		{0, 50, 2000, true}, // 50 x 200 x 2 / 10
		{0, 100, 2000, true},
		{1, 50, 2500, true},
		{1, 100, 0, false},
	} {
		if got, ok := p.Rate(p.Rows[tt.row], tt.clients); math.Abs(got-tt.want) > 1e-9 || ok != tt.ok {
			t.Errorf("row %d, %d clients: %g, %t; want %g, %t", tt.row, tt.clients, got, ok, tt.want, tt.ok)
		}
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

// What cannot be compared is not, and it is said why.
func TestPublishedTableWithNothingToCompare(t *testing.T) {
	foreign := document("znode", "naive", 7, 1, map[string]float64{"ops/s": 500})
	embedded := document("znode", "naive", 50, 1, map[string]float64{"ops/s": 500})
	embedded.Environment.Engine = "embedded"
	for name, doc := range map[string]*results.Document{"clients": foreign, "embedded": embedded} {
		var out bytes.Buffer
		if err := paper().WriteTable(&out, results.Summarize([]*results.Document{doc}).Rows, 80); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, "testdata/published-not-"+name+".txt", out.Bytes())
	}
}
