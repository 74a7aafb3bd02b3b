package capacity_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/must"
)

func TestReport(t *testing.T) {
	known := find(t, 50, 10_000, func(load int) capacity.Outcome {
		if load <= 120 {
			return capacity.Holds
		}
		return capacity.Fails
	})
	unknown := find(t, 50, 100, func(int) capacity.Outcome { return capacity.Holds })
	r := capacity.Report{Scenario: "lock-contention", Engine: "container", By: capacity.ByRate, Clients: 50, Objective: "response-p99 < 100ms", Repeats: 3}
	r.Add("children-watch", known)
	if unknown := r.Unknown(); len(unknown) > 0 {
		t.Errorf("with all capacities known: %q", unknown)
	}
	r.Add("predecessor-watch", unknown)
	if unknown := r.Unknown(); len(unknown) != 1 {
		t.Errorf("with an unknown capacity: %q", unknown)
	}
	for _, width := range []int{80, 120} {
		var out bytes.Buffer
		r.Write(&out, width)
		golden.Compare(t, filepath.Join("testdata", fmt.Sprintf("report-%d.txt", width)), out.Bytes())
	}
}

func TestObjective(t *testing.T) {
	for text, ok := range map[string]bool{
		"response-p99 < 50ms": true, "response-p99<50ms": true, "response-p99 <> 50ms": false, "response-p99-ns <= 50ms": true, "achieved/s > 100": true,
		"": false, "response-p99": false, "response-p99 < soon": false, "response-p99 == 50ms": false, "znode response-p99 < 50ms": false,
		"response-p99 < 48h": false, "response-p99 >= 0": false,
		"response-p99 < 0s": false, "response-p99 <= 0s": false, "response-p99 < -5ms": false, "violations < 0": false, "violations <= 0": true, "violations < 1": true,
		"ops/s > 1e12": false, "finished >= 1": true, "finished > 1": false,
	} {
		if _, err := capacity.ParseObjective(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	o := must.Get(capacity.ParseObjective("response-p99 < 50ms"))(t)
	if o.String() != "response-p99 < 50ms" {
		t.Errorf("read as %q", o)
	}
	document := func(p99 float64, change func(*results.Document)) *results.Document {
		d := &results.Document{Metrics: map[string]results.Metric{"response-p99-ns": {Value: p99}}, Window: results.Window{End: 10 * time.Second}}
		d.Open = &results.Open{LastEmpty: 10 * time.Second}
		if change != nil {
			change(d)
		}
		return d
	}
	for name, tt := range map[string]struct {
		d    *results.Document
		want capacity.Outcome
	}{
		"below":           {document(49e6, nil), capacity.Holds},
		"above":           {document(51e6, nil), capacity.Fails},
		"beyond":          {document(1, func(d *results.Document) { d.Open.LastEmpty = 0 }), capacity.Fails},
		"invalid":         {document(1, func(d *results.Document) { d.Invalid = []string{"late"} }), capacity.Unclear},
		"missing":         {document(1, func(d *results.Document) { d.Metrics = nil }), capacity.Unclear},
		"invalid, beyond": {document(1, func(d *results.Document) { d.Open.LastEmpty, d.Invalid = 0, []string{"late"} }), capacity.Fails},
	} {
		if got, why := o.Judge(tt.d, capacity.Bracket); got != tt.want || why == "" {
			t.Errorf("%s: %s (%s), want %s", name, got, why, tt.want)
		}
	}
}

// Of the repeats in which an objective holds, the worst is reported, and one in which it does not hold decides.
func TestWorstOfTheRepeats(t *testing.T) {
	served := func(metric string, values ...float64) (repeats []*results.Document) {
		for _, v := range values {
			repeats = append(repeats, &results.Document{Metrics: map[string]results.Metric{metric: {Value: v}}})
		}
		return repeats
	}
	for _, tt := range []struct {
		name, objective string
		repeats         []*results.Document
		want            capacity.Outcome
		why             string
	}{
		{"the last is the best", "acquire-max < 50ms", served("acquire-max-ns", 20e6, 40e6, 10e6), capacity.Holds, "40.0 ms"},
		{"the last is the worst", "acquire-max < 50ms", served("acquire-max-ns", 20e6, 30e6), capacity.Holds, "30.0 ms"},
		{"the smallest is the worst", "ops/s > 50", served("ops/s", 300, 200, 400), capacity.Holds, "200"},
		{"one that fails", "acquire-max < 50ms", served("acquire-max-ns", 20e6, 60e6, 70e6), capacity.Fails, "60.0 ms"},
	} {
		o := must.Get(capacity.ParseObjective(tt.objective))(t)
		if got, why := o.JudgeAll(tt.repeats, capacity.Bracket); got != tt.want || why != tt.why {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.name, got, why, tt.want, tt.why)
		}
	}
}

// A percentile of too few samples does not hold, and neither does one that lacks the longest waits.
func TestPercentilesThatDoNotHold(t *testing.T) {
	times := func(n int) results.Histogram {
		h := results.NewHistogram(slices.Repeat([]time.Duration{time.Millisecond}, n))
		return h
	}
	for _, tt := range []struct {
		name, objective string
		samples         int
		starving        int
		want            capacity.Outcome
		why             string
	}{
		{"enough for a p99", "acquire-p99 < 50ms", 100, 0, capacity.Holds, ""},
		{"too few for a p99", "acquire-p99 < 50ms", 99, 0, capacity.Unclear, "lengthen --duration"},
		{"too few, and it fails", "acquire-p99 < 500us", 99, 0, capacity.Fails, ""},
		{"enough for a median", "acquire-p50 < 50ms", 2, 0, capacity.Holds, ""},
		{"too few for a median", "acquire-p50/floor < 10", 1, 0, capacity.Unclear, "lengthen --duration"},
		{"a maximum", "acquire-max < 50ms", 1, 0, capacity.Holds, ""},
		{"a count", "requests/op < 50", 1, 100, capacity.Holds, ""},
		{"starving clients", "acquire-p99 < 50ms", 1000, 2, capacity.Fails, "clients starve"},
		{"the median beside a few that starve", "acquire-p50 < 50ms", 1000, 2, capacity.Holds, ""},
		{"the median beside many that starve", "acquire-p50 < 50ms", 1000, 101, capacity.Fails, "clients starve"},
		{"response times, which contain the waits", "response-p99 < 50ms", 1000, 1000, capacity.Holds, ""},
	} {
		o := must.Get(capacity.ParseObjective(tt.objective))(t)
		d := &results.Document{Phases: []string{"acquire"}, Histograms: map[string]results.Histogram{"acquire": times(tt.samples), "response": times(tt.samples)}}
		d.Window = results.Window{UnfinishedWaits: tt.starving, StarvingWaits: tt.starving}
		d.Metrics = map[string]results.Metric{o.Metric: {Value: 1e6}}
		if !strings.HasSuffix(o.Metric, "-ns") {
			d.Metrics[o.Metric] = results.Metric{Value: 2}
		}
		if got, why := o.Judge(d, capacity.Confirm); got != tt.want || !strings.Contains(why, tt.why) {
			t.Errorf("%s: %s (%s), want %s with %q", tt.name, got, why, tt.want, tt.why)
		}
	}
}

// A trial that decides is made on a machine that did not change its speed, for each outcome, unless its load is why.
func TestTrialsThatDecideNeedAFloorThatStays(t *testing.T) {
	half := func(took time.Duration) map[string]results.Histogram {
		h := results.NewHistogram([]time.Duration{took})
		return map[string]results.Histogram{results.FloorWrite: h}
	}
	moved := &results.Floor{Before: half(time.Millisecond), After: half(3 * time.Millisecond)}
	for _, tt := range []struct {
		name    string
		purpose capacity.Purpose
		p99     float64
		change  func(*results.Document)
		want    capacity.Outcome
	}{
		{"a first trial that holds", capacity.Bracket, 1e6, nil, capacity.Holds},
		{"a first trial that fails", capacity.Bisect, 60e6, nil, capacity.Fails},
		{"a confirmation that holds", capacity.Confirm, 1e6, nil, capacity.Unclear},
		{"a confirmation that fails", capacity.Confirm, 60e6, nil, capacity.Unclear},
		{"a refutation that holds", capacity.Refute, 1e6, nil, capacity.Unclear},
		{"a refutation that fails", capacity.Refute, 60e6, nil, capacity.Unclear},
		{"a refutation beyond the capacity", capacity.Refute, 60e6, func(d *results.Document) { d.Open.LastEmpty = 0 }, capacity.Fails},
		{"a confirmation beyond the capacity", capacity.Confirm, 60e6, func(d *results.Document) { d.Open.LastEmpty = 0 }, capacity.Fails},
		{"the embedded server", capacity.Refute, 60e6, func(d *results.Document) { d.Environment.Engine = results.Embedded }, capacity.Fails},
		{"a floor that stays", capacity.Refute, 60e6, func(d *results.Document) { d.Floor = &results.Floor{Before: moved.Before, After: moved.Before} }, capacity.Fails},
	} {
		o := must.Get(capacity.ParseObjective("response-p99 < 50ms"))(t)
		d := &results.Document{Metrics: map[string]results.Metric{"response-p99-ns": {Value: tt.p99}}, Window: results.Window{End: 10 * time.Second}, Floor: moved}
		d.Open = &results.Open{LastEmpty: 10 * time.Second}
		if tt.change != nil {
			tt.change(d)
		}
		if got, why := o.Judge(d, tt.purpose); got != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, got, why, tt.want)
		}
	}
}

