package runner

import (
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/results"
)

// changingRounds are rounds of a number of clients that changes over time: those with the smallest ids take them. The other ones
// pause between two steps.
type changingRounds struct {
	*rounds
	course course        // from the beginning of the window on; before it, the level is that of the beginning
	epoch  time.Time     // of the measurement
	opened chan struct{} // closed when the window is open
	window time.Time     // when it opened
	once   sync.Once
	ended  chan struct{}
}

// loopTurns returns the turns of a load that goes on until end, and whose number of clients changes if the scenario has stages.
func (m *measurement) loopTurns() turns {
	r := m.rounds(0)
	if len(m.scenario.Stages) == 0 {
		return r
	}
	return &changingRounds{
		rounds: r, course: courseOf(m.scenario.Stages), epoch: m.pool.epoch, opened: make(chan struct{}), ended: make(chan struct{}),
	}
}

// windowOpened implements [turns].
func (r *changingRounds) windowOpened(at time.Duration) {
	r.window = r.epoch.Add(at)
	close(r.opened)
}

// begin implements [turns]. A client that pauses is settled: it has nothing on its way.
func (r *changingRounds) begin(ctx context.Context, c *client, done int) bool {
	for {
		wait, changed := r.pause(c.id)
		if wait == 0 {
			return r.rounds.begin(ctx, c, done)
		}
		c.settled.Store(true)
		select {
		case <-time.After(wait):
		case <-changed:
		case <-r.ended:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// pause returns how long a client is to wait before it may begin a step, unless that changes earlier. It is 0 if the client may begin.
func (r *changingRounds) pause(id int) (wait time.Duration, changed <-chan struct{}) {
	level := float64(id) + 0.5 // a number of clients is rounded
	select {
	case <-r.opened:
		now := time.Since(r.window)
		if at, ok := r.course.reaches(level, now); ok {
			return at - now, nil
		}
		return endless, nil
	default:
		if r.course[0].from >= level {
			return 0, nil
		}
		return endless, r.opened
	}
}

// end implements [turns].
func (r *changingRounds) end() {
	r.once.Do(func() { close(r.ended) })
	r.rounds.end()
}

var _ turns = (*changingRounds)(nil)

// stageLengths returns how long each stage lasts.
func stageLengths(stages []results.StageLoad) []time.Duration {
	var lengths []time.Duration
	for _, s := range stages {
		lengths = append(lengths, s.For)
	}
	return lengths
}

// arrivalCourse returns how the rate of an open load's arrivals changes, in operations per second.
func (m *measurement) arrivalCourse() course {
	if len(m.scenario.Stages) == 0 {
		return steady(float64(m.setting.rate))
	}
	stages := courseOf(m.scenario.Stages)
	return append(steady(stages[0].from), stages...) // the warm-up lasts until the window opens
}
