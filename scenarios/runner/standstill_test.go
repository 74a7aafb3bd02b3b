package runner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// hanging is a participant that holds and then waits for a znode from its third step on.
type hanging struct {
	variants.Env
	create bool // it holds twice, and creates that znode instead
	steps  int
}

func (h *hanging) Step(ctx context.Context) error {
	path := h.Root + "/awaited"
	if h.steps++; h.steps < 3 {
		return nil
	}
	if err := h.Hold(ctx, nil); err != nil {
		return err
	}
	if h.create {
		if err := h.Hold(ctx, nil); err != nil {
			return err
		}
		return h.Session.Ensure(ctx, path, nil, 0)
	}
	exists, _, watch, err := h.Session.ExistsW(ctx, path)
	if err != nil || exists {
		return err
	}
	return h.Session.Await(ctx, watch)
}

func (*hanging) Leave(context.Context) error { return nil }

// hangingLock is a recipe whose clients hang, all but a number of creators.
func hangingLock(creators int) []variants.Recipe {
	return sabotage("predecessor-watch", func(v *variants.Variant) {
		v.Join = func(_ context.Context, env variants.Env) (variants.Participant, error) {
			return &hanging{Env: env, create: env.Index < creators}, nil
		}
	})
}

func observed(t *testing.T, s scenarios.Scenario, recipes func() []variants.Recipe) (docs []*results.Document) {
	t.Helper()
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		r := runnerOf(t, e, recipes(), func(d *results.Document) { docs = append(docs, d) })
		r.SkipRehearsals()
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour) // so that a load that is not ended ends after all
		defer cancel()
		if err := r.RunScenario(ctx, s); err != nil {
			t.Fatal(err)
		}
	})
	return docs
}

type standstill struct {
	name   string
	change func(*scenarios.Scenario)
}

func standstills() []standstill {
	const forever = time.Hour
	busy := results.BackgroundLoad{Reads: 400, Writes: 200, Bytes: 10, Znodes: 10} // so that requests are under way when the load is ended
	return []standstill{
		{"in the window", func(s *scenarios.Scenario) { s.Duration = forever }},
		{"in the warm-up", func(s *scenarios.Scenario) { s.Duration, s.WarmUp = forever, forever }},
		{"in a number of operations", func(s *scenarios.Scenario) { s.Operations = 10 }},
		{"after the window", func(s *scenarios.Scenario) {
			s.Duration, s.Hold = 100*time.Millisecond, 200*time.Millisecond
		}},
		{"in the first of two stages", func(s *scenarios.Scenario) {
			s.Stages = []results.StageLoad{{For: time.Hour / 2, Clients: 3}, {For: time.Hour / 2, Clients: 1}}
			s.Duration = forever
		}},
		{"beside a background", func(s *scenarios.Scenario) {
			s.Duration, s.Background = forever, &busy
		}},
		{"in the warm-up beside a background", func(s *scenarios.Scenario) {
			s.Duration, s.WarmUp, s.Background = forever, forever, &busy
		}},
		{"before a background begins", func(s *scenarios.Scenario) {
			s.Operations, s.WarmUp, s.Background = 10, forever, &busy
		}},
		{"in a number of operations beside a background", func(s *scenarios.Scenario) { s.Operations, s.Background = 10, &busy }},
	}
}

// A closed load in which all clients wait for changes that no client makes is ended. Its document has the breach and no numbers.
func TestStandstill(t *testing.T) {
	for _, tt := range standstills() {
		t.Run(tt.name, func(t *testing.T) {
			s := closedOf("lock", 3, "predecessor-watch")
			tt.change(&s)
			docs := observed(t, s, func() []variants.Recipe { return hangingLock(0) })
			d := docs[0]
			if !d.EndedByBreach() || !d.Broken() || len(d.Violations) != 1 || !strings.Contains(d.Violations[0].Text, "stuck: 3 of 3 clients wait") ||
				!strings.Contains(d.Violations[0].Text, "client 0 watches awaited, which is gone") {
				t.Errorf("unfinished %+v, violations %v", d.Unfinished, d.Violations)
			}
			if len(d.Metrics) != 1 || len(d.Invalid) > 0 {
				t.Errorf("metrics %v, invalid %q", d.Metrics, d.Invalid)
			}
		})
	}
}

// Clients that wait for a holder, or whose steps are done, are not reported.
func TestNoStandstill(t *testing.T) {
	s := closedOf("lock", 3, "predecessor-watch")
	s.Operations, s.Hold = 5, 5*time.Second // several looks
	for _, d := range observed(t, s, func() []variants.Recipe { return hangingLock(1) }) {
		if d.Unfinished != nil || len(d.Violations) > 0 {
			t.Errorf("unfinished %+v, violations %v", d.Unfinished, d.Violations)
		}
	}
}

// No lock that keeps its promise is taken to stand still, however often its clients are checked between two notifications.
func TestSoundLocksNeverStandStill(t *testing.T) {
	for _, recipe := range []string{"lock", "election", "rwlock"} {
		t.Run(recipe, func(t *testing.T) {
			ensembletest.Sample(t)
			s := closedOf(recipe, 4)
			s.Duration, s.Hold = 2*time.Minute, 1999*time.Millisecond // longer than the time between two looks
			for _, d := range observed(t, s, catalog.Recipes) {
				if d.Unfinished != nil || len(d.Violations) > 0 {
					t.Errorf("%s with %d clients: unfinished %+v, violations %v", d.Variant, d.Clients, d.Unfinished, d.Violations)
				}
			}
		})
	}
}

// The lock of ZooKeeper's recipes stands still when its clients race. It ends as a breach that the scenario expects.
func TestWriteLockStandsStill(t *testing.T) {
	s := loaded(t, "lock-writelock")
	s.Variants, s.Clients, s.Duration, s.Repeats = []string{"writelock"}, []int{3}, 5*time.Minute, 1 // it ends when it stands still
	d := observed(t, s, catalog.Recipes)[0]
	if !d.EndedByBreach() || d.Broken() || !d.BreachExpected() {
		t.Fatalf("unfinished %+v, known broken %q, violations %v", d.Unfinished, d.KnownBroken, d.Violations)
	}
	for _, want := range []string{"which is gone", "no client holds the lock in the end, although 3 clients wait"} {
		if !strings.Contains(d.Violations[0].Text+d.Violations[1].Text, want) {
			t.Errorf("violations %v, want %q among them", d.Violations, want)
		}
	}
}

// Two locks of one session exclude each other if their znodes have GUIDs in their names. With the session's id instead, both locks take
// one znode to be their own, and the load ends because the second release does not find the znode.
func TestTwoLocksOnOneSession(t *testing.T) {
	for _, tt := range []struct {
		variant string
		sound   bool
		most    time.Duration // a breach ends the load at once
	}{{"predecessor-watch", true, 300 * time.Millisecond}, {"predecessor-watch-session-id", false, time.Minute}} {
		t.Run(tt.variant, func(t *testing.T) {
			s := loaded(t, "lock-threads")
			s.Variants, s.Duration, s.WarmUp, s.Repeats = []string{tt.variant}, tt.most, 0, 1
			d := observed(t, s, catalog.Recipes)[0]
			if tt.sound != (len(d.Violations) == 0) || tt.sound == d.EndedByBreach() || d.Broken() {
				t.Errorf("unfinished %+v, violations %v", d.Unfinished, d.Violations)
			}
		})
	}
}
