package recorder_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder"
)

// openDocument records arrivals of an open load with a window from the first to the eleventh time.Second.
func openDocument(t *testing.T, givenUp int64, record func(r *recorder.Recorder, closeWindow func())) *results.Document {
	t.Helper()
	r := recorder.New(recorder.Config{Operation: "step", Clients: 1, Open: true, WindowLength: 10 * time.Second})
	r.Backlog(0, recorder.Backlog{})
	closed := false
	r.OpenWindow(time.Second)
	record(r, func() { r.CloseWindow(11 * time.Second); closed = true })
	if !closed {
		r.CloseWindow(11 * time.Second)
	}
	d := &results.Document{Batch: 1, Rate: 1, Scenario: results.Scenario{Mode: results.OpenMode}}
	if err := r.Close(d, recorder.Facts{GivenUp: givenUp, SessionTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	return d
}

// An arrival belongs to the window if it was due there, whenever it was served.
func TestArrivalsBelongToTheWindowInWhichTheyWereDue(t *testing.T) {
	d := openDocument(t, 0, func(r *recorder.Recorder, closeWindow func()) {
		r.Served(recorder.Served{Due: time.Second / 2, Begun: 2 * time.Second, Done: 3 * time.Second}) // due in the warm-up
		r.Served(recorder.Served{Due: 4 * time.Second, Begun: 4 * time.Second, Done: 5 * time.Second}) // in the window
		r.Served(recorder.Served{Due: 6 * time.Second, Begun: 8 * time.Second, Done: 9 * time.Second}) // has waited
		r.Backlog(11*time.Second, recorder.Backlog{Most: 3, LastEmpty: 10 * time.Second})              // waits for a client
		closeWindow()
		r.Served(recorder.Served{Due: 10 * time.Second, Begun: 12 * time.Second, Done: 13 * time.Second}) // served after the window
		r.Served(recorder.Served{Due: 12 * time.Second, Begun: 12 * time.Second, Done: 14 * time.Second}) // due after the window
		r.Backlog(14*time.Second, recorder.Backlog{Most: 9, LastEmpty: 14 * time.Second})                 // after the window
	})
	want := results.Open{Arrivals: 3, Served: 3, Completed: 3, BacklogMax: 3, LastEmpty: 10 * time.Second, Lateness: d.Open.Lateness}
	if *d.Open != want {
		t.Errorf("open is %+v, want %+v", *d.Open, want)
	}
	for metric, want := range map[string]float64{
		"response-max-ns": 3e9, "response-p50-ns": 3e9, "service-max-ns": 1e9, metric.OfferedPerSecond: 0.3, metric.AchievedPerSecond: 0.3,
	} {
		if got := d.Metrics[metric].Value; got < want*0.999 || got > want*1.001 {
			t.Errorf("%s is %g, want %g", metric, got, want)
		}
	}
	if n := d.Histograms[results.WarmUpPrefix+results.ResponsePhase].Samples; n != 1 {
		t.Errorf("the warm-up has %d response times, want 1", n)
	}
	if most := d.Series.Backlog[len(d.Series.Backlog)-1]; most != 9 {
		t.Errorf("the series ends with a backlog of %d, want 9", most)
	}
	reported := int((11*time.Second - d.Series.Start) / d.Series.Bin)
	if b := d.Series.Backlog; b[reported] != 3 || slices.Min(b[reported+1:]) != 9 { // the late report counts for all bins before it
		t.Errorf("the backlog over time is %v, want 3 at 11 s, and 9 from there on", b)
	}
}

// A load whose backlog was never empty in the second half of the window has no response times, and no load has that whose backlog was
// given up after the window.
func TestLoadBeyondTheCapacity(t *testing.T) {
	for _, tt := range []struct {
		lastEmpty time.Duration
		givenUp   int64
		beyond    bool
	}{{2 * time.Second, 7, true}, {6*time.Second - 1, 7, true}, {6 * time.Second, 0, false}, {11 * time.Second, 0, false}, {11 * time.Second, 1, true}} {
		d := openDocument(t, tt.givenUp, func(r *recorder.Recorder, _ func()) {
			r.Served(recorder.Served{Due: 4 * time.Second, Begun: 4 * time.Second, Done: 5 * time.Second})
			r.Backlog(11*time.Second, recorder.Backlog{Most: 7, LastEmpty: tt.lastEmpty})
		})
		_, has := d.Metrics["response-p99-ns"]
		if d.BeyondCapacity() != tt.beyond || has == tt.beyond {
			t.Errorf("last empty at %s: beyond is %t, and there are response times: %t", tt.lastEmpty, d.BeyondCapacity(), has)
		}
		if d.Open.Arrivals != 1+tt.givenUp {
			t.Errorf("%d arrivals, want %d", d.Open.Arrivals, 1+tt.givenUp)
		}
	}
}

// A generator that begins arrivals late is a doubt, and makes the numbers invalid if its delay is a large share of them.
func TestLateGenerator(t *testing.T) {
	for _, tt := range []struct {
		late              time.Duration
		warnings, invalid int
	}{{50 * time.Millisecond, 0, 0}, {150 * time.Millisecond, 1, 0}, {300 * time.Millisecond, 0, 1}} {
		d := openDocument(t, 0, func(r *recorder.Recorder, _ func()) {
			for i := range time.Duration(100) {
				due := time.Second + i*time.Second/20
				r.Served(recorder.Served{Due: due, Begun: due + tt.late, Done: due + time.Second, Lateness: tt.late})
			}
		})
		late, invalid := countPrefix(d.Warnings, "zkbench began arrivals late"), countPrefix(d.Invalid, "zkbench began arrivals late")
		if late != tt.warnings || invalid != tt.invalid {
			t.Errorf("late by %s of a time.Second: %d warnings and %d reasons, want %d and %d", tt.late, late, invalid, tt.warnings, tt.invalid)
		}
	}
}

// Two late arrivals of 100 are a p99, and of fewer arrivals none is computed.
func TestFewLateArrivals(t *testing.T) {
	for n, want := range map[time.Duration]int{99: 0, 100: 1} {
		d := openDocument(t, 0, func(r *recorder.Recorder, _ func()) {
			for i := range n {
				due, late := time.Second+i*time.Second/20, time.Duration(0)
				if i < 2 {
					late = 900 * time.Millisecond
				}
				r.Served(recorder.Served{Due: due, Begun: due + late, Done: due + time.Second, Lateness: late})
			}
		})
		if invalid := countPrefix(d.Invalid, "zkbench began arrivals late"); invalid != want {
			t.Errorf("of %d arrivals, two were late: %d reasons, want %d", n, invalid, want)
		}
	}
}

func countPrefix(texts []string, prefix string) int {
	n := 0
	for _, text := range texts {
		if strings.HasPrefix(text, prefix) {
			n++
		}
	}
	return n
}
