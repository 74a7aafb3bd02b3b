package results_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

// decode validates a document after its text was changed.
func decode(t *testing.T, d *results.Document, old, replacement string) error {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), old, replacement, 1)
	if changed == string(text) && old != replacement {
		t.Fatalf("%s is not in %s", old, text)
	}
	_, err = results.Decode([]byte(changed))
	return err
}

// What does not fit the type is named by its path: encoding/json would let each of these pass.
func TestShape(t *testing.T) {
	for _, tt := range []struct{ name, old, replacement, want string }{
		{"whole", "", "", ""},
		{"a missing part", `"phases":["acquire","release"],`, "", "phases is missing"},
		{"a missing part of a list's element", `"size":1,"count"`, `"count"`, "herd.sizes[0].size is missing"},
		{"null", `"waiting_phases":["acquire"]`, `"waiting_phases":null`, "waiting_phases is null"},
		{"an unknown part", `"clients":10`, `"clients":10,"customers":9`, "customers is unknown"},
		{"an unknown part of an unknown part", `"clients":10`, `"clients":10,"x":{"y":1,"y":[{"z":1,"z":2}]}`, "x.y stands there twice; x.y[0].z stands there twice"},
		{"a part twice", `"clients":10`, `"clients":10,"clients":10`, "clients stands there twice"},
		{"another case", `"clients":10`, `"Clients":10`, "Clients is unknown"},
		{"an operation twice", `"delete":10`, `"delete":10,"delete":10`, "counts.requests.delete stands there twice"},
		{"a text for a number", `"repeat":2`, `"repeat":"2"`, "repeat wants a number, not a text"},
		{"a broken number", `"repeat":2`, `"repeat":2.5`, "repeat is 2.5"},
		{"a negative number", `"repeat":2`, `"repeat":-2`, "repeat is negative"},
		{"an unknown share", `"machine_cpu":0`, `"machine_cpu":-1`, ""},
		{"a number without end", `"client_cpu":0`, `"client_cpu":1e999`, "health.client_cpu is 1e999"},
		{"a list for an object", `"counts":{`, `"counts":[],"_":{`, "counts wants an object, not a list"},
		{"an object for a list", `"invalid":[]`, `"invalid":{}`, "invalid wants a list, not an object"},
		{"a bool for a text", `"recipe":"lock"`, `"recipe":true`, "recipe wants a text, not true or false"},
		{"a number for a time", `"started":"1970-01-01T00:00:01Z"`, `"started":1`, "started wants a time, not a number"},
		{"no time", `"started":"1970-01-01T00:00:01Z"`, `"started":"soon"`, "does not fit schema 1"},
	} {
		err := decode(t, whole(t), tt.old, tt.replacement)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// One leaf that contradicts others is named with both values.
func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(d *results.Document)
		want   string
	}{
		{"valid", func(*results.Document) {}, ""},
		{"a broken promise is valid", func(d *results.Document) {
			d.Violations, d.Metrics[results.Violations] = []results.Violation{{Text: "two holders"}}, results.Metric{Value: 1, Unit: "violations"}
		}, ""},
		{"an expected breach of a sound variant", func(d *results.Document) { d.Scenario.Broken = d.Variant }, "scenario.broken has the variant a, and known_broken is empty"},
		{"a load that stood still without a breach", func(d *results.Document) { d.Unfinished = &results.Unfinished{Breach: "stuck"} }, `unfinished.breach is "stuck", without violations`},
		{"an oracle that disagrees is valid", func(d *results.Document) { d.Oracle.ServerNotifications = -3 }, ""},
		{"a metric that differs", func(d *results.Document) {
			d.Metrics[results.RequestsPerOp] = results.Metric{Value: 1.5, Unit: "per op"}
		}, "metrics.requests/op is 1.5 per op, and computed again 1.4 per op"},
		{"another unit", func(d *results.Document) { d.Metrics[results.RequestsPerOp] = results.Metric{Value: 1.4, Unit: "1/s"} }, "metrics.requests/op is 1.4 1/s"},
		{"a metric that is missing", func(d *results.Document) { delete(d.Metrics, results.HerdMax) }, "metrics.herd-max is missing: it is 1 notifications"},
		{"a metric too many", func(d *results.Document) { d.Metrics["acquire-p50-ns"] = results.Metric{Value: 1, Unit: "ns"} }, "does not follow from the measurement"},
		{"a histogram that was cut", func(d *results.Document) {
			h := d.Histograms["release"]
			h.HDR = h.HDR[:len(h.HDR)-8]
			d.Histograms["release"] = h
		}, "histograms.release.hdr"},
		{"the histogram of another phase", func(d *results.Document) { d.Histograms["release"] = d.Herd.Spread }, "metrics.release-p50-ns"},
		{"an unknown engine", func(d *results.Document) { d.Environment.Engine = "cloud" }, `environment.engine is "cloud"`},
		{"an unknown kind", func(d *results.Document) { d.Kind = "best" }, `kind is "best"`},
		{"a repeat that nobody asked for", func(d *results.Document) { d.Repeat = 4 }, "repeat is 4 of 3"},
		{"clients that nobody asked for", func(d *results.Document) { d.Scenario.ClientCounts = "[1 100]" }, "clients is 10, which is none of scenario.client_counts"},
		{"a heap that nobody asked for", func(d *results.Document) { d.Heap = &results.Heap{Why: "no"} }, "scenario.heap is false, and heap is there: true"},
		{"an exact load taken for a free one", func(d *results.Document) { d.Expected.Exact = false }, "expected.exact is false"},
		{"formulas that do not hold", func(d *results.Document) { d.Expected.Costs[results.WritesPerOp] = results.Cost{Value: 2} }, "expected.equal is true, and by counts and formulas it is false"},
		{"an oracle that was not asked, without a reason", func(d *results.Document) { d.Oracle.Checked = false }, "oracle.checked is false"},
		{"a doubt without a reason", func(d *results.Document) { d.Oracle.UnknownNotifications = 1 }, "why it was not, or not exactly, is"},
		{"a doubt below zero", func(d *results.Document) { d.Oracle.UnknownTransactions = -1 }, "the oracle has a count below zero"},
		{"more notifications sent again than received", func(d *results.Document) { d.Oracle.ResentNotifications = 1000 }, "oracle.resent_notifications is 1000"},
		{"fewer writes than the oracle's", func(d *results.Document) { d.Oracle.ClientWrites = 11 }, "counts.writes is 10, and oracle.client_writes 11"},
		{"a herd too many", func(d *results.Document) { d.Herd.Sizes[0].Count++ }, "herd.sizes has 11 notifications, herd.ungrouped is 0, and counts.notified is 10"},
		{"more failed than asked", func(d *results.Document) { d.Counts.Failed["exists"], d.Counts.TotalFailed = 5, 5 }, "counts.failed.exists is 5, of 4 requests"},
	} {
		d := whole(t)
		tt.change(d)
		if err := d.Validate(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// One missing part makes many leaves contradict each other: the first are named, and how many there are.
func TestValidateNamesTheFirstProblems(t *testing.T) {
	d := whole(t)
	d.Metrics = map[string]results.Metric{}
	if err := d.Validate(); err == nil || !strings.Contains(err.Error(), " more") || strings.Count(err.Error(), ";") != 8 {
		t.Errorf("%v", err)
	}
}

// What waits cannot be: some starve, and none is older than the p99.
func TestValidateWaits(t *testing.T) {
	closed := func() *results.Document {
		d := described()
		d.Scenario.Mode, d.Scenario.Duration = results.ClosedMode, 40*ms
		recordertest.Measurement{Window: recordertest.Stretch{Start: ms, End: 41 * ms}, Spans: []recordertest.Span{
			{Phase: "acquire", Start: 2 * ms, End: 4 * ms}, {Phase: "acquire", Client: 1, Start: 31 * ms, End: 60 * ms},
		}}.Complete(t, d)
		return d
	}
	for _, tt := range []struct {
		name     string
		starving int
		oldest   time.Duration
		want     string
	}{
		{"one that starves", 1, 10 * ms, ""},
		{"none, and an old one", 0, 10 * ms, "longer than every p99"},
		{"one, and none is old", 1, ms, "shorter than every p99"},
		{"older than the run", 1, time.Hour, "window.oldest_wait_ns is 1h"},
		{"more than there are", 2, 10 * ms, "window.starving_waits is 2, of 1"},
	} {
		d := closed()
		d.Window.StarvingWaits, d.Window.OldestWait = tt.starving, tt.oldest
		if err := d.Validate(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A floor has all operations in both halves, or a reason.
func TestValidateFloor(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(f *results.Floor)
		want   string
	}{
		{"whole", func(*results.Floor) {}, ""},
		{"a reason", func(f *results.Floor) { f.Why, f.After = "no answer", nil }, ""},
		{"a reason, and all is there", func(f *results.Floor) { f.Why = "no answer" }, "floor.after is there, and floor.why gives a reason for its absence"},
		{"half of it", func(f *results.Floor) { f.After = nil }, "floor.after is missing, and floor.why is empty"},
		{"an operation that is missing", func(f *results.Floor) { delete(f.After, results.FloorRead) }, "floor.after has 2 operations, of 3"},
		{"a round that is missing", func(f *results.Floor) {
			f.After = half(t, ms, ms, ms, 9)
			f.After[results.FloorWrite] = f.Before[results.FloorWrite]
		}, "floor.after.write has 10 samples, of 9 rounds"},
		{"a histogram that was cut", func(f *results.Floor) {
			h := f.Before[results.FloorHandoff]
			h.HDR = h.HDR[:len(h.HDR)-8]
			f.Before[results.FloorHandoff] = h
		}, "floor.before.handoff.hdr: "},
		{"an unknown phase", func(f *results.Floor) { f.Phases["nap"] = results.FloorRead }, `floor.phases has "nap"`},
		{"an unknown operation", func(f *results.Floor) { f.Phases["release"] = "nap" }, `floor.phases.release is "nap"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &results.Floor{Before: half(t, ms, ms, ms, 10), After: half(t, ms, ms, ms, 10), Phases: map[string]string{"release": results.FloorWrite}}
			tt.change(f)
			d := whole(t)
			d.Floor = f
			err := d.Validate()
			text := fmt.Sprint(err)
			if strings.Contains(text, "floor.") != (tt.want != "") || !strings.Contains(text, tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// Reasons that a document keeps quiet about are added when it is read, so that no reader has to look for them.
func TestDecodeFindsVoidNumbers(t *testing.T) {
	d := whole(t)
	d.Health.Reconnects = 2
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	read, err := results.Decode(text)
	if err != nil || len(read.Invalid) != 1 || read.Sound() {
		t.Errorf("%v, %v", read, err)
	}
}

func TestReadFileOfAnotherKind(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.json")
	if err := os.WriteFile(huge, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 1<<40); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "no regular file (d---", "/dev/zero": "no regular file", huge: "has 1099511627776 bytes"} {
		if _, err := results.ReadFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
