package runner

import (
	"sync"
	"time"

	"github.com/zkbench/zkbench/results/recorder"
)

// liveInterval is the time between two calls of Runner.Live.
const liveInterval = time.Second

// Live is what a measurement has done in the last seconds of its load.
type Live struct {
	Elapsed time.Duration // since the load began, warm-up included
	Planned time.Duration // the length of the load, warm-up included; 0 if it is not known
	Phase   string        // the recipe's first phase, which the P99 is of
	recorder.LastSeconds
}

// Remaining returns how much of the load is left, at least 0; known is false for a load whose length is not known.
func (l Live) Remaining() (left time.Duration, known bool) {
	return max(l.Planned-l.Elapsed, 0), l.Planned > 0
}

// showLive calls the measurement's live function every second until stop is called.
func (m *measurement) showLive() (stop func()) {
	if m.live == nil {
		return func() {}
	}
	done := make(chan struct{})
	var showing sync.WaitGroup
	began := m.pool.since()
	showing.Go(func() {
		ticker := time.NewTicker(liveInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				m.live(m.liveSince(began))
			}
		}
	})
	return func() { close(done); showing.Wait() }
}

func (m *measurement) liveSince(began time.Duration) Live {
	out := Live{Elapsed: m.pool.since() - began, Phase: m.recipe.Phases[0].Name, LastSeconds: m.stream.lastSeconds()}
	if m.scenario.Duration > 0 {
		out.Planned = time.Duration(m.scenario.WarmUp + m.scenario.Duration)
	}
	return out
}
