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

// openDocument records arrivals of an open load with a window from the first to the eleventh second.
func openDocument(t *testing.T, givenUp int64, inWindow func(r *recorder.Recorder), after ...func(r *recorder.Recorder)) *results.Document {
	t.Helper()
	r := recorder.New(recorder.Config{Operation: "step", Clients: 1, Open: true, WindowLength: 10 * s})
	r.Backlog(0, recorder.Backlog{})
	r.OpenWindow(s)
	inWindow(r)
	r.CloseWindow(11 * s)
	for _, record := range after {
		record(r)
	}
	d := &results.Document{Batch: 1, Rate: 1, Scenario: results.Scenario{Mode: results.OpenMode}}
	r.Close(d, recorder.Unserved{GivenUp: givenUp})
	return d
}

// An arrival belongs to the window if it was due there, whenever it was served.
func TestArrivalsBelongToTheWindowInWhichTheyWereDue(t *testing.T) {
	d := openDocument(t, 0, func(r *recorder.Recorder) {
		r.Served(recorder.Served{Due: s / 2, Begun: 2 * s, Done: 3 * s}) // due in the warm-up
		r.Served(recorder.Served{Due: 4 * s, Begun: 4 * s, Done: 5 * s}) // in the window
		r.Served(recorder.Served{Due: 6 * s, Begun: 8 * s, Done: 9 * s}) // has waited
		r.Backlog(11*s, recorder.Backlog{Most: 3, LastEmpty: 10 * s})    // waits for a client
	}, func(r *recorder.Recorder) {
		r.Served(recorder.Served{Due: 10 * s, Begun: 12 * s, Done: 13 * s}) // served after the window
		r.Served(recorder.Served{Due: 12 * s, Begun: 12 * s, Done: 14 * s}) // due after the window
		r.Backlog(14*s, recorder.Backlog{Most: 9, LastEmpty: 14 * s})       // after the window
	})
	want := results.Open{Arrivals: 3, Served: 3, Completed: 3, BacklogMax: 3, LastEmpty: 10 * s, Lateness: d.Open.Lateness}
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
	reported := int((11*s - d.Series.Start) / d.Series.Bin)
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
	}{{2 * s, 7, true}, {6*s - 1, 7, true}, {6 * s, 0, false}, {11 * s, 0, false}, {11 * s, 1, true}} {
		d := openDocument(t, tt.givenUp, func(r *recorder.Recorder) {
			r.Served(recorder.Served{Due: 4 * s, Begun: 4 * s, Done: 5 * s})
			r.Backlog(11*s, recorder.Backlog{Most: 7, LastEmpty: tt.lastEmpty})
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

// A generator that begins arrivals late is a doubt, and makes the numbers invalid if its delay is a large share of them. Two late
// arrivals of 100 are a p99, and of fewer arrivals none is computed.
func TestLateGenerator(t *testing.T) {
	for _, tt := range []struct {
		arrivals, late    time.Duration // how many, and how many of them are late
		by                time.Duration // of a second
		warnings, invalid int
	}{{100, 100, 50 * ms, 0, 0}, {100, 100, 150 * ms, 1, 0}, {100, 100, 300 * ms, 0, 1}, {99, 2, 900 * ms, 0, 0}, {100, 2, 900 * ms, 0, 1}} {
		d := openDocument(t, 0, func(r *recorder.Recorder) {
			for i := range tt.arrivals {
				due, late := s+i*s/20, time.Duration(0)
				if i < tt.late {
					late = tt.by
				}
				r.Served(recorder.Served{Due: due, Begun: due + late, Done: due + s, Lateness: late})
			}
		})
		warnings, invalid := countPrefix(d.Warnings, "zkbench began arrivals late"), countPrefix(d.Invalid, "zkbench began arrivals late")
		if warnings != tt.warnings || invalid != tt.invalid {
			t.Errorf("%+v: %d warnings and %d reasons", tt, warnings, invalid)
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
