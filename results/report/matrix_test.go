package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/table"
)

// underFault is a measurement with one fault.
func underFault(variant string, change func(*results.Document)) *results.Document {
	d := &results.Document{Recipe: "queue", Variant: variant, Failure: &results.Failure{
		Faults: []results.Fault{{Recovery: 1200 * time.Millisecond}},
		Losses: map[string]int64{},
	}}
	if change != nil {
		change(d)
	}
	return d
}

func TestMatrixCells(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*results.Document)
		want   string
	}{
		{"recovered", nil, "1.20 s"},
		{"lost and doubled", func(d *results.Document) {
			d.Failure.Losses["items-lost"], d.Failure.Losses["items-doubled"] = 2, 1
		}, "1.20 s, 2 lost, 1 doubled"},
		{"orphans, fenced and blocked", func(d *results.Document) {
			d.Failure.Losses = map[string]int64{"orphans": 3, "fenced": 1, "blocked-ns": 5e9}
		}, "1.20 s, 3 orphans, 5.00 s blocked, 1 fenced"},
		{"broken", func(d *results.Document) { d.Violations = []results.Violation{{}} }, "BROKEN"},
		{"invalid", func(d *results.Document) { d.Invalid = []string{"x"} }, "INVALID"},
		{"never recovered", func(d *results.Document) { d.Failure.Unrecovered = 1 }, "none"},
		{"no victim", func(d *results.Document) { d.Failure.Faults = nil }, "missed"},
	} {
		docs := map[string][]*results.Document{"kill": {underFault("naive", tt.change)}}
		var text strings.Builder
		if report.WriteMatrix(&text, 80, []string{"kill"}, docs); !strings.Contains(text.String(), "  "+tt.want+"\n") {
			t.Errorf("%s:\n%s", tt.name, &text)
		}
	}
}

// A table that is too wide is split, and says nothing twice.
func TestMatrixFitsIntoItsWidth(t *testing.T) {
	faults := []string{"stop-holder", "expire-holder", "lose-replies", "kill-leader", "never-measured"}
	docs := map[string][]*results.Document{}
	for _, fault := range faults[:4] {
		docs[fault] = []*results.Document{underFault("list-and-delete", nil)}
	}
	docs["kill-leader"] = append(docs["kill-leader"], underFault("lock-and-claim", nil))
	var text strings.Builder
	report.WriteMatrix(&text, 60, faults, docs)
	if table.Width(text.String()) > 60 {
		t.Errorf("a line is too long:\n%s", &text)
	}
	for _, fault := range faults[:4] {
		if strings.Count(text.String(), fault) != 1 {
			t.Errorf("%s is not there once:\n%s", fault, &text)
		}
	}
	if strings.Contains(text.String(), "never-measured") {
		t.Errorf("a column without cells:\n%s", &text)
	}
}
