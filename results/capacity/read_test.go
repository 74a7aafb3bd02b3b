package capacity_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/store"
)

// reported returns the report of a search for one variant whose knee is at a load, and of one that finds nothing.
func reported(t *testing.T) capacity.Report {
	t.Helper()
	r := capacity.Report{Schema: capacity.Schema, Scenario: "s", Engine: "container", By: capacity.ByRate, Clients: 50, Objective: "response-p99 < 50ms", Repeats: 2, First: 50, Most: 1000}
	r.Add("znode", find(t, 50, 1000, func(load int) capacity.Outcome {
		if load <= 120 {
			return capacity.Holds
		}
		return capacity.Fails
	}))
	r.Add("children-watch", find(t, 50, 1000, func(int) capacity.Outcome { return capacity.Holds }))
	return r
}

func TestDecode(t *testing.T) {
	text := must.Get(store.Seal(reported(t)))(t)
	got, err := capacity.Decode(text)
	if again, _ := store.Seal(got); err != nil || !bytes.Equal(again, text) {
		t.Errorf("%v, read as %+v", err, got)
	}
	for name, changed := range map[string][]byte{
		"nothing": nil, "cut": text[:len(text)/2], "another capacity": bytes.Replace(text, []byte(`"capacity": 1`), []byte(`"capacity": 2`), 1),
		"another schema": bytes.Replace(text, []byte(`"schema": 1`), []byte(`"schema": 2`), 1),
	} {
		if _, err := capacity.Decode(changed); err == nil || bytes.Equal(changed, text) {
			t.Errorf("%s: is read", name)
		}
	}
}

func kept(r capacity.Report) (trials, confirmations []*results.Document) {
	for _, t := range r.Variants[0].Trials {
		for repeat := range r.Repeats {
			d := &results.Document{Scenario: results.Scenario{Name: r.Scenario}, Variant: "znode", Clients: r.Clients, Rate: results.Rate(t.Load), Repeat: repeat + 1}
			d.Environment.Engine, d.Window.End, d.Open = r.Engine, 10*time.Second, &results.Open{LastEmpty: 10 * time.Second}
			d.Metrics = map[string]results.Metric{"response-p99-ns": {Value: 1e6}}
			if t.Outcome == capacity.Fails {
				d.Metrics["response-p99-ns"] = results.Metric{Value: 60e6}
			}
			if t.Purpose == capacity.Confirm {
				confirmations = append(confirmations, d)
			} else {
				trials = append(trials, d)
			}
			if t.Outcome == capacity.Fails {
				break
			}
		}
	}
	return trials, confirmations
}

// The documents in a folder must be those of the report. Otherwise, one of the two is not as measured.
func TestCheckTrials(t *testing.T) {
	rehearsal := func(d *results.Document) *results.Document {
		r := *d
		r.Repeat = 0
		return &r
	}
	for _, tt := range []struct {
		name, want string
		edit       func(r *capacity.Report, trials, confirmations *[]*results.Document)
	}{
		{"nothing", "", func(*capacity.Report, *[]*results.Document, *[]*results.Document) {}},
		{"a rehearsal", "", func(_ *capacity.Report, d, _ *[]*results.Document) { *d = append(*d, rehearsal((*d)[0])) }},
		{"another order", "", func(_ *capacity.Report, d, _ *[]*results.Document) { slices.Reverse(*d) }},
		{"a repeat less", "1 repeat of a trial", func(_ *capacity.Report, d, _ *[]*results.Document) { *d = slices.Delete(*d, 1, 2) }},
		{"the first repeat less", "1 repeat of a trial", func(_ *capacity.Report, d, _ *[]*results.Document) { *d = slices.Delete(*d, 0, 1) }},
		{"no confirmations", "(confirm): 2 repeats", func(_ *capacity.Report, _, c *[]*results.Document) { *c = nil }},
		{"nothing left", "are missing", func(_ *capacity.Report, d, c *[]*results.Document) { *d, *c = nil, nil }},
		{"a run beside it", "is of no trial", func(_ *capacity.Report, d, _ *[]*results.Document) { (*d)[0].Rate = 0 }},
		{"another variant", "is of no trial", func(_ *capacity.Report, d, _ *[]*results.Document) { (*d)[0].Variant = "other" }},
		{"another scenario", "is of no trial", func(_ *capacity.Report, d, _ *[]*results.Document) { (*d)[0].Scenario.Name = "other" }},
		{"another engine", "is of no trial", func(_ *capacity.Report, d, _ *[]*results.Document) { (*d)[0].Environment.Engine = "embedded" }},
		{"the report of another engine", "is of no trial", func(r *capacity.Report, _, _ *[]*results.Document) { r.Engine = "process" }},
		{"the report of other clients", "is of no trial", func(r *capacity.Report, _, _ *[]*results.Document) { r.Clients = 100 }},
		{"confirmations among the trials", "is of no trial", func(_ *capacity.Report, d, c *[]*results.Document) { *c = append(*c, (*d)[0]) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := reported(t)
			trials, confirmations := kept(r)
			tt.edit(&r, &trials, &confirmations)
			if err := r.CheckTrials(trials, confirmations); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
