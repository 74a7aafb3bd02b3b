package remote

import (
	"sort"
	"sync"
	"time"
)

const (
	steady       = 2000 // two clocks depart from each other by at most one part in so many: NTP may change the speed of a clock by 500 ppm
	kept         = 1200 // samples, of the last two minutes; times before them are converted by the oldest one
	ours, theirs = 0, 1 // the clocks of a sample
)

// sample is a pair of readings of both clocks that are at most bound apart in time.
type sample struct {
	at    [2]time.Duration
	bound time.Duration
}

// newSample takes the middle of a round trip for the time when the worker read its clock. That is wrong by at most half the round trip,
// however the delay is divided between the two directions.
func newSample(sent, received, read time.Duration) sample {
	return sample{[2]time.Duration{(sent + received) / 2, read}, (received-sent)/2 + 3} // 3 ns for rounding
}

// Clock converts between the times of the controller and of one worker, each counted from its [Hello.Epoch]. It may be used concurrently.
// A time between two samples is converted by linear interpolation, one outside of them by the nearest sample. Times after the newest
// sample change slightly when the next one arrives. Without samples, both times are the same.
type Clock struct {
	mu      sync.Mutex
	samples []sample
	worst   time.Duration
}

// add ignores a sample that is less exact than the former one with the drift since then: its round trip had to wait for a large message.
func (c *Clock) add(s sample) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.samples); n > 0 {
		last := c.samples[n-1]
		elapsed := s.at[ours] - last.at[ours]
		if elapsed <= 0 || s.at[theirs] <= last.at[theirs] || s.bound > last.bound+elapsed/steady {
			return
		}
	}
	c.worst = max(c.worst, s.bound)
	c.samples = append(c.samples, s)
	c.samples = c.samples[max(0, len(c.samples)-kept):]
}

// Ours converts a time of the worker to the time since the controller's epoch.
func (c *Clock) Ours(t time.Duration) time.Duration { return c.convert(t, theirs, ours) }

// Theirs converts a time since the controller's epoch to the worker's time.
func (c *Clock) Theirs(t time.Duration) time.Duration { return c.convert(t, ours, theirs) }

func (c *Clock) convert(t time.Duration, from, to int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.samples) == 0 {
		return t
	}
	next := sort.Search(len(c.samples), func(i int) bool { return c.samples[i].at[from] > t })
	a, b := c.samples[max(0, next-1)], c.samples[min(next, len(c.samples)-1)]
	length, elapsed := b.at[from]-a.at[from], t-a.at[from]
	if length == 0 {
		c.worst = max(c.worst, a.bound+elapsed.Abs()/steady)
		return a.at[to] + elapsed
	}
	// The speed may change between two samples, so that the distance to the nearer one counts.
	bound := max(a.bound, b.bound) + 2*min(elapsed.Abs(), (elapsed-length).Abs())/steady
	if jump := (b.at[to] - a.at[to] - length).Abs(); jump > a.bound+b.bound+length/steady {
		bound += jump // one clock stood still, such as that of a paused machine, at any time between the samples
	}
	c.worst = max(c.worst, bound)
	return a.at[to] + time.Duration(float64(elapsed)*float64(b.at[to]-a.at[to])/float64(length))
}

// Bound returns the largest possible error of the conversions since the last Restart, and not less than that of any sample since then.
func (c *Clock) Bound() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.worst
}

// Restart forgets the errors until now.
func (c *Clock) Restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.worst = 0
}
