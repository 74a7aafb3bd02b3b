package runner_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants/catalog"
)

// parts collects the documents of one measurement.
type parts struct {
	mu          sync.Mutex
	checkpoints []*results.Document
	whole       []*results.Document
	live        []runner.Live
}

// long is a load of one variant of a recipe, with a checkpoint in each minute.
func (p *parts) long(t *testing.T, e ensemble.Ensemble, recipe, variant string, length time.Duration) (*runner.Runner, scenarios.Scenario) {
	t.Helper()
	s := scenarios.Default()
	s.Name, s.Recipe, s.Variants, s.Clients, s.Repeats = "long", recipe, []string{variant}, []int{5}, 1
	s.Duration, s.WarmUp, s.Operations = scenarios.Duration(length), scenarios.Duration(100*time.Millisecond), 0
	s.Hold = scenarios.Duration(200 * time.Millisecond) // so that minutes have few operations
	r := &runner.Runner{
		Ensemble: e, Recipes: catalog.Recipes(), Run: "long",
		Progress:   func(int, int, string) {},
		Save:       func(d *results.Document) error { readable(t, d); p.whole = append(p.whole, d); return nil },
		Checkpoint: func(d *results.Document) error { p.add(t, d); return nil },
		Live:       func(l runner.Live) { p.live = append(p.live, l) },
	}
	r.InVirtualTime()
	r.SkipRehearsals()
	return r, s
}

// add keeps a checkpoint, which must be readable by itself.
func (p *parts) add(t *testing.T, d *results.Document) {
	t.Helper()
	readable(t, d)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !d.Partial || d.Oracle.Checked || d.Oracle.Why == "" || d.Floor == nil || d.Floor.Before == nil || d.Floor.Why == "" {
		t.Errorf("a checkpoint with partial %t, oracle %+v and floor %+v", d.Partial, d.Oracle, d.Floor)
	}
	if n := len(p.checkpoints); n > 0 && p.checkpoints[n-1].Window.End >= d.Window.End {
		t.Errorf("a checkpoint at %s follows one at %s", d.Window.End, p.checkpoints[n-1].Window.End)
	}
	p.checkpoints = append(p.checkpoints, d)
}

// Every checkpoint is a document of the window so far, and the whole document replaces the last one.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		const minutes = 4
		var p parts
		r, s := p.long(t, e, "lock", "children-watch", minutes*time.Minute)
		if err := r.RunScenario(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if len(p.whole) != 1 || len(p.checkpoints) != minutes-1 || len(p.live) < 60*minutes {
			t.Fatalf("%d documents, %d checkpoints, and %d seconds were shown", len(p.whole), len(p.checkpoints), len(p.live))
		}
		whole, last := p.whole[0], p.checkpoints[len(p.checkpoints)-1]
		if whole.Partial || whole.Filename() != last.Filename() || whole.Window.Start != last.Window.Start || whole.Window.Operations <= last.Window.Operations {
			t.Errorf("partial %t, %s with %d operations follows %s with %d", whole.Partial, whole.Filename(), whole.Window.Operations, last.Filename(), last.Window.Operations)
		}
		for _, l := range p.live[1 : 60*minutes] {
			if l.Length < time.Second || l.Operations == 0 || l.LargestHerd < 1 || l.P99 == 0 || l.Phase != "handoff" || l.Elapsed == 0 {
				t.Errorf("shown was %+v", l)
			}
		}
	})
}

// A run that is interrupted in the window keeps everything until then, and a run that fails what it had saved last.
func TestInterruptedMeasurementIsKept(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		ctx, interrupt := context.WithCancel(t.Context())
		var p parts
		r, s := p.long(t, e, "lock", "predecessor-watch", time.Hour)
		r.Checkpoint = func(d *results.Document) error {
			p.add(t, d)
			time.AfterFunc(time.Second, interrupt)
			return nil
		}
		if err := r.RunScenario(ctx, s); !errors.Is(err, context.Canceled) {
			t.Errorf("the run ended with %v", err)
		}
		if len(p.checkpoints) != 2 || len(p.whole) > 0 {
			t.Errorf("%d checkpoints and %d whole documents, want one checkpoint more after the interrupt", len(p.checkpoints), len(p.whole))
		}
	})
}

// Without a place for its results a measurement ends at once.
func TestCheckpointThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		var p parts
		r, s := p.long(t, e, "lock", "predecessor-watch", time.Hour)
		full := errors.New("no space left")
		r.Checkpoint = func(*results.Document) error { return full }
		if err := r.RunScenario(t.Context(), s); !errors.Is(err, full) {
			t.Errorf("the run ended with %v", err)
		}
	})
}

// A partial document of a load with faults does not claim that nothing was left behind, which nothing has looked for.
func TestCheckpointsWithFaults(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		ctx, interrupt := context.WithCancel(t.Context())
		var p parts
		r, s := p.long(t, e, "enqueue", "guid-marker", time.Hour)
		s.Think, s.Faults = s.Hold, schedule(t, "cut: any, every: 10s", "expire: any, every: 15s")
		r.Checkpoint = func(d *results.Document) error {
			p.add(t, d)
			if d.Failure != nil && len(d.Failure.Faults) > 3 {
				time.AfterFunc(time.Second, interrupt)
			}
			return nil
		}
		if err := r.RunScenario(ctx, s); !errors.Is(err, context.Canceled) {
			t.Errorf("the run ended with %v", err)
		}
		for _, d := range p.checkpoints {
			if _, counted := d.Metrics[results.Orphans]; counted {
				t.Errorf("a checkpoint after %s has counted orphans", d.Window.Length())
			}
		}
	})
}

// Windows of up to a minute and rehearsals have no checkpoints, nor has a run that does not want them.
func TestNoCheckpoints(t *testing.T) {
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
					r.Checkpoint = nil
				}
				if err := r.RunScenario(t.Context(), s); err != nil || len(p.checkpoints) > 0 || len(p.whole) != 1 {
					t.Errorf("%v, %d checkpoints and %d whole documents", err, len(p.checkpoints), len(p.whole))
				}
			})
		})
	}
}

// A partial document of an open load has the arrivals that were not served yet.
func TestCheckpointsOfOpenLoads(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		ctx, interrupt := context.WithCancel(t.Context())
		var p parts
		r, s := p.long(t, e, "lock", "predecessor-watch", time.Hour)
		s.Mode, s.Rate = scenarios.Open, []int{10} // twice what a lock can do
		r.Checkpoint = func(d *results.Document) error {
			p.add(t, d)
			if len(p.checkpoints) > 3 {
				time.AfterFunc(time.Second, interrupt)
			}
			return nil
		}
		if err := r.RunScenario(ctx, s); !errors.Is(err, context.Canceled) {
			t.Errorf("the run ended with %v", err)
		}
		for _, d := range p.checkpoints {
			if d.Open == nil || d.Open.Arrivals <= d.Open.Served {
				t.Errorf("after %s: %+v", d.Window.Length(), d.Open)
			}
		}
	})
}
