package recorder

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	liveSeconds   = 10 // that a [LastSeconds] has at most
	minuteSeconds = 60 // that [Recorder.LastMinute] returns at most
)

// LastSeconds sums up the last whole seconds of a measurement, inside of the window or not.
type LastSeconds struct {
	Length time.Duration // up to 10 s; 0 before the first whole second
	Second               // sums over all of them
}

// PerSecond returns a count as a rate; 0 before the first whole second.
func (l LastSeconds) PerSecond(count int64) float64 {
	if l.Length == 0 {
		return 0
	}
	return float64(count) / l.Length.Seconds()
}

// Second sums up one whole second of a measurement.
type Second struct {
	Operations     int64
	Notifications  int64
	FailedRequests int64         // requests of the recipe that a server answered with an error
	LargestHerd    int           // in notifications that have arrived
	P99            time.Duration // of the recipe's first phase, to two digits; 0 without a sample
}

// Totals are counts since the start of a measurement, warm-up included. They never decrease.
type Totals struct {
	Operations       int64
	FailedOperations int64 // that ended in an error, as only a fault may cause
	Notifications    int64
	Requests         int64 // of the recipe
	FailedRequests   int64 // requests of the recipe that a server answered with an error
}

// slot is one second, counted from the start of the measurement. Its P99 is computed when it is asked for.
type slot struct {
	second int64
	Second
	latencies *hdrhistogram.Histogram // nil before the first one
}

func lengths(digits int) *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(time.Hour), digits)
}

func p99(h *hdrhistogram.Histogram) time.Duration {
	if h == nil || h.TotalCount() == 0 {
		return 0
	}
	n := h.TotalCount()
	return time.Duration(h.ValueAtPercentile(100 * float64(rank99(n)) / float64(n)))
}

// rank99 returns the place of the p99 among n sorted lengths, counted from 1.
func rank99(n int64) int64 { return (99*n + 99) / 100 }

// seconds keeps the latest minute. One more slot is for the second that is not over.
type seconds struct {
	begun  bool
	first  int64 // the second of the first event
	slots  [minuteSeconds + 1]slot
	totals Totals
}

// at returns the slot of a moment, which it clears if it held an earlier second; one that is not kept if the moment is too long ago.
func (l *seconds) at(t time.Duration) *slot {
	second := int64(t / time.Second)
	if !l.begun {
		l.begun, l.first = true, second
	}
	s := &l.slots[second%int64(len(l.slots))]
	switch {
	case s.second > second:
		return &slot{}
	case s.second < second:
		if s.latencies != nil {
			s.latencies.Reset()
		}
		*s = slot{second: second, latencies: s.latencies}
	}
	return s
}

func (l *seconds) sample(took stretch) {
	s := l.at(took.end)
	if s.latencies == nil {
		s.latencies = lengths(2)
	}
	_ = s.latencies.RecordValue(int64(min(took.length(), time.Hour)))
}

// whole returns the whole seconds before now, at most most of them: the first one, and the one after the last; equal if there is none.
func (l *seconds) whole(now time.Duration, most int64) (start, end int64) {
	end = int64(now / time.Second)
	if !l.begun {
		return end, end
	}
	return min(max(end-most, l.first), end), end
}

// LastSeconds sums up the last whole seconds before now. All events up to now must have been recorded.
func (r *Recorder) LastSeconds(now time.Duration) LastSeconds {
	start, end := r.seconds.whole(now, liveSeconds)
	out, all := LastSeconds{Length: time.Duration(end-start) * time.Second}, lengths(2)
	for _, s := range r.seconds.slots {
		if s.second < start || s.second >= end {
			continue
		}
		out.Operations += s.Operations
		out.Notifications += s.Notifications
		out.FailedRequests += s.FailedRequests
		out.LargestHerd = max(out.LargestHerd, s.LargestHerd)
		if s.latencies != nil {
			all.Merge(s.latencies)
		}
	}
	out.P99 = p99(all)
	return out
}

// LastMinute returns each of the last whole seconds before now, at most 60, in order. All events up to now must have been recorded.
func (r *Recorder) LastMinute(now time.Duration) []Second {
	start, end := r.seconds.whole(now, minuteSeconds)
	var out []Second
	for second := start; second < end; second++ {
		s := r.seconds.slots[second%int64(len(r.seconds.slots))]
		if s.second != second { // without any event
			s = slot{}
		}
		s.P99 = p99(s.latencies)
		out = append(out, s.Second)
	}
	return out
}

// Totals returns the counts so far.
func (r *Recorder) Totals() Totals { return r.seconds.totals }
