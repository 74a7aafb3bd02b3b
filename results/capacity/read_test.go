package capacity_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
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

func encode(t *testing.T, r capacity.Report) string {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDecode(t *testing.T) {
	want := reported(t)
	got, err := capacity.Decode([]byte(encode(t, want)))
	if err != nil || encode(t, got) != encode(t, want) {
		t.Errorf("%v, read as %+v", err, got)
	}
	interrupted := want
	interrupted.Variants = nil
	interrupted.Add("znode", capacity.NewSearch(50, 1000))
	if r, err := capacity.Decode([]byte(encode(t, interrupted))); err != nil || r.Variants[0].Why == "" {
		t.Errorf("a search that was interrupted before its first trial: %v, %+v", err, r)
	}
}

// A report that was edited is not believed.
func TestDecodeNoticesEdits(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		edit       func(r *capacity.Report)
	}{
		{"another schema", "has schema 2", func(r *capacity.Report) { r.Schema++ }},
		{"a larger capacity", "its trials show a capacity of", func(r *capacity.Report) { r.Variants[0].Capacity++ }},
		{"a larger refuted load", "its trials show a capacity of", func(r *capacity.Report) { r.Variants[0].Refuted++ }},
		{"no capacity", "its trials show a capacity of", func(r *capacity.Report) { r.Variants[0].Result = capacity.Result{Why: "I think so"} }},
		{"a capacity where there is none", "its trials show no capacity", func(r *capacity.Report) { r.Variants[1].Result = capacity.Result{Capacity: 1000, Refuted: 1100} }},
		{"another reason", "its trials show no capacity", func(r *capacity.Report) { r.Variants[1].Why += "!" }},
		{"another load", "the trials before it ask for 100 (bracket)", func(r *capacity.Report) { r.Variants[0].Trials[1].Load = 110 }},
		{"another purpose", "the trials before it ask for 100 (bracket)", func(r *capacity.Report) { r.Variants[0].Trials[1].Purpose = capacity.Confirm }},
		{"another outcome", "the trials before it ask for", func(r *capacity.Report) { r.Variants[0].Trials[1].Outcome = capacity.Fails }},
		{"an unknown outcome", `has the outcome "maybe"`, func(r *capacity.Report) { r.Variants[0].Trials[0].Outcome = "maybe" }},
		{"a trial less", "its trials show no capacity (the search was interrupted)", func(r *capacity.Report) { v := &r.Variants[0]; v.Trials = v.Trials[:len(v.Trials)-1] }},
		{"a trial more", "comes after the end", func(r *capacity.Report) { v := &r.Variants[0]; v.Trials = append(v.Trials, v.Trials[0]) }},
		{"trials in another order", "ask for", func(r *capacity.Report) { slices.Reverse(r.Variants[0].Trials) }},
		{"another first load", "ask for 60 (bracket)", func(r *capacity.Report) { r.First = 60 }},
		{"another largest load", "trial 3 comes after the end", func(r *capacity.Report) { r.Most = 100 }},
		{"no largest load", "first is 50, and most 0", func(r *capacity.Report) { r.Most = 0 }},
		{"a variant twice", `has "znode" twice`, func(r *capacity.Report) { r.Variants = append(r.Variants, r.Variants[0]) }},
		{"no variant", "0 variants", func(r *capacity.Report) { r.Variants = []capacity.Capacity{} }},
		{"no scenario", `scenario is ""`, func(r *capacity.Report) { r.Scenario = "" }},
		{"an unknown engine", `engine is "containers"`, func(r *capacity.Report) { r.Engine = "containers" }},
		{"another kind of load", "clients is 50, and by clients", func(r *capacity.Report) { r.By, r.Objective = capacity.ByClients, "acquire-p99 < 50ms" }},
		{"an objective that this load does not have", "measured only in open loads", func(r *capacity.Report) { r.By, r.Clients = capacity.ByClients, 0 }},
		{"an unknown kind of load", `by is "size"`, func(r *capacity.Report) { r.By, r.Objective = "size", "acquire-p99 < 50ms" }},
		{"no clients", "clients is 0, and by rate", func(r *capacity.Report) { r.Clients = 0 }},
		{"no objective", "objective:", func(r *capacity.Report) { r.Objective = "response-p99" }},
		{"an objective in other words", "which zkbench writes as", func(r *capacity.Report) { r.Objective = "response-p99 < 0.05s" }},
		{"negative breaches", "breaches is negative", func(r *capacity.Report) { r.Breaches = -1 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := reported(t)
			tt.edit(&r)
			if _, err := capacity.Decode([]byte(encode(t, r))); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// A text that is cut, or whose parts are not those of a report, is not read as something else.
func TestDecodeIsStrict(t *testing.T) {
	whole := encode(t, reported(t))
	for name, text := range map[string]string{
		"nothing":        "",
		"cut":            whole[:len(whole)/2],
		"more":           whole + "{}",
		"unknown part":   strings.Replace(whole, `"by"`, `"bye": 1, "by"`, 1),
		"another case":   strings.Replace(whole, `"by"`, `"By"`, 1),
		"twice":          strings.Replace(whole, `"engine": "container"`, `"engine": "embedded", "engine": "container"`, 1),
		"no schema":      strings.Replace(whole, `"schema": 1,`, "", 1),
		"no breaches":    strings.Replace(whole, `"breaches": 0,`, "", 1),
		"capacity twice": strings.Replace(whole, `"refuted":`, `"capacity": 9, "refuted":`, 1),
		"null":           strings.Replace(whole, `"repeats": 2`, `"repeats": null`, 1),
		"a text":         strings.Replace(whole, `"repeats": 2`, `"repeats": "2"`, 1),
	} {
		if text == whole {
			t.Errorf("%s: nothing was replaced", name)
		}
		if _, err := capacity.Decode([]byte(text)); err == nil {
			t.Errorf("%s: is read", name)
		}
	}
}

// kept returns the documents that a search leaves in its folder and in that of its confirmations.
func kept(r capacity.Report) (trials, confirmations []*results.Document) {
	for _, t := range r.Variants[0].Trials {
		for repeat := range r.Repeats {
			d := &results.Document{Scenario: results.Scenario{Name: r.Scenario}, Variant: "znode", Clients: r.Clients, Rate: t.Load, Repeat: repeat + 1}
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

// The documents in a folder are those of the report, or one of the two is not what was measured.
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
		{"a repeat less", "holds in 1 of 2 repeats", func(_ *capacity.Report, d, _ *[]*results.Document) { *d = slices.Delete(*d, 1, 2) }},
		{"the first repeat less", "_r2.json shows that it holds", func(_ *capacity.Report, d, _ *[]*results.Document) { *d = slices.Delete(*d, 0, 1) }},
		{"no confirmations", "(confirm): it holds in 0 of 2", func(_ *capacity.Report, _, c *[]*results.Document) { *c = nil }},
		{"nothing left", "holds in 0 of 2", func(_ *capacity.Report, d, c *[]*results.Document) { *d, *c = nil, nil }},
		{"another outcome", "shows that it fails (80.0 ms)", func(_ *capacity.Report, d, _ *[]*results.Document) {
			(*d)[0].Metrics["response-p99-ns"] = results.Metric{Value: 80e6}
		}},
		{"no failure", "holds in 1 of 2 repeats, and the report says that it fails", func(_ *capacity.Report, d, _ *[]*results.Document) {
			for _, one := range *d {
				one.Metrics["response-p99-ns"] = results.Metric{Value: 1e6}
			}
		}},
		{"a run beside it", "is of no trial", func(_ *capacity.Report, d, _ *[]*results.Document) { (*d)[0].Rate = 0 }},
		{"another variant", "is of no trial", func(_ *capacity.Report, d, _ *[]*results.Document) { (*d)[0].Variant = "other" }},
		{"another scenario", "is of no trial", func(_ *capacity.Report, d, _ *[]*results.Document) { (*d)[0].Scenario.Name = "other" }},
		{"another engine", "is of no trial", func(_ *capacity.Report, d, _ *[]*results.Document) { (*d)[0].Environment.Engine = "embedded" }},
		{"the report of another engine", "is of no trial", func(r *capacity.Report, _, _ *[]*results.Document) { r.Engine = "process" }},
		{"the report of other clients", "is of no trial", func(r *capacity.Report, _, _ *[]*results.Document) { r.Clients = 100 }},
		{"a weaker objective", "holds in 1 of 2 repeats, and the report says that it fails", func(r *capacity.Report, _, _ *[]*results.Document) { r.Objective = "response-p99 < 500ms" }},
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
