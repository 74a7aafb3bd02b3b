package recorder_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
)

// traffic is what was sent and received up to a time.
type traffic = map[time.Duration]recorder.Traffic

// every100ms returns the traffic of stretches of 100 ms from the epoch on: so many requests in each, and no bytes.
func every100ms(requests ...int64) traffic {
	out := traffic{0: {}}
	for i, n := range requests {
		at := time.Duration(i) * 100 * ms
		out[at+100*ms] = recorder.Traffic{Requests: out[at].Requests + n}
	}
	return out
}

// repeated returns a list of one number.
func repeated(n int, of int64) []int64 { return slices.Repeat([]int64{of}, n) }

func TestBusiestSecond(t *testing.T) {
	requests := func(n int64) recorder.Traffic { return recorder.Traffic{Requests: n} }
	idle, five := repeated(20, 0), between(0, 5*s)
	for _, tt := range []struct {
		name    string
		window  stretch
		traffic traffic
		want    recorder.Traffic
	}{
		{"none", five, nil, requests(0)},
		{"even", five, every100ms(repeated(50, 7)...), requests(70)},
		{"a burst of less than a second", five, every100ms(slices.Concat(idle, []int64{40, 50}, idle)...), requests(90)},
		{"a burst of just a second", five, every100ms(slices.Concat(idle, repeated(10, 9), idle)...), requests(90)},
		{"a longer burst", between(0, 6*s), every100ms(slices.Concat(idle, repeated(11, 9), idle)...), requests(90)},
		{"two bursts in one second", five, every100ms(slices.Concat(idle, []int64{30}, repeated(8, 0), []int64{40}, idle)...), requests(70)},
		// A second that begins in the middle of the first burst ends in the middle of the second one.
		{"two bursts a second apart", five, every100ms(slices.Concat(idle, []int64{30}, repeated(9, 0), []int64{40}, idle)...), requests(40)},
		{"at the start of the window", between(s, 5*s),
			every100ms(slices.Concat(repeated(9, 1), []int64{500, 20}, repeated(39, 1))...), requests(29)},
		{"at the end of the window", five, every100ms(slices.Concat(repeated(49, 1), []int64{20, 500}, idle)...), requests(29)},
		{"a window of half a second", between(s, 1500*ms), every100ms(repeated(30, 8)...), requests(40)},
		{"a window of a second", between(s, 2*s), every100ms(repeated(30, 8)...), requests(80)},
		{"a first sample within the window", five, traffic{2 * s: requests(500), 3 * s: requests(507)}, requests(7)},
		// It is not known when within the three seconds they were sent.
		{"a sample that is late", five, traffic{0: requests(0), s: requests(10), 4 * s: requests(610)}, requests(200)},
		// The busiest second is from 0 to 1 s: 950 and a sixth of 60.
		{"between samples", five, traffic{
			0: requests(0), 350 * ms: requests(350), 700 * ms: requests(700), 950 * ms: requests(950), 1250 * ms: requests(1010), 5 * s: requests(1010),
		}, requests(960)},
		{"bytes in another second", five, traffic{
			0: {}, s: recorder.Traffic{Requests: 10, BytesIn: 1}, 2 * s: recorder.Traffic{Requests: 11, BytesIn: 5000},
		}, recorder.Traffic{Requests: 10, BytesIn: 4999}},
	} {
		r := faulty()
		r.Window, r.Traffic = tt.window, tt.traffic
		f := r.record(t, &results.Document{}, recorder.Facts{}).Failure
		if got := (recorder.Traffic{Requests: f.PeakRequests, BytesIn: f.PeakBytesIn}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// peaks returns the traffic of the busiest seconds of the window: of all those that begin or end with a sample. It takes
// traffic as even between two samples.
func (r raw) peaks() (most recorder.Traffic) {
	times := slices.DeleteFunc(slices.Sorted(maps.Keys(r.Traffic)), func(at time.Duration) bool { return !contains(r.Window, at) })
	upTo := func(at time.Duration) (requests, bytes float64) {
		for i, next := range times {
			if i == len(times)-1 || at <= next {
				last := times[max(i-1, 0)]
				share := 1.0
				if i > 0 {
					share = min(max(float64(at-last)/float64(next-last), 0), 1)
				}
				a, b := r.Traffic[last], r.Traffic[next]
				return float64(a.Requests) + share*float64(b.Requests-a.Requests), float64(a.BytesIn) + share*float64(b.BytesIn-a.BytesIn)
			}
		}
		return 0, 0
	}
	for _, at := range times {
		for _, start := range []time.Duration{at - s, at} {
			requests, bytes := upTo(start)
			moreRequests, moreBytes := upTo(start + s)
			most.Requests, most.BytesIn = max(most.Requests, int64(moreRequests-requests)), max(most.BytesIn, int64(moreBytes-bytes))
		}
	}
	return most
}
