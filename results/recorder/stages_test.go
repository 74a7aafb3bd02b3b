package recorder_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
)

// stagedRecorder has a window with two stages of two and three seconds, from the first second on.
func stagedRecorder(open bool) *recorder.Recorder {
	r := recorder.New(recorder.Config{
		Phase: "acquire", Operation: "release", Clients: 3, Version: "3.9.3", Open: open,
		WindowLength: 5 * time.Second, Stages: []time.Duration{2 * time.Second, 3 * time.Second},
	})
	r.Span("acquire", 0, 0, time.Second/2)
	r.OpenWindow(time.Second)
	return r
}

func closedStages(t *testing.T, r *recorder.Recorder, mode results.Mode) []results.Stage {
	t.Helper()
	d := &results.Document{Batch: 1, Phases: []string{"acquire"}, Scenario: results.Scenario{Mode: mode}}
	if err := r.Close(d, recorder.Facts{SessionTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	return d.Stages
}

// What happens in the window belongs to the stage in which it ends, a herd to the one in which it begins. The last stage lasts as long
// as the window.
func TestStages(t *testing.T) {
	r := stagedRecorder(false)
	record := func(at time.Duration, zxid int64) {
		r.Span("acquire", 0, at-time.Millisecond, at)
		r.Span("release", 0, at, at)
		for client := range 2 {
			r.Notification(recorder.Notification{At: at, Client: client, Zxid: zxid, Type: "NodeDeleted", Path: "/a"})
		}
	}
	record(2*time.Second, 1)
	record(3*time.Second, 2)
	r.Notification(recorder.Notification{At: 3*time.Second + 1, Client: 2, Zxid: 2, Type: "NodeDeleted", Path: "/a"}) // of a herd that began earlier
	record(4*time.Second, 3)
	record(6*time.Second+time.Millisecond, 4)
	r.CloseWindow(6*time.Second + 2*time.Millisecond)
	record(7*time.Second, 5)
	got := closedStages(t, r, results.ClosedMode)
	if len(got) != 2 {
		t.Fatalf("%d stages, want 2", len(got))
	}
	for i, want := range []results.Stage{
		{Start: time.Second, End: 3 * time.Second, Operations: 2, Notifications: 4, LargestHerd: 3},
		{Start: 3 * time.Second, End: 6*time.Second + 2*time.Millisecond, Operations: 2, Notifications: 5, LargestHerd: 2},
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
	r.Served(recorder.Served{Due: 2 * time.Second, Begun: 4 * time.Second, Done: 5 * time.Second})
	r.Backlog(5*time.Second, recorder.Backlog{Most: 7, LastEmpty: time.Second})
	r.CloseWindow(6 * time.Second)
	r.Served(recorder.Served{Due: 5 * time.Second, Begun: 8 * time.Second, Done: 9 * time.Second})
	got := closedStages(t, r, results.OpenMode)
	for i, want := range []struct {
		latency time.Duration
		backlog int64
	}{{3 * time.Second, 0}, {4 * time.Second, 7}} {
		h, err := got[i].Latency.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if off := time.Duration(h.Max()) - want.latency; h.TotalCount() != 1 || off.Abs() > 10*time.Millisecond || got[i].BacklogMax != want.backlog {
			t.Errorf("stage %d has %d response times up to %s and a backlog of %d, want %s and %d", i, h.TotalCount(), time.Duration(h.Max()), got[i].BacklogMax, want.latency, want.backlog)
		}
	}
}

// A window that is cut short has the stages that have begun, the last one as far as it has come.
func TestStagesOfAWindowCutShort(t *testing.T) {
	r := stagedRecorder(false)
	r.Span("acquire", 0, time.Second, 2*time.Second)
	r.CloseWindow(2 * time.Second)
	got := closedStages(t, r, results.ClosedMode)
	if len(got) != 1 || got[0].End != 2*time.Second || got[0].Latency.Samples != 1 {
		t.Errorf("stages %+v, want one until 2s with 1 sample", got)
	}
}