// An objective is one that a larger load fails.
func TestObjectivesOfALoad(t *testing.T) {
	for _, tt := range []struct{ by, objective, want string }{
		{capacity.ByRate, "response-p99 < 50ms", ""},
		{capacity.ByRate, "violations <= 0", ""},
		{capacity.ByRate, "acquire-p50/floor < 10", ""},
		{capacity.ByClients, "ops/s >= 100", ""},
		{capacity.ByRate, "ops/s >= 100", "grows with the load"},
		{capacity.ByRate, "achieved/s >= 100", "grows with the load"},
		{capacity.ByClients, "achieved/s >= 100", "only in open loads"},
		{capacity.ByClients, "ops/s <= 100", "more ops/s is better"},
		{capacity.ByRate, "response-p99 > 50ms", "less response-p99-ns is better"},
		{capacity.ByRate, "background-reads/s < 100", "more background-reads/s is better"},
		{capacity.ByRate, "offered/s < 100", "does not show how well"},
		{capacity.ByRate, "floor-write-p50 < 5ms", "does not show how well"},
	} {
		o := must.Get(capacity.ParseObjective(tt.objective))(t)
		if err := o.Check(tt.by); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("by %s, %s: %v, want %q", tt.by, tt.objective, err, tt.want)
		}
	}
}
