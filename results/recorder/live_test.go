package recorder_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/results/recorder"
)

// second feeds one second, beginning at start: operations of 1 ms, each with a notification, the last of them in one herd.
func second(rec *recorder.Recorder, start time.Duration, operations, herd int) {
	for i := range operations {
		at := start + time.Duration(i)*s/time.Duration(operations)
		zxid := int64(at)
		if i >= operations-herd {
			zxid = int64(start + s)
		}
		rec.Span("acquire", 0, at-ms, at)
		rec.Span("release", 0, at, at)
		rec.Notification(note(at, i, zxid))
	}
}

func TestLastSeconds(t *testing.T) {
	rec := recorder.New(recorder.Config{Phase: "acquire", Operation: "release", Named: true})
	equal(t, "before the first event", rec.LastSeconds(5*s), recorder.LastSeconds{})
	second(rec, 2*s, 10, 3)
	equal(t, "in the first second", rec.LastSeconds(2*s+900*ms), recorder.LastSeconds{})
	got := rec.LastSeconds(3*s + 100*ms)
	equal(t, "after a second", got, recorder.LastSeconds{
		Length: s, Second: recorder.Second{Operations: 10, Notifications: 10, LargestHerd: 3, P99: got.P99},
	})
	if got.P99 < ms || got.P99 > ms+ms/50 || got.PerSecond(got.Operations) != 10 {
		t.Errorf("p99 %s, %g operations/s", got.P99, got.PerSecond(got.Operations))
	}
	second(rec, 5*s, 20, 2)
	got = rec.LastSeconds(6*s + 999*ms)
	equal(t, "with a second of which nothing is known", got, recorder.LastSeconds{
		Length: 4 * s, Second: recorder.Second{Operations: 30, Notifications: 30, LargestHerd: 3, P99: got.P99},
	})
	rec.Span("acquire", 0, 12*s, 14*s+500*ms)
	got = rec.LastSeconds(15*s + 300*ms)
	equal(t, "when the first seconds are forgotten", got, recorder.LastSeconds{
		Length: 10 * s, Second: recorder.Second{Operations: 20, Notifications: 20, LargestHerd: 2, P99: got.P99},
	})
	if got.P99 < 2500*ms {
		t.Errorf("p99 %s, want that of the slowest of 21", got.P99)
	}
	equal(t, "in the present second nothing counts", rec.LastSeconds(200*s+ms), recorder.LastSeconds{Length: 10 * s})
	second(rec, 200*s, 5, 1)
	rec.Span("acquire", 0, s, 100*s) // too late to count
	equal(t, "the latest second", rec.LastSeconds(201*s).Operations, int64(5))
}

// Servers that do not name transactions have herds, too.
func TestLastSecondsOfOldServers(t *testing.T) {
	rec := recorder.New(recorder.Config{Operation: "release"})
	for id := range 4 {
		rec.Notification(note(s+time.Duration(id)*ms, id, -1))
	}
	equal(t, "the largest herd", rec.LastSeconds(2*s).LargestHerd, 4)
}

// The last minute has each whole second with its own p99, also seconds without an event, and no second that is older or not
// over.
func TestLastMinute(t *testing.T) {
	rec := recorder.New(recorder.Config{Phase: "acquire", Operation: "release", Named: true})
	equal(t, "before the first event", len(rec.LastMinute(5*s)), 0)
	second(rec, 2*s, 10, 3)
	rec.Span("acquire", 0, 12*s, 14*s+500*ms)
	second(rec, 15*s, 20, 2)
	got := rec.LastMinute(16*s + 300*ms)
	equal(t, "seconds", len(got), 14)
	equal(t, "the first one", got[0], recorder.Second{Operations: 10, Notifications: 10, LargestHerd: 3, P99: got[0].P99})
	equal(t, "one without an event", got[5], recorder.Second{})
	equal(t, "the last one", got[13], recorder.Second{Operations: 20, Notifications: 20, LargestHerd: 2, P99: got[13].P99})
	if got[0].P99 > 2*ms || got[12].P99 < 2400*ms || got[13].P99 > 2*ms {
		t.Errorf("p99 of the seconds: %s, %s and %s", got[0].P99, got[12].P99, got[13].P99)
	}
	for start := 16 * s; start < 200*s; start += s {
		second(rec, start, 5, 1)
	}
	if got = rec.LastMinute(200*s + ms); len(got) != 60 || got[0].P99 == 0 || got[59].Operations != 5 {
		t.Errorf("%d seconds after 200, from %+v to %+v", len(got), got[0], got[len(got)-1])
	}
}

// Totals count all events. Traffic that is known only at samples is counted from the second sample.
func TestTotals(t *testing.T) {
	rec := recorder.New(recorder.Config{Phase: "acquire", Operation: "release", Named: true})
	rec.Traffic(s, recorder.Traffic{Requests: 100, FailedRequests: 10})
	for start := s; start < 100*s; start += s {
		second(rec, start, 4, 2)
	}
	rec.Traffic(99*s+500*ms, recorder.Traffic{Requests: 130, FailedRequests: 17})
	rec.FailedOperation(99*s + 600*ms)
	equal(t, "totals", rec.Totals(), recorder.Totals{Operations: 4 * 99, Notifications: 4 * 99, Requests: 30, FailedRequests: 7, FailedOperations: 1})
	equal(t, "failed requests of the last seconds", rec.LastSeconds(100*s).FailedRequests, int64(7))
}
