package gate

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
)

// free returns a document of a free-running load, whose formulas are bounds.
func free(notifications float64) *results.Document {
	d := syntheticClosed(1)
	d.Scenario.Mode, d.Window.Operations = results.ClosedMode, 1000
	d.Metrics[metric.NotificationsPerOp] = results.Metric{Value: notifications}
	d.Expected.Costs = map[string]results.Cost{metric.NotificationsPerOp: {Value: 1}}
	return d
}

// using returns a document in lockstep with a request of each of these operations of ZooKeeper for each of the recipe's.
func using(operations ...string) *results.Document {
	d := syntheticLockstep(1)
	for _, name := range operations {
		d.Metrics[metric.RequestsOf(name)] = results.Metric{Value: 1}
	}
	return d
}

func TestBaselines(t *testing.T) {
	second := func(one, two *results.Document) []*results.Document {
		one.Scenario.Repeats, two.Scenario.Repeats, two.Repeat = 2, 2, 2
		return []*results.Document{one, two}
	}
	changed := func(change func(d *results.Document)) []*results.Document {
		d := syntheticLockstep(1)
		change(d)
		return []*results.Document{d}
	}
	for _, tt := range []struct {
		name  string
		of    *results.Document
		docs  []*results.Document
		code  int
		says  string // in a check, or in a note
		other string
	}{
		{name: "the same", of: syntheticLockstep(1), docs: []*results.Document{syntheticLockstep(1)}, code: 0},
		{name: "one notification more in a whole drain", of: syntheticLockstep(1), docs: []*results.Document{syntheticLockstep(1.02)}, code: 3, says: "it is 1.02, against 1"},
		{name: "less", of: syntheticLockstep(1), docs: []*results.Document{syntheticLockstep(0.98)}, code: 3, says: "it is 0.98, against 1 by the baseline: fewer"},
		{name: "less in one repeat of two", of: syntheticLockstep(1), docs: second(syntheticLockstep(1), syntheticLockstep(0.98)), code: 5, says: "1 in repeat 1 and 0.98 in repeat 2"},
		{name: "more, without an oracle", of: syntheticLockstep(1), docs: changed(func(d *results.Document) {
			*d = *syntheticLockstep(1.02)
			d.Oracle = results.Oracle{Why: "shared servers"}
		}), code: 5, says: "no second oracle confirms repeat 1: shared servers"},
		{name: "more, after a reconnect", of: free(0.5), docs: func() []*results.Document {
			d := free(1.2)
			d.Invalid = []string{"a session had to reconnect"}
			return []*results.Document{d}
		}(), code: 5, says: "by the baseline; repeat 1 was disturbed: a session had to reconnect"},
		{name: "an operation instead of another", of: using("exists"), docs: []*results.Document{using("getData")}, code: 3, says: "it is 1, against 0"},
		{name: "an operation fewer", of: using("exists"), docs: []*results.Document{using()}, code: 3, says: "it is 0, against 1"},
		{name: "one bad repeat of two", of: free(0.5), docs: second(free(0.9), free(1.2)), code: 3, says: "repeat 2"},
		{name: "another size", of: syntheticLockstep(1), docs: changed(func(d *results.Document) { d.Scenario.Size = 7 }), code: 5, says: "self-test: the baseline is of another load"},
		{name: "other clients", of: syntheticLockstep(1), docs: changed(func(d *results.Document) { d.Clients, d.Scenario.Clients = 10, []int{10} }), code: 5, says: "self-test, 50 clients: the baseline has rows without a result (synthetic): run them"},
		{name: "one variant more", of: syntheticLockstep(1), docs: append(changed(func(d *results.Document) { d.Variant = "new" }), syntheticLockstep(1)), code: 0, says: "the baseline has no new"},
		{name: "no baseline of this", of: syntheticLockstep(1), docs: changed(func(d *results.Document) { d.Scenario.Name = "new" }), code: 5, says: "no measured scenario has a baseline"},
		{name: "faults", of: free(0.5), docs: func() []*results.Document {
			d := free(0.5)
			d.Scenario.Faults = []results.FaultLoad{{Kind: "kill", Whom: "any", At: time.Second}}
			return []*results.Document{d}
		}(), code: 5, says: "another load"},
		{name: "guessed herds", of: func() *results.Document {
			d := syntheticLockstep(1)
			d.Expected.Costs[metric.HerdMax] = results.Cost{Value: 1}
			return d
		}(), docs: changed(func(d *results.Document) {
			d.Herd.Grouping = "path and time"
			d.Metrics[metric.HerdMax] = results.Metric{Value: 2}
		}), code: 5, says: "herds are guessed"},
		{name: "guessed herds that are smaller", of: func() *results.Document {
			d := syntheticLockstep(1)
			d.Expected.Costs[metric.HerdMax] = results.Cost{Value: 1}
			return d
		}(), docs: changed(func(d *results.Document) { d.Herd.Grouping = "path and time" }), code: 5, says: "herds are guessed"},
		{name: "within the bound", of: free(0.5), docs: []*results.Document{free(0.9)}, code: 0},
		{name: "less than before is no improvement of a bound", of: free(0.9), docs: []*results.Document{free(0.5)}, code: 0},
		{name: "over the bound", of: free(0.5), docs: []*results.Document{free(1.2)}, code: 3, says: "it is 1.2, against 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, b := range must.Get(BaselinesOf([]*results.Document{tt.of}))(t) {
				must.Do(t, b.Write(dir))
			}
			baselines := must.Get(ReadBaselines(dir))(t)
			r := Evaluate(Evidence{Documents: tt.docs}, Rules{Baselines: baselines})
			var said strings.Builder
			for _, c := range r.Checks {
				said.WriteString(c.Why + "\n")
			}
			for _, f := range r.Findings {
				said.WriteString(f.Text + "\n")
			}
			said.WriteString(strings.Join(r.Notes, "\n"))
			if r.Code != tt.code || !strings.Contains(said.String(), tt.says) {
				t.Errorf("exit code %d, want %d; said %s, want %q in it", r.Code, tt.code, said.String(), tt.says)
			}
		})
	}
}

