package report_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

// stagedRun returns a document of a closed load of 5 s in two stages.
func stagedRun(t *testing.T) *results.Document {
	t.Helper()
	d := recordertest.Described()
	d.Scenario.Mode, d.Scenario.Duration = results.ClosedMode, 5*time.Second
	d.Scenario.Stages = []results.StageLoad{{For: 2 * time.Second, Clients: 1}, {For: 3 * time.Second, Clients: d.Clients, Ramp: d.Clients > 1}}
	m := releases(time.Second, 6*time.Second)
	m.Config = recorder.Config{WindowLength: 5 * time.Second, Phase: d.Phases[0], Stages: []time.Duration{2 * time.Second, 3 * time.Second}}
	for i, s := range m.Spans {
		m.Notifications = append(m.Notifications, recordertest.Note(s.End, 0, int64(s.End)))
		m.Spans = append(m.Spans, recordertest.Span{Phase: d.Phases[0], Start: s.End - time.Duration(i+1)*ms, End: s.End})
	}
	d.Oracle.ClientNotifications, d.Oracle.ServerNotifications = int64(len(m.Notifications)), int64(len(m.Notifications))
	m.Complete(d)
	return d
}

// Below the table, each stage of each variant has a line of its own, with the medians of its repeats.
func TestStagesTable(t *testing.T) {
	var docs []*results.Document
	slow := results.NewHistogram([]time.Duration{time.Second, 2 * time.Second})
	fast := results.NewHistogram([]time.Duration{3 * ms, 4 * ms})
	for _, variant := range []string{"znode", "predecessor-watch"} {
		for repeat, backlog := range []int64{900, 1100, 1000} {
			d := openDocument(variant, "naive", 400, repeat+1, 1)
			d.Scenario.Stages = []results.StageLoad{{For: 4 * time.Second, Rate: 100}, {For: 6 * time.Second, Rate: 400, Ramp: true}}
			d.Stages = []results.Stage{
				{End: 4 * time.Second, Operations: 400, Notifications: 200, LargestHerd: 3, Latency: fast},
				{Start: 4 * time.Second, End: 10 * time.Second, Operations: 1500, Notifications: 15000, LargestHerd: 49, BacklogMax: backlog, Latency: slow},
			}
			docs = append(docs, d)
		}
	}
	docs[len(docs)-1].Open.LastEmpty = 4 * time.Second // beyond the capacity in the second stage
	compareTables(t, "table-stages", docs, 80, 120)
}
