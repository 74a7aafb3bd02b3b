package load

import (
	"math"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
)

func stages() []results.StageLoad {
	return []results.StageLoad{
		{For: 2 * time.Second, Rate: 100},
		{For: 2 * time.Second, Rate: 400},
		{For: 4 * time.Second, Rate: 800, Ramp: true},
		{For: 2 * time.Second, Rate: 10, Ramp: true},
		{For: time.Second, Rate: 50},
	}
}

// stagedDueTimes returns arrivals with a warm-up of 1 s before the stages.
func stagedDueTimes(start time.Duration, how string) *DueTimes {
	s := scenarios.Scenario{Scenario: results.Scenario{Mode: scenarios.Open, Arrivals: how, Seed: 1, Stages: stages()}}
	d := DueTimesOf(s, 0, 0, 1)(start)
	d.next()
	d.endWarmUp(start + time.Second)
	return d
}

// The rate and the length of a stage determine how many arrivals are due in it. A ramp has the mean of its two rates. After the
// last stage, its rate continues.
func TestArrivalsOfStages(t *testing.T) {
	ends := []float64{1, 3, 5, 9, 11, 12, 14}
	want := []float64{99, 200, 800, 2400, 810, 50, 100}
	for _, tt := range []struct {
		how   string
		slack func(n float64) float64
	}{
		{scenarios.Constant, func(float64) float64 { return 1 }},
		{scenarios.Poisson, func(n float64) float64 { return 4 * math.Sqrt(n) }},
	} {
		d := stagedDueTimes(time.Minute, tt.how)
		due := (d.next() - time.Minute).Seconds()
		for i, end := range ends {
			n := 0.0
			for ; due <= end; due = (d.next() - time.Minute).Seconds() {
				n++
			}
			if math.Abs(n-want[i]) > tt.slack(want[i]) {
				t.Errorf("%s: %g arrivals up to %g s, want %g", tt.how, n, end, want[i])
			}
		}
	}
}

// An arrival that is awaited when the window begins was computed for the warm-up. If the rate rises before it, it is due earlier.
func TestAwaitedArrivalOfShortStage(t *testing.T) {
	d := newDueTimes(0, append(steady(1), levelsOf([]results.StageLoad{{For: 500 * time.Millisecond, Rate: 1}, {For: time.Second, Rate: 1000}})...), scenarios.Constant, 1, 1)
	if due := d.next(); due != time.Second {
		t.Errorf("in the warm-up, the first arrival is due at %s, want 1s", due)
	}
	const want = 500*time.Millisecond + 500*time.Microsecond
	if due := d.endWarmUp(1); (due - want).Abs() > time.Microsecond {
		t.Errorf("when the window has begun, it is due at %s, want %s", due, want)
	}
	if due := d.next(); (due - want - time.Millisecond).Abs() > time.Microsecond {
		t.Errorf("the second arrival is due at %s, want %s", due, want+time.Millisecond)
	}
}

// In a ramp, the distances shrink or grow steadily, and no arrival is due before its predecessor.
func TestRampIsSteady(t *testing.T) {
	d := stagedDueTimes(0, scenarios.Constant)
	var last, distance time.Duration
	for due := d.next(); due < 11*time.Second; due = d.next() {
		rising := last > 5*time.Second && due < 9*time.Second
		falling := last > 9*time.Second
		const rounding = 2 * time.Nanosecond
		switch now := due - last; {
		case now <= 0:
			t.Fatalf("an arrival is due at %s, and the one before it at %s", due, last)
		case rising && distance > 0 && now > distance+rounding, falling && distance > 0 && now < distance-rounding:
			t.Fatalf("at %s, the distance is %s after %s", due, now, distance)
		}
		if distance = due - last; !rising && !falling {
			distance = 0
		}
		last = due
	}
}

func TestReaches(t *testing.T) {
	c := levelsOf(stages())
	for _, tt := range []struct {
		level   float64
		now, at time.Duration
		ok      bool
	}{
		{100, 0, 0, true},
		{101, 0, 2 * time.Second, true},
		{400, time.Second, 2 * time.Second, true},
		{600, 0, 6 * time.Second, true},
		{600, 6500 * time.Millisecond, 6500 * time.Millisecond, true},
		{405, 8500 * time.Millisecond, 8500 * time.Millisecond, true},
		{405, 9*time.Second + 1, 0, false},
		{50, 9950 * time.Millisecond, 10 * time.Second, true},
		{50, time.Hour, time.Hour, true},
		{801, 0, 0, false},
	} {
		at, ok := c.reaches(tt.level, tt.now)
		if ok != tt.ok || ok && (at < tt.at || at > tt.at+time.Microsecond) {
			t.Errorf("from %s on, level %g is reached at %s (%t), want %s (%t)", tt.now, tt.level, at, ok, tt.at, tt.ok)
		}
	}
}
