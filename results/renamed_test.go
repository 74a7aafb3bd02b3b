package results_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
)

func readSchema2(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/schema2.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A document with former names is read with all that it has, under today's names, and valid.
func TestReadSchema2(t *testing.T) {
	d, err := results.Decode(readSchema2(t))
	if err != nil {
		t.Fatal(err)
	}
	want := results.OldNames{"mode drain is now lockstep", "metric useless-wakeups/op is now spurious-wakeups/op"}
	if !slices.Equal(d.OldNames, want) {
		t.Errorf("OldNames = %q, want %q", d.OldNames, want)
	}
	if d.Schema != results.Schema || d.Scenario.Mode != results.LockstepMode || !d.Window.Lockstep || d.Counts.Housekeeping == 0 || len(d.UntimedPhases) == 0 {
		t.Errorf("schema %d, mode %s, lockstep %t, housekeeping %d, untimed %v", d.Schema, d.Scenario.Mode, d.Window.Lockstep, d.Counts.Housekeeping, d.UntimedPhases)
	}
	if _, ok := d.Metrics[results.SpuriousWakeupsPerOp]; !ok {
		t.Errorf("metrics %v have no %s", d.Metrics, results.SpuriousWakeupsPerOp)
	}
	again, err := results.Decode(asToday(t, d))
	if err != nil {
		t.Fatal(err)
	}
	if len(again.OldNames) > 0 {
		t.Errorf("written and read again: former names %v", again.OldNames)
	}
}

// asToday returns the text of an upgraded document, with the parts that are new since schema 2.
func asToday(t *testing.T, d *results.Document) []byte {
	t.Helper()
	d.Series = &results.Series{
		Start: d.Window.Start, Bin: results.FirstBin, Operations: []int64{d.Window.Operations}, Requests: []int64{d.Counts.TotalRequests},
		Notifications: []int64{d.Counts.Notified}, LargestHerd: []int{d.Herd.Max()}, SlowestRead: []time.Duration{0},
		Samples: []int64{d.Histograms[d.Phases[0]].All()}, Time: []time.Duration{1}, Memory: []int64{1 << 20},
	}
	d.AroundHerd = &d.Timeline
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Former keys are checked as strictly as today's, and neither schema takes those of the other.
func TestSchema2IsChecked(t *testing.T) {
	former := string(readSchema2(t))
	d, err := results.Decode([]byte(former))
	if err != nil {
		t.Fatal(err)
	}
	today := string(asToday(t, d))
	for _, tt := range []struct{ text, old, replacement, want string }{
		{former, `"upkeep":`, `"housekeeping":`, "counts.upkeep is missing"},
		{former, `"paced": true`, `"paced": false`, "window.lockstep is false"},
		{former, `"useless_wakeups": `, `"useless_wakeups": 9`, "counts.spurious_wakeups"},
		{former, `"paced_phases"`, `"untimed_phases"`, "untimed_phases is unknown"},
		{today, `"housekeeping":`, `"upkeep":`, "counts.upkeep is unknown"},
		{today, `"mode":"lockstep"`, `"mode":"drain"`, `scenario.mode is "drain"`},
		{today, `spurious-wakeups/op`, `useless-wakeups/op`, "metrics.useless-wakeups/op is"},
	} {
		if !strings.Contains(tt.text, tt.old) {
			t.Fatalf("%s is not in %s", tt.old, tt.text)
		}
		_, err := results.Decode([]byte(strings.Replace(tt.text, tt.old, tt.replacement, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s for %s: %v, want %q", tt.replacement, tt.old, err, tt.want)
		}
	}
}

func TestOldNamesLine(t *testing.T) {
	docs := []*results.Document{{OldNames: []string{"b is now c", "a is now b"}}, {}, {OldNames: []string{"b is now c"}}}
	if got, want := results.OldNamesLine(docs), "these results have former names: a is now b; b is now c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := results.OldNamesLine(docs[1:2]); got != "" {
		t.Errorf("got %q without former names", got)
	}
}

func TestOverviewWithAFormerName(t *testing.T) {
	pair, err := results.ParsePair("a against b by useless-wakeups/op")
	if err != nil || !slices.Equal(pair.Metrics, []string{results.SpuriousWakeupsPerOp}) {
		t.Errorf("%+v, %v", pair, err)
	}
}
