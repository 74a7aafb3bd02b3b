package recorder

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// liveSeconds is how many whole seconds a [LastSeconds] has at most.
const liveSeconds = 10

// LastSeconds is what happened in the last whole seconds of a measurement, inside of the window or not.
type LastSeconds struct {
	Length        time.Duration // up to 10 s; 0 before the first whole second
	Operations    int64
	Notifications int64
	LargestHerd   int           // in notifications that have arrived
	P99           time.Duration // of the recipe's first phase, to two digits; 0 without a sample
}

// PerSecond returns a count as a rate; 0 before the first whole second.
func (l LastSeconds) PerSecond(count int64) float64 {
	if l.Length == 0 {
		return 0
	}
	return float64(count) / l.Length.Seconds()
}

// slot is one second, counted from the start of the measurement.
type slot struct {
	second                    int64
	operations, notifications int64
	largest                   int
	latencies                 *hdrhistogram.Histogram
}

// seconds keeps the latest seconds. The one more is the second that is not over.
type seconds struct {
	begun bool
	first int64 // the second of the first event
	slots [liveSeconds + 1]slot
}

// at returns the slot of a moment, which it clears if it held an earlier second; nil if the moment is too long ago.
func (l *seconds) at(t time.Duration) *slot {
	second := int64(t / time.Second)
	if !l.begun {
		l.begun, l.first = true, second
		for i := range l.slots {
			l.slots[i].second = -1
		}
	}
	s := &l.slots[second%int64(len(l.slots))]
	switch {
	case s.second > second:
		return nil
	case s.second < second && s.latencies == nil:
		*s = slot{second: second, latencies: lengths(2)}
	case s.second < second:
		s.latencies.Reset()
		*s = slot{second: second, latencies: s.latencies}
	}
	return s
}

func (l *seconds) operation(at time.Duration) {
	if s := l.at(at); s != nil {
		s.operations++
	}
}

func (l *seconds) sample(took stretch) {
	if s := l.at(took.end); s != nil {
		_ = s.latencies.RecordValue(int64(min(took.length(), time.Hour)))
	}
}

// notification records a notification, and how large its herd is by now.
func (l *seconds) notification(at time.Duration, herd int) {
	if s := l.at(at); s != nil {
		s.notifications++
		s.largest = max(s.largest, herd)
	}
}

// LastSeconds returns what happened in the last whole seconds before now. All events up to now must have been recorded.
func (r *Recorder) LastSeconds(now time.Duration) LastSeconds {
	var out LastSeconds
	end := int64(now / time.Second)
	start := max(end-liveSeconds, r.seconds.first)
	if !r.seconds.begun || end <= start {
		return out
	}
	out.Length = time.Duration(end-start) * time.Second
	all := lengths(2)
	for _, s := range r.seconds.slots {
		if s.second < start || s.second >= end || s.latencies == nil {
			continue
		}
		out.Operations += s.operations
		out.Notifications += s.notifications
		out.LargestHerd = max(out.LargestHerd, s.largest)
		all.Merge(s.latencies)
	}
	out.P99 = max(p99(all), 0)
	return out
}