// A lockstep scenario without a result is noted if all notes are asked for. Other loads take long, and are not expected every time.
func TestBaselinesWithoutResults(t *testing.T) {
	baselines := must.Get(BaselinesOf([]*results.Document{syntheticLockstep(1)}))(t)
	for name, mode := range map[string]results.Mode{"not-run": "lockstep", "too-long": "closed"} {
		b := baselines["self-test"]
		b.Scenario, b.Load.Mode = name, mode
		baselines[name] = b
	}
	for verbose, want := range map[bool]int{true: 1, false: 0} {
		r := Evaluate(Evidence{Documents: []*results.Document{syntheticLockstep(1)}}, Rules{Baselines: baselines, Verbose: verbose})
		if r.Code != 0 || len(r.Notes) != want || verbose && !strings.Contains(r.Notes[0], "not-run") {
			t.Errorf("verbose: %t, exit code %d, notes %q", verbose, r.Code, r.Notes)
		}
	}
}

// A baseline is not made of a part of a measurement.
func TestNoBaselineOfAPart(t *testing.T) {
	d := free(0.5)
	d.Partial, d.Scenario.Duration = true, time.Hour
	if _, err := BaselinesOf([]*results.Document{d}); err == nil || !strings.Contains(err.Error(), "was interrupted after") {
		t.Errorf("error %v, want that it was interrupted", err)
	}
}

// A row without counts, of a load whose formulas would be bounds, would demand nothing, and is not written.
func TestBaselineRowsWithoutCounts(t *testing.T) {
	silent := free(1)
	silent.Variant, silent.Expected.Costs = "silent", nil
	if b, err := BaselinesOf([]*results.Document{silent}); err == nil || !strings.Contains(err.Error(), "silent with 50 clients") {
		t.Errorf("alone: %+v, %v", b, err)
	}
	if b, err := BaselinesOf([]*results.Document{silent, free(1)}); err != nil || len(b["self-test"].Rows) != 1 {
		t.Errorf("beside another: %+v, %v", b, err)
	}
}

