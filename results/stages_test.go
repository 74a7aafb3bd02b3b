package results_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

// stagedRun returns a document of a closed load of 5 s in two stages.
func stagedRun(t *testing.T) *results.Document {
	t.Helper()
	d := described()
	d.Scenario.Mode, d.Scenario.Duration = results.ClosedMode, 5*time.Second
	d.Scenario.Stages = []results.StageLoad{{For: 2 * time.Second, Clients: 1}, {For: 3 * time.Second, Clients: d.Clients, Ramp: d.Clients > 1}}
	m := releases(time.Second, 6*time.Second)
	m.Config = recorder.Config{WindowLength: 5 * time.Second, Phase: d.Phases[0], Stages: []time.Duration{2 * time.Second, 3 * time.Second}}
	for i, s := range m.Spans {
		m.Notifications = append(m.Notifications, note(s.End, 0, int64(s.End)))
		m.Spans = append(m.Spans, recordertest.Span{Phase: d.Phases[0], Start: s.End - time.Duration(i+1)*ms, End: s.End})
	}
	d.Oracle.ClientNotifications, d.Oracle.ServerNotifications = int64(len(m.Notifications)), int64(len(m.Notifications))
	m.Complete(t, d)
	return d
}

// Stages are the parts of the window: a document in which they are not is refused.
func TestValidateStages(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(d *results.Document)
		want   string
	}{
		{"whole", func(*results.Document) {}, ""},
		{"missing", func(d *results.Document) { d.Stages = d.Stages[:1] }, "stages has 1 elements, and scenario.stages 2"},
		{"not asked for", func(d *results.Document) { d.Scenario.Stages = nil }, "stages has 2 elements, and scenario.stages 0"},
		{"moved", func(d *results.Document) { d.Stages[0].End += ms; d.Stages[1].Start += ms }, "stages[0] lasts for 2.001s, and scenario.stages[0] for 2s"},
		{"with a gap", func(d *results.Document) { d.Stages[1].Start += ms }, "stages[1] begins at 3.001s, and the part of the window before it ends at 3s"},
		{"cut", func(d *results.Document) { d.Stages[1].End -= ms }, "stages end at 5.999s, and the window at 6s"},
		{"shorter than the load", func(d *results.Document) { d.Scenario.Stages[1].For -= ms }, "scenario.stages last for 4.999s"},
		{"with a rate", func(d *results.Document) { d.Scenario.Stages[1].Rate = 1 }, "scenario.stages[1] is"},
		{"more clients than there are", func(d *results.Document) { d.Scenario.Stages[1].Clients = d.Clients + 1 }, "and the load has at most"},
		{"an operation more", func(d *results.Document) { d.Stages[0].Operations++ }, "operations, and window.operations is"},
		{"a notification less", func(d *results.Document) { d.Stages[1].Notifications-- }, "notifications, and counts.notified is"},
		{"a larger herd", func(d *results.Document) { d.Stages[1].LargestHerd++ }, "stages have herds of at most 2"},
		{"a backlog", func(d *results.Document) { d.Stages[0].BacklogMax++ }, "stages have a backlog of at most 1"},
		{"without latencies", func(d *results.Document) { d.Stages[0].Latency = results.Histogram{} }, "latencies, and histograms."},
		{"as many other latencies", func(d *results.Document) {
			d.Stages[0].Latency, _ = results.NewHistogram(make([]time.Duration, d.Stages[0].Latency.Samples))
		}, "the latencies of stages are other ones"},
	} {
		d := stagedRun(t)
		tt.change(d)
		check(t, tt.name, d, tt.want)
	}
}

// Below the table, each stage of each variant has a line of its own, with the medians of its repeats.
func TestStagesTable(t *testing.T) {
	var docs []*results.Document
	for _, variant := range []string{"znode", "predecessor-watch"} {
		for repeat, backlog := range []int64{900, 1100, 1000} {
			d := openDocument(variant, "naive", 400, repeat+1, 1)
			d.Scenario.Stages = []results.StageLoad{{For: 4 * time.Second, Rate: 100}, {For: 6 * time.Second, Rate: 400, Ramp: true}}
			slow, err := results.NewHistogram([]time.Duration{time.Second, 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			fast, err := results.NewHistogram([]time.Duration{3 * ms, 4 * ms})
			if err != nil {
				t.Fatal(err)
			}
			d.Stages = []results.Stage{
				{End: 4 * time.Second, Operations: 400, Notifications: 200, LargestHerd: 3, Latency: fast},
				{Start: 4 * time.Second, End: 10 * time.Second, Operations: 1500, Notifications: 15000, LargestHerd: 49, BacklogMax: backlog, Latency: slow},
			}
			docs = append(docs, d)
		}
	}
	docs[len(docs)-1].Open.LastEmpty = 4 * time.Second // beyond the capacity in the second stage
	for _, width := range []int{80, 120} {
		var out bytes.Buffer
		if err := results.Summarize(docs).WriteTable(&out, width); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, filepath.Join("testdata", fmt.Sprintf("table-stages-%d.txt", width)), out.Bytes())
	}
}

// The stages of a load are one of its conditions.
func TestStagesAreACondition(t *testing.T) {
	d, other := stagedRun(t), stagedRun(t)
	if !d.SameConditions(other) {
		t.Error("two documents of the same stages differ in their conditions")
	}
	other.Scenario.Stages = []results.StageLoad{{For: 3 * time.Second, Clients: 1}, {For: 2 * time.Second, Clients: d.Clients}}
	if d.SameConditions(other) {
		t.Error("two documents of different stages have the same conditions")
	}
	if text := results.StagesText(d.Scenario.Stages); !strings.HasPrefix(text, "for: 2s, clients: 1; for: 3s, clients: ") {
		t.Errorf("the stages are %q", text)
	}
}
