package runner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/lock"
)

// schedule reads faults.
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
	s := scenarios.Default()
	s.Name, s.Recipe, s.Clients, s.Repeats = recipe+"-faults", recipe, []int{clients}, 1
	s.Duration, s.Hold = scenarios.Duration(3*time.Second), scenarios.Duration(time.Millisecond)
	s.SessionTimeout, s.Faults = scenarios.Duration(time.Second), schedule
	return s
}

// quickTicks is a server whose sessions may be as short as a second. A load with faults needs time more than operations, so that the
// server is slow.
var quickTicks = embedded.Config{Tick: 200 * time.Millisecond, ReadDelay: time.Millisecond, WriteDelay: 2 * time.Millisecond}

// Every lock keeps its promise while its clients, their sessions and their connections fail, and clients join again.
func TestFaultsOfClients(t *testing.T) {
	for _, tt := range []struct {
		name   string
		faults []string
		lives  bool // clients join again
	}{
		{"holders stop dead", []string{"stop: holder, every: 500ms"}, true},
		{"waiters stop dead", []string{"stop: waiter, every: 500ms"}, true},
		{"clients stop dead at an operation", []string{"stop: any, after: multi, every: 900ms", "stop: any, after: create, every: 900ms"}, true},
		{"sessions of holders expire", []string{"expire: holder, every: 200ms"}, true},
		{"sessions expire", []string{"expire: any, every: 200ms"}, true},
		// A lock is released by a delete, by a multi (znode) or by a setData (released-mark).
		{"replies to holders are lost", []string{
			"cut: holder, after: delete, every: 300ms", "cut: holder, after: multi, every: 300ms", "cut: holder, after: setData, every: 300ms",
		}, false},
		{"connections end", []string{"cut: all, every: 500ms"}, false},
		{"requests are lost", []string{"cut: any, before: multi, every: 100ms", "cut: any, before: create, every: 100ms"}, false},
		{"replies are lost", []string{"cut: any, after: multi, every: 100ms", "cut: any, after: create, every: 100ms"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ensembletest.Sample(t)
			t.Parallel()
			bubbleOn(t, quickTicks, func(t *testing.T, e *embedded.Ensemble) { failLocks(t, e, tt.faults, tt.lives) })
		})
	}
}

// failLocks measures all locks under faults, by which clients join again or not.
func failLocks(t *testing.T, e ensemble.Ensemble, faults []string, lives bool) {
	t.Helper()
	s := faulty("lock", 5, schedule(t, faults...))
	if lives { // long enough for several lives
		s.Duration = scenarios.Duration(6 * time.Second)
	} else { // after a cut, the client library waits for a second before it tries the same server again
		s.SessionTimeout = scenarios.Duration(4 * time.Second)
	}
	err := measure(t.Context(), t, e, s, catalog.Recipes(), func(d *results.Document) {
		f := d.Failure
		switch {
		case f == nil || len(f.Faults) == 0:
			t.Fatalf("%s: no fault happened in %d operations: %+v, warnings %q", d.Variant, d.Window.Operations, f, d.Warnings)
		case lives && f.Rejoins == 0:
			t.Errorf("%s: no client joined again", d.Variant)
		case len(d.Violations) > 0:
			t.Errorf("%s: %v", d.Variant, d.Violations)
		}
		t.Logf("%s: %.0f ops/s, %d faults, %d missed, recovery %v, invalid %v, warnings %q, failed %d", d.Variant,
			d.Metrics[results.OpsPerSecond].Value, len(f.Faults), f.Missed,
			slices.MaxFunc(f.Faults, func(a, b results.Fault) int { return int(a.Recovery - b.Recovery) }).Recovery,
			d.Invalid, d.Warnings, f.FailedOperations)
	})
	if err != nil {
		t.Error(err)
	}
}

// Where no client can join again, the loss of a session ends the load with an error that says so, instead of a broken promise.
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

// A lock keeps its promise while a server fails, and all servers work afterwards. TestLiveFailureScenarios has the other faults.
func TestLivePausedLeader(t *testing.T) {
	e := onServers(t)
	s := faulty("lock", 6, schedule(t, "pause: leader, at: 1s, for: 2s"))
	s.Variants, s.Roam = []string{"predecessor-watch"}, true
	s.Duration, s.SessionTimeout = scenarios.Duration(6*time.Second), scenarios.Duration(4*time.Second)
	checkFailure(t, e, s)
}
