package runner

import (
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/pool"
)

const liveInterval = time.Second

// Live is the progress of a measurement's load.
type Live struct {
	Scenario, Recipe, Variant string
	Clients                   int
	Rate                      results.Rate // 0 unless the load is open
	Repeat                    int          // 0 is a rehearsal

	Elapsed time.Duration   // since the load began, warm-up included
	Planned time.Duration   // the length of the load, warm-up included; 0 if it is not known
	WarmUp  bool            // the window has not begun
	Phase   string          // the recipe's first phase, whose P99s are shown
	Next    string          // describes the measurement that follows; empty after the last one of a scenario
	Totals  recorder.Totals // since the start of the measurement
	Minute  []Second        // the last whole seconds, at most 60, the latest one last
	recorder.LastSeconds
	Workers []LiveWorker // none if all clients are in this process
}

// LiveWorker is what one worker has done by its latest drain.
type LiveWorker struct {
	Host     string
	Requests int64 // of its clients, those of joining included
	Memory   int64 // resident, in bytes; 0 if it is not known
}

// Second counts one whole second of a measurement. With this alias, a display does not import the recorder.
type Second = recorder.Second

// Remaining returns how much of the load is left, at least 0; known is false for a load whose length is not known.
func (l Live) Remaining() (left time.Duration, known bool) {
	return max(l.Planned-l.Elapsed, 0), l.Planned > 0
}

// showLive calls Live, if it is set, every second until stop is called.
func (m *measurement) showLive() (stop func()) {
	if m.Live == nil {
		return func() {}
	}
	began := m.crew.Since()
	return pool.Every(liveInterval, func() bool { m.Live(m.liveSince(began)); return true })
}

func (m *measurement) liveSince(began time.Duration) Live {
	out := m.stream.live()
	out.Scenario, out.Recipe, out.Variant = m.scenario.Name, m.recipe.Name, m.variant.Name
	out.Clients, out.Rate, out.Repeat, out.Next = m.clients, m.rate, m.repeat, m.next
	out.Elapsed, out.Phase = m.crew.Since()-began, m.recipe.Phases[0].Name
	out.WarmUp = out.Elapsed < m.scenario.WarmUp
	if m.scenario.Duration > 0 {
		out.Planned = m.scenario.WarmUp + m.scenario.Duration
	}
	return out
}
