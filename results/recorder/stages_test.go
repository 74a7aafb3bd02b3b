package recorder_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
)

// stagedRecorder has a window that begins at one second, with two stages of two and three seconds.
func stagedRecorder(open bool) *recorder.Recorder {
	r := recorder.New(recorder.Config{
		Phase: "acquire", Operation: "release", Clients: 3, Named: true, Open: open,
		WindowLength: 5 * s, Stages: []time.Duration{2 * s, 3 * s},
	})
	r.Span("acquire", 0, 0, s/2)
	r.OpenWindow(s)
	return r
}

func closedStages(t *testing.T, r *recorder.Recorder, mode results.Mode) []results.Stage {
	t.Helper()
	d := &results.Document{Batch: 1, Phases: []string{"acquire"}, Scenario: results.Scenario{Mode: mode}}
	return closed(t, r, d).Stages
}

// An event in the window belongs to the stage in which it ends, a herd to the one in which it begins. The last stage lasts as
// long as the window.
func TestStages(t *testing.T) {
	r := stagedRecorder(false)
	record := func(at time.Duration, zxid int64) {
		r.Span("acquire", 0, at-ms, at)
		r.Span("release", 0, at, at)
		for client := range 2 {
			r.Notification(recorder.Notification{At: at, Client: client, Zxid: zxid, Type: "NodeDeleted", Path: "/a"})
		}
	}
	record(2*s, 1)
	record(3*s, 2)
	r.Notification(recorder.Notification{At: 3*s + 1, Client: 2, Zxid: 2, Type: "NodeDeleted", Path: "/a"}) // of a herd that began earlier
	record(4*s, 3)
	record(6*s+ms, 4)
	r.CloseWindow(6*s + 2*ms)
	record(7*s, 5)
	got := closedStages(t, r, results.ClosedMode)
	if len(got) != 2 {
		t.Fatalf("%d stages, want 2", len(got))
	}
	for i, want := range []results.Stage{
		{Start: s, End: 3 * s, Operations: 2, Notifications: 4, LargestHerd: 3},
		{Start: 3 * s, End: 6*s + 2*ms, Operations: 2, Notifications: 5, LargestHerd: 2},
	} {
		want.Latency = got[i].Latency
		if got[i] != want || got[i].Latency.Samples != 2 {
			t.Errorf("stage %d is %+v, want %+v with 2 samples", i, got[i], want)
		}
	}
}

// An arrival of an open load belongs to the stage in which it was due, even if it was served later.
func TestStagesOfArrivals(t *testing.T) {
	r := stagedRecorder(true)
	r.Served(recorder.Served{Due: 2 * s, Begun: 4 * s, Done: 5 * s})
	r.Backlog(5*s, recorder.Backlog{Most: 7, LastEmpty: s})
	r.CloseWindow(6 * s)
	r.Served(recorder.Served{Due: 5 * s, Begun: 8 * s, Done: 9 * s})
	got := closedStages(t, r, results.OpenMode)
	for i, want := range []struct {
		latency time.Duration
		backlog int64
	}{{3 * s, 0}, {4 * s, 7}} {
		took := longest(t, got[i].Latency)
		if got[i].Latency.Samples != 1 || (took-want.latency).Abs() > 10*ms || got[i].BacklogMax != want.backlog {
			t.Errorf("stage %d has times up to %s and is %+v, want one of %s, and a backlog of %d", i, took, got[i], want.latency, want.backlog)
		}
	}
}

// A window that is cut short has the stages that have begun, the last one as far as it has come.
func TestStagesOfAWindowCutShort(t *testing.T) {
	r := stagedRecorder(false)
	r.Span("acquire", 0, s, 2*s)
	r.CloseWindow(2 * s)
	got := closedStages(t, r, results.ClosedMode)
	if len(got) != 1 || got[0].End != 2*s || got[0].Latency.Samples != 1 {
		t.Errorf("stages %+v, want one until 2s with 1 sample", got)
	}
}