func TestWhatIsNoBaseline(t *testing.T) {
	invalid, other, again, unlike := syntheticLockstep(1), syntheticLockstep(1), syntheticLockstep(2), syntheticLockstep(1)
	unlike.Expected.Costs[metric.NotificationsPerOp] = results.Cost{Value: 2}
	invalid.Invalid = []string{"x"}
	other.Scenario.Operations, other.Clients = 7, 10
	again.Repeat = 2
	for name, docs := range map[string][]*results.Document{
		"nothing": nil, "an invalid result": {invalid}, "two loads": {syntheticLockstep(1), other}, "repeats that differ": {syntheticLockstep(1), again},
		"a count unlike its formula": {unlike},
	} {
		if b, err := BaselinesOf(docs); err == nil {
			t.Errorf("%s became a baseline: %+v", name, b)
		}
	}
	for name, text := range map[string]string{
		"a.json":   `{"schema": 2, "scenario": "a", "rows": [], "load": {}}`,
		"b.json":   `{"schema": 1, "scenario": "b", "rows": [{}], "load": {}}`,
		"c.json":   `{"schema": 2, "scenario": "other", "rows": [{}]}`,
		"d.json":   `{"schema": 2, "scenario": "d", "rows": [{"count": 1}]}`,
		"e.json":   `{"schema": 2, "scenario": "e", "rows": [{"counts": {"herd-mox": 1}}]}`,
		"f.json":   `{"schema": 2, "scen`,
		"g.json":   `{"schema": 2, "scenario": "g", "rows": [{"counts": {"herd-max": 1}, "exact": true}]}`,
		"h.json":   `{"schema": 2, "scenario": "h", "rows": [{"counts": {}}]}`,
		"i.json":   `{"schema": 2, "scenario": "i", "rows": [{"counts": {"herd-max": 1}}]} {}`,
		"j.json":   `{"schema": 2, "scenario": "j", "rows": [{"counts": {"-watches/op": 1}}]}`,
		"none.txt": ``,
	} {
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		if b, err := ReadBaselines(dir); err == nil {
			t.Errorf("%s is accepted: %+v", text, b)
		}
	}
}

// Saving over a baseline keeps all its demands.
func TestOverKeepsWhatIsNotMeasuredAgain(t *testing.T) {
	old := Baseline{Rows: []BaselineRow{
		{Clients: 10, Variant: "a", Counts: map[string]float64{metric.HerdMax: 9, metric.NotificationsPerOp: 2}},
		{Clients: 10, Variant: "b", Counts: map[string]float64{metric.HerdMax: 9}},
	}}
	fresh := Baseline{Rows: []BaselineRow{
		{Clients: 10, Variant: "a", Counts: map[string]float64{metric.NotificationsPerOp: 1}}, // herds were guessed
	}}
	got := fresh.Over(old)
	for variant, want := range map[string]map[string]float64{
		"a": {metric.HerdMax: 9, metric.NotificationsPerOp: 1}, "b": {metric.HerdMax: 9},
	} {
		if row := got.row(variant, 10); row == nil || !maps.Equal(row.Counts, want) {
			t.Errorf("%s: %+v, want %v", variant, row, want)
		}
	}
}

// A count that nothing can exceed demands nothing.
func TestABoundThatIsNone(t *testing.T) {
	dir := t.TempDir()
	b := Baseline{Schema: BaselineSchema, Scenario: "x", Rows: []BaselineRow{{Clients: 1, Variant: "a", Counts: map[string]float64{metric.RequestsPerOp: math.MaxFloat64}}}}
	must.Do(t, b.Write(dir))
	if _, err := ReadBaselines(dir); err == nil || !strings.Contains(err.Error(), "is not a bound") {
		t.Errorf("%v", err)
	}
}
