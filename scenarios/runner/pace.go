package runner

import "time"

// schedule is an open-loop arrival plan: request i is due at start + i·interval, even if earlier requests have not been
// answered. A request that is sent late is still timed from when it was due. Timing it from when it was sent would leave out
// the waiting that a user would have seen (coordinated omission).
type schedule struct {
	start    time.Duration
	interval time.Duration
}

// newSchedule returns a schedule of rate requests per second. The offset, a share of the interval between 0 and 1, keeps
// several schedules from being due at the same moments.
func newSchedule(start time.Duration, rate int, offset float64) schedule {
	interval := time.Second / time.Duration(rate)
	return schedule{start: start + time.Duration(offset*float64(interval)), interval: interval}
}

// due returns when request i is to be sent.
func (s schedule) due(i int) time.Duration { return s.start + time.Duration(i)*s.interval }
