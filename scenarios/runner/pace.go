package runner

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/scenarios"
)

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

// dueTimes is the sequence of moments at which the arrivals of an open load are due. It depends on nothing but its parameters and the
// end of the warm-up, so that two sequences with the same of these are equal.
type dueTimes struct {
	course course     // what is left of it, in arrivals per nanosecond
	random *rand.Rand // nil if arrivals are due at equal distances
	count  int64
	begun  time.Duration // when the first piece of the course began
	passed float64       // arrivals before that, on average
	due    float64       // the integral of the rate up to the arrival that next has returned
}

// newDueTimes returns the sequence of arrivals whose number per second has a course. The random numbers of arrivals that are
// independent of each other come from the seeds.
func newDueTimes(start time.Duration, perSecond course, how string, seed, repeat uint64) *dueTimes {
	d := &dueTimes{begun: start, course: perSecond.times(1 / float64(time.Second))}
	if how == scenarios.Poisson {
		d.random = rand.New(rand.NewPCG(seed, repeat))
	}
	return d
}

// endWarmUp ends the first piece of a course of several, in which all arrivals so far but the last one were due. It returns when that
// one is due now: with a higher rate from here on, earlier than it was.
func (d *dueTimes) endWarmUp(at time.Duration) time.Duration {
	if len(d.course) > 1 && d.course[0].length == 0 {
		d.course[0].length = max(at-d.begun, 1)
	}
	return d.last()
}

// next returns when the next arrival is due: when the integral of the rate has grown by 1, or by an exponentially distributed number.
func (d *dueTimes) next() time.Duration {
	d.count++
	if d.random == nil {
		d.due = float64(d.count) // a sum of rounded distances would drift
	} else {
		d.due += d.random.ExpFloat64()
	}
	return d.last()
}

// last returns when the arrival is due that next has returned last.
func (d *dueTimes) last() time.Duration {
	for d.due-d.passed > d.course[0].area() {
		d.passed += d.course[0].area()
		d.begun += d.course[0].length
		d.course = d.course[1:]
	}
	return d.begun + time.Duration(math.Round(d.course[0].after(d.due-d.passed)))
}
