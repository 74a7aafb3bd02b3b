package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// parts collects the documents and the live states of one measurement.
type parts struct {
	partial, whole []*results.Document
	live           []runner.Live
}

func (p *parts) long(t *testing.T, e *embedded.Ensemble, recipe, variant string, length time.Duration) (*runner.Runner, scenarios.Scenario) {
	t.Helper()
	s := closedOf(recipe, 5, variant)
	s.Duration, s.WarmUp = length, 100*time.Millisecond
	s.Hold = 200 * time.Millisecond // so that minutes have few operations
	r := runnerOf(t, e, catalog.Recipes(), func(d *results.Document) { p.whole = append(p.whole, d) })
	r.Partial = func(d *results.Document) error { readable(t, d); p.partial = append(p.partial, d); return nil }
	r.Live = func(l runner.Live) { p.live = append(p.live, l) }
	r.SkipRehearsals()
	return r, s
}

// interruptAfter runs a load that is interrupted after some time, and returns the error.
func (p *parts) interruptAfter(t *testing.T, after time.Duration, r *runner.Runner, s scenarios.Scenario) error {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	time.AfterFunc(after, interrupt)
	return r.RunScenario(ctx, s)
}

// A run that is interrupted in a window keeps the part until then.
func TestInterruptedWindowIsKept(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, recipe, variant string
		change                func(t *testing.T, s *scenarios.Scenario)
		doubtful              func(d *results.Document) bool
	}{
		{"a closed load", "lock", "predecessor-watch", func(*testing.T, *scenarios.Scenario) {},
			func(d *results.Document) bool { return d.Failure != nil || d.Open != nil || len(d.Warnings) == 0 }},
		// The document does not claim that there are no orphans, because they were not counted.
		{"with faults", "enqueue", "guid-marker", func(t *testing.T, s *scenarios.Scenario) {
			s.Think, s.Faults = s.Hold, schedule(t, "cut: any, every: 10s", "expire: any, every: 15s")
		}, func(d *results.Document) bool {
			_, counted := d.Metrics[metric.Orphans]
			return counted || len(d.Failure.Faults) < 10
		}},
		// The document has the arrivals that were not served: many, because the rate is twice what a lock can serve.
		{"an open load", "lock", "predecessor-watch", func(_ *testing.T, s *scenarios.Scenario) { s.Mode, s.Rate = scenarios.Open, []results.Rate{10} },
			func(d *results.Document) bool { return d.Open.Arrivals < 3*d.Open.Served/2 || d.Open.Arrivals < 10*170 }},
		{"an open load, while it serves its backlog", "lock", "predecessor-watch", func(_ *testing.T, s *scenarios.Scenario) {
			s.Mode, s.Rate, s.Duration = scenarios.Open, []results.Rate{5}, 179*time.Second
		}, func(d *results.Document) bool {
			return d.Open.Arrivals <= d.Open.Served || d.Window.Length() < 179*time.Second
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, e *embedded.Ensemble) {
				var p parts
				r, s := p.long(t, e, tt.recipe, tt.variant, time.Hour)
				tt.change(t, &s)
				if err := p.interruptAfter(t, 3*time.Minute, r, s); !errors.Is(err, context.Canceled) || len(p.partial) != 1 || len(p.whole) > 0 {
					t.Fatalf("the run ended with %v, %d partial and %d whole documents", err, len(p.partial), len(p.whole))
				}
				d := p.partial[0]
				if !d.Partial || d.Oracle.Checked || d.Oracle.Why == "" || d.Floor == nil || d.Floor.Before == nil || d.Floor.Why == "" {
					t.Errorf("partial %t, oracle %+v and floor %+v", d.Partial, d.Oracle, d.Floor)
				}
				if length := d.Window.Length(); length < 170*time.Second || length > 3*time.Minute || tt.doubtful(d) {
					t.Errorf("the window took %s, failure %+v, open %+v", length, d.Failure, d.Open)
				}
				nothingLeft(t, e)
			})
		})
	}
}

// A run in whose window a step fails keeps the part until then.
func TestWindowOfAFailedLoadIsKept(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		var p parts
		r, s := p.long(t, e, "lock", "predecessor-watch", time.Hour)
		dead := errors.New("the participant is dead")
		r.Recipes = wrapped(func(one variants.Participant) variants.Participant {
			return &interrupted{Participant: one, before: func(_ context.Context, step int) error {
				if step == 200 {
					return dead
				}
				return nil
			}}
		})
		if err := r.RunScenario(t.Context(), s); !errors.Is(err, dead) || len(p.partial) != 1 || len(p.whole) > 0 {
			t.Fatalf("the run ended with %v, %d partial and %d whole documents", err, len(p.partial), len(p.whole))
		}
		if d := p.partial[0]; d.Window.Operations < 900 || d.Window.Length() > 5*time.Minute {
			t.Errorf("kept were %d operations in %s", d.Window.Operations, d.Window.Length())
		}
	})
}

// A part that cannot be saved is an error.
func TestPartThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		var p parts
		r, s := p.long(t, e, "lock", "predecessor-watch", time.Hour)
		full := errors.New("no space left")
		r.Partial = func(*results.Document) error { return full }
		if err := p.interruptAfter(t, time.Minute, r, s); !errors.Is(err, full) || !errors.Is(err, context.Canceled) {
			t.Errorf("the run ended with %v", err)
		}
	})
}

// Windows of up to a minute are not kept in part, and no windows of a run without Partial.
func TestPartsThatAreNotKept(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		length time.Duration
		wanted bool
	}{
		{"a minute", time.Minute, true},
		{"not wanted", 3 * time.Minute, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, e *embedded.Ensemble) {
				var p parts
				r, s := p.long(t, e, "lock", "predecessor-watch", tt.length)
				if !tt.wanted {
					r.Partial = nil
				}
				if err := p.interruptAfter(t, 40*time.Second, r, s); !errors.Is(err, context.Canceled) || len(p.partial)+len(p.whole) > 0 {
					t.Errorf("%v, %d partial and %d whole documents", err, len(p.partial), len(p.whole))
				}
			})
		})
	}
}

// A load that is finished has a whole document only, and was shown every second.
func TestLongMeasurement(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		const seconds = 130
		var p parts
		r, s := p.long(t, e, "lock", "children-watch", seconds*time.Second)
		if err := r.RunScenario(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if len(p.whole) != 1 || p.whole[0].Partial || len(p.partial) > 0 || len(p.live) < seconds {
			t.Fatalf("%d whole and %d partial documents, and %d seconds were shown", len(p.whole), len(p.partial), len(p.live))
		}
		for _, l := range p.live[1:seconds] {
			if l.Length < time.Second || l.Operations == 0 || l.LargestHerd < 1 || l.P99 == 0 || l.Phase != "handoff" || l.Elapsed == 0 {
				t.Errorf("shown was %+v", l)
			}
		}
	})
}
