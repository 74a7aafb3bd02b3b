package recorder_test

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
)

func TestSeries(t *testing.T) {
	rec := recorder.New(recorder.Config{Phase: "acquire", Operation: "release", Named: true})
	rec.Traffic(s, recorder.Traffic{Requests: 100}) // the sessions' own
	rec.Span("acquire", 0, s, s+20*ms)
	rec.Span("release", 0, s, s+50*ms)
	rec.Traffic(s+60*ms, recorder.Traffic{Requests: 103})
	rec.Memory(s+70*ms, 3000)
	rec.Memory(s+80*ms, 2000)
	rec.OpenWindow(s + 100*ms)
	rec.Span("acquire", 0, s, s+130*ms)
	rec.Span("acquire", 1, s+130*ms, s+140*ms)
	rec.Span("release", 0, s, s+150*ms)
	rec.Notification(note(s+190*ms, 0, 7))
	rec.Notification(note(s+210*ms, 1, 7))
	rec.Notification(note(s+220*ms, 1, 8))
	rec.Read(results.BystanderRead{At: s + 110*ms, Service: ms, Response: 130 * ms})
	rec.Traffic(s+250*ms, recorder.Traffic{Requests: 110})
	rec.Memory(s+250*ms, 4000)
	rec.CloseWindow(s + 410*ms)
	rec.Notification(note(s+415*ms, 1, 9))
	rec.Traffic(s+420*ms, recorder.Traffic{Requests: 111})
	d := closed(t, rec, &results.Document{})
	equal(t, "series", *d.Series, results.Series{
		Start: s, Bin: 100 * ms,
		Operations: []int64{1, 1, 0, 0, 0}, Requests: []int64{3, 0, 7, 0, 1}, Notifications: []int64{0, 1, 2, 0, 1},
		LargestHerd: []int{0, 2, 1, 0, 1}, SlowestRead: []time.Duration{0, 130 * ms, 0, 0, 0},
		Samples: []int64{1, 2, 0, 0, 0}, Time: []time.Duration{20 * ms, 140 * ms, 0, 0, 0}, Memory: []int64{3000, 0, 4000, 0, 0},
	})
}

// However long it lasts, a series has no more than MaxBins bins, and loses nothing when they are doubled. A herd that
// is complete only after that is in the bin into which the one that it began in was merged.
func TestSeriesDoubles(t *testing.T) {
	const last = 250 * s // 2500 bins of 100 ms
	rec := recorder.New(recorder.Config{Phase: "release", Operation: "release", Named: true})
	rec.OpenWindow(0)
	rec.Traffic(0, recorder.Traffic{})
	at := make([]int64, 4000)
	for i := range 2500 {
		end := time.Duration(i)*100*ms + 50*ms
		at[end/(800*ms)]++
		rec.Span("release", 0, end-ms, end)
		rec.Traffic(end, recorder.Traffic{Requests: int64(i + 1)})
		rec.Memory(end, int64(2500-i))
		rec.Read(results.BystanderRead{At: end - 2*ms, Service: ms, Response: time.Duration(i + 1)})
		if i >= 2000 && i < 2003 {
			rec.Notification(note(end, i-2000, 9))
		}
	}
	rec.CloseWindow(last)
	d := closed(t, rec, &results.Document{})
	series := d.Series
	if series.Bin != 800*ms || len(series.Operations) != 313 || series.Start != 0 {
		t.Fatalf("%d bins of %s from %s, want 313 of 800ms from 0", len(series.Operations), series.Bin, series.Start)
	}
	equal(t, "operations", series.Operations, at[:313])
	equal(t, "requests", series.Requests, at[:313])
	equal(t, "samples", series.Samples, at[:313])
	if series.Time[0] != 8*ms || series.Memory[0] != 2500 || series.Memory[312] != 4 {
		t.Errorf("times %v, want 8 ms in the first bin; memory %v, want the largest of each bin", series.Time, series.Memory)
	}
	if slices.Max(series.LargestHerd) != 3 || series.LargestHerd[200050*ms/(800*ms)] != 3 {
		t.Errorf("herds %v, want one of 3 in bin 250", series.LargestHerd)
	}
	if !slices.IsSorted(series.SlowestRead) || series.SlowestRead[312] != 2500 {
		t.Errorf("slowest reads %v, want them to grow up to 2500", series.SlowestRead)
	}
	for _, length := range []int{len(series.Requests), len(series.Notifications), len(series.LargestHerd), len(series.SlowestRead)} {
		if length != 313 {
			t.Errorf("a list of %d bins beside one of 313", length)
		}
	}
}

// If the window's length is known, its exact middle is kept although the window may end a little late.
func TestTimelineOfKnownWindow(t *testing.T) {
	for _, tt := range []struct {
		planned, length, start, end time.Duration // the latter two in the window
	}{
		{10 * s, 10 * s, 4500 * ms, 5500 * ms},
		{10 * s, 10*s + 40*ms, 4520 * ms, 5520 * ms},
		{10 * s, 9*s + 600*ms, 4300 * ms, 5300 * ms},
		{600 * ms, 610 * ms, 0, 610 * ms},
		{s, s + 10*ms, 5 * ms, s + 5*ms},
	} {
		r := raw{Window: between(3*s, 3*s+tt.length), Config: recorder.Config{WindowLength: tt.planned}}
		for at := 3 * s; at < r.Window.End; at += 10 * ms {
			r.Notifications = append(r.Notifications, note(at, 0, 1))
		}
		got := r.record(t, &results.Document{}).Timeline
		equal(t, "timeline", got, r.cut(3*s+tt.start, 3*s+tt.end))
	}
}
