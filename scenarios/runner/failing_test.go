package runner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
)

func schedule(t *testing.T, texts ...string) []faults.Fault {
	t.Helper()
	var out []faults.Fault
	for _, text := range texts {
		f, err := faults.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// faulty returns a closed load with faults. Its sessions run out quickly on a server of quickTicks.
func faulty(recipe string, clients int, schedule []faults.Fault) scenarios.Scenario {
	s := closedOf(recipe, clients)
	s.Duration, s.Hold = 3*time.Second, time.Millisecond
	s.SessionTimeout, s.Faults = time.Second, schedule
	return s
}

// quickTicks is a server whose sessions may be as short as a second. The server is slow, because a load
// with faults needs time rather than operations.
var quickTicks = embedded.Config{Tick: 200 * time.Millisecond, ReadDelay: time.Millisecond, WriteDelay: 2 * time.Millisecond}

// trio is three such servers, which can fail, and two of which lag.
var trio = embedded.Config{
	Tick: quickTicks.Tick, ReadDelay: quickTicks.ReadDelay, WriteDelay: quickTicks.WriteDelay, Voters: 3, Lag: 2 * time.Millisecond,
}

// If no client can join again, the loss of a session ends the load with an error that says so, instead of a broken promise.
func TestLostSessionWithoutAnotherLife(t *testing.T) {
	bubbleOn(t, quickTicks, func(t *testing.T, e *embedded.Ensemble) {
		recipe := lock.Recipe()
		recipe.Fixed = true
		s := faulty("lock", 3, schedule(t, "expire: any, at: 500ms"))
		s.Variants = []string{"predecessor-watch"}
		err := measure(t.Context(), t, e, s, []variants.Recipe{recipe}, func(*results.Document) {})
		if err == nil || !strings.Contains(err.Error(), "no client of this recipe can join again: choose a longer session-timeout") {
			t.Errorf("the load ended with %v", err)
		}
	})
}

// A lock keeps its promise while a server fails, and all servers work afterwards.
func TestPausedLeader(t *testing.T) {
	bubbleOn(t, trio, func(t *testing.T, e *embedded.Ensemble) {
		s := faulty("lock", 6, schedule(t, "pause: leader, at: 1s, for: 2s"))
		s.Variants, s.Roam = []string{"predecessor-watch"}, true
		s.Duration, s.SessionTimeout = 6*time.Second, 4*time.Second
		checkFailure(t, e, s)
	})
}
