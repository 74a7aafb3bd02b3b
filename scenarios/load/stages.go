package load

import (
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/pool"
)

// changingRounds are rounds of a number of clients that changes over time. The clients with the smallest ids take them, and
// the others pause between two steps.
type changingRounds struct {
	*Rounds
	levels levels        // from the beginning of the window; before that, the first level applies
	epoch  time.Time     // of the measurement
	opened chan struct{} // closed when the window is open
	window time.Time     // when the window opened
	once   sync.Once
	ended  chan struct{}
}

// NewChangingRounds returns rounds whose number of clients changes in stages.
func NewChangingRounds(r *Rounds, stages []results.StageLoad, epoch time.Time) Turns {
	return &changingRounds{Rounds: r, levels: levelsOf(stages), epoch: epoch, opened: make(chan struct{}), ended: make(chan struct{})}
}

func (r *changingRounds) WindowOpened(at time.Duration) {
	r.window = r.epoch.Add(at)
	close(r.opened)
}

// Begin implements [Turns]. A client that pauses is settled, as it has no request under way.
func (r *changingRounds) Begin(ctx context.Context, c *pool.Client, done int) bool {
	for {
		wait, changed := r.pause(c.ID)
		if wait == 0 {
			return r.Rounds.Begin(ctx, c, done)
		}
		c.Settled.Store(true)
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

// pause returns how long a client waits before it may begin a step, unless changed is closed earlier. wait is 0 if it may
// begin now.
func (r *changingRounds) pause(id int) (wait time.Duration, changed <-chan struct{}) {
	level := float64(id) + 0.5 // a number of clients is rounded
	select {
	case <-r.opened:
		now := time.Since(r.window)
		if at, ok := r.levels.reaches(level, now); ok {
			return at - now, nil
		}
		return pool.Endless, nil
	default:
		if r.levels[0].from >= level {
			return 0, nil
		}
		return pool.Endless, r.opened
	}
}

func (r *changingRounds) End() {
	r.once.Do(func() { close(r.ended) })
	r.Rounds.End()
}
