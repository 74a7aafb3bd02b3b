package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

func busy(s scenarios.Scenario, load results.BackgroundLoad) scenarios.Scenario {
	s.Name, s.Background = "busy", &load
	return s
}

func smallBackground() results.BackgroundLoad {
	return results.BackgroundLoad{Reads: 150, Writes: 50, Bytes: 100, Znodes: 7, Sessions: 3}
}

func looping() scenarios.Scenario {
	s := closedOf("lock", 4)
	s.Duration, s.WarmUp = 300*time.Millisecond, 50*time.Millisecond
	return s
}

// In each mode, every request that was due is answered, the servers' transactions contain the background's writes to the last one,
// and the clients' counts are as exact as without a background.
func busyLoads(t *testing.T, e ensemble.Ensemble) {
	warmed := uncontended()
	warmed.Operations, warmed.WarmUp = 300, 50*time.Millisecond
	for _, s := range []scenarios.Scenario{looping(), warmed, lockstepOf(5)} {
		s = busy(s, smallBackground())
		if !inMemory(e) { // which takes seconds for each variant
			s.Variants = []string{"children-watch", "predecessor-watch"}
		}
		for _, d := range measureBriefly(t, e, s) {
			b := d.Background
			if b == nil || b.During == nil || d.Scenario.Background == nil {
				t.Fatalf("%s, %s: no background: %+v", s.Mode, d.Variant, b)
			}
			checkSound(t, d)
			if !d.Oracle.Checked || d.CountsExactly() && !doubts.EqualsFormulas(d) {
				t.Errorf("%s, %s: the counts were not checked, or differ from the formulas", s.Mode, d.Variant)
			}
			for _, r := range []results.BackgroundRequests{b.Alone.Read, b.Alone.Write, b.During.Read, b.During.Write} {
				if r.Failed > 0 || r.Due != r.Response.All() || r.Due != r.Service.All() {
					t.Errorf("%s, %s: of %d requests, %d failed and %d were answered", s.Mode, d.Variant, r.Due, r.Failed, r.Response.All())
				}
			}
			if writes := b.Alone.Write.Due + b.During.Write.Due; b.Alone.Write.Due == 0 || d.Oracle.BackgroundWrites < writes {
				t.Errorf("%s, %s: %d writes were due, oracle %+v", s.Mode, d.Variant, writes, d.Oracle)
			}
		}
	}
}

// The znodes of the background are removed with the root of the run.
func TestBackgroundIsRemoved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		load := smallBackground()
		load.Znodes = 2500
		s := busy(looping(), load)
		s.Variants, s.Duration = []string{"predecessor-watch"}, 100*time.Millisecond
		mustMeasure(t, e, s, catalog.Recipes())
		nothingLeft(t, e)
	})
}

// A background that alone saturates the ensemble is reported before any client has begun, in each mode. No number is measured.
func TestSaturatedByTheBackground(t *testing.T) {
	arriving := looping()
	arriving.Mode, arriving.Arrivals, arriving.Rate = scenarios.Open, scenarios.Constant, []results.Rate{50}
	for _, s := range []scenarios.Scenario{looping(), uncontended(), lockstepOf(3), arriving} {
		t.Run(string(s.Mode), func(t *testing.T) {
			t.Parallel()
			bubbleOn(t, embedded.Config{WriteDelay: 10 * time.Millisecond}, func(t *testing.T, e *embedded.Ensemble) { checkSaturated(t, e, s) })
		})
	}
}

func checkSaturated(t *testing.T, e *embedded.Ensemble, s scenarios.Scenario) {
	load := smallBackground()
	load.Writes = 200 // of 100 that the server can answer
	docs := mustMeasure(t, e, busy(s, load), catalog.Recipes())
	if len(docs) != 1 {
		t.Fatalf("%d documents, want the first one alone", len(docs))
	}
	d := docs[0]
	want := "the background alone saturates the ensemble: it offered 150 reads/s and 200 writes/s, and achieved "
	if len(d.Invalid) != 1 || !strings.HasPrefix(d.Invalid[0], want) {
		t.Errorf("invalid %q, want %q", d.Invalid, want)
	}
	_, measured := d.Metrics[metric.OpsPerSecond]
	if measured || d.Window.Operations > 0 || d.Counts.TotalRequests() > 0 || d.Background.During != nil {
		t.Errorf("the load was applied: window %+v, counts %+v", d.Window, d.Counts)
	}
	if len(d.Violations) > 0 {
		t.Errorf("violations %v", d.Violations)
	}
}

// A load that fails ends the background, too.
func TestInterruptEndsTheBackground(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		s := busy(looping(), smallBackground())
		s.Duration = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		r := runnerOf(t, e, catalog.Recipes(), func(*results.Document) {})
		r.Progress = func(int, int, string) { time.AfterFunc(5*time.Second, cancel) }
		r.SkipRehearsals()
		if err := r.RunScenario(ctx, s); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		nothingLeft(t, e)
	})
}
