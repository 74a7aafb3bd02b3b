package runner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/session"
)

// doomedLock is a lock whose participants fail in their second steps, but not those that join first, in the rehearsal. If it is
// broken, all of them have held it at once by then.
//
// Note: the clock cuts a rehearsal short, so that on a slow machine it may end before any second step.
func doomedLock(clients, rehearsing int, broken bool, fail func(context.Context) error) []variants.Recipe {
	return sabotage("predecessor-watch", func(v *variants.Variant) {
		join := v.Join
		var joined, holding atomic.Int64
		allHold := make(chan struct{})
		holdWithAll := func(ctx context.Context, _ <-chan struct{}) error {
			if holding.Add(1) == int64(clients) {
				close(allHold)
			}
			select {
			case <-allHold:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
			if joined.Add(1) <= int64(rehearsing) {
				return join(ctx, env)
			}
			if broken {
				root, err := ownDirectory(env.Session.Conn(), env.Root)
				if err != nil {
					return nil, err
				}
				env.Root, env.Hold = root, holdWithAll
			}
			p, err := join(ctx, env)
			return &interrupted{Participant: p, before: func(ctx context.Context, step int) error {
				if step == 1 {
					return nil
				}
				return fail(ctx)
			}}, err
		}
	})
}

// doom is a load whose clients fail in their second steps.
type doom struct {
	broken   bool  // all have held the lock at once by then
	expected bool  // the scenario expects a breach
	cause    error // of the failures; the clients make no progress if it is ErrStuck
}

// run runs the load. It returns the documents that were kept.
func (d doom) run(t *testing.T, e ensemble.Ensemble) ([]*results.Document, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // so that a load that goes on ends after all
	defer cancel()
	const clients = 3
	fail := func(ctx context.Context) error {
		if errors.Is(d.cause, runner.ErrStuck) {
			<-ctx.Done()
			return ctx.Err()
		}
		return d.cause
	}
	s := closedOf("lock", clients, "predecessor-watch")
	s.Operations = 5
	rehearsing := clients
	if d.expected {
		s.Broken, rehearsing = s.Variants, 0 // an expected breach has no rehearsal
	}
	var docs []*results.Document
	r := runnerOf(t, e, doomedLock(clients, rehearsing, d.broken, fail), func(d *results.Document) { docs = append(docs, d) })
	err := r.RunScenario(ctx, s)
	return docs, err
}

// inBubble is run in virtual time.
func (d doom) inBubble(t *testing.T) (docs []*results.Document, err error) {
	bubble(t, func(t *testing.T, e *embedded.Ensemble) { docs, err = d.run(t, e) })
	return docs, err
}

// A load that fails is still checked: earlier breaches are reported first, and kept. Operations that were cut off are not breaches.
func TestFailedLoadsAreChecked(t *testing.T) {
	t.Parallel()
	errDead := errors.New("the participant is dead")
	for _, tt := range []struct {
		name   string
		broken bool
		want   error
		breach string // empty if there is none
	}{
		{"broken and stuck", true, runner.ErrStuck, "acquired the lock while client"},
		{"broken and dead", true, errDead, "acquired the lock while client"},
		{"stuck", false, runner.ErrStuck, "stuck: no operation completed"},
		{"dead", false, errDead, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			docs, err := doom{broken: tt.broken, cause: tt.want}.inBubble(t)
			if kept := list.Where(docs, (*results.Document).Broken); len(kept) != len(docs) || len(docs) > 0 != (tt.breach != "") {
				t.Errorf("%d documents were kept, %d of them with a breach; the breach is %q", len(docs), len(kept), tt.breach)
			}
			if !errors.Is(err, tt.want) {
				t.Fatalf("the run ended with %v, want %v", err, tt.want)
			}
			var found *runner.BrokenError
			if errors.As(err, &found) != (tt.breach != "") {
				t.Errorf("the run ended with %v; the breach is %q", err, tt.breach)
			}
			if tt.breach == "" {
				return
			}
			said := strings.Split(err.Error(), "\n")
			breach := slices.IndexFunc(said, func(line string) bool { return strings.Contains(line, tt.breach) })
			failure := slices.IndexFunc(said, func(line string) bool { return strings.Contains(line, tt.want.Error()) })
			if !strings.HasPrefix(said[0], "BROKEN: ") || breach < 0 || failure < breach {
				t.Errorf("said %q, want what was broken first", said)
			}
		})
	}
}

// Participants that withdraw in the middle of an operation do not break a promise.
func TestInterruptedLoadsAreNotBroken(t *testing.T) {
	t.Parallel()
	for _, recipe := range catalog.Recipes() {
		for i, v := range recipe.Variants {
			t.Run(recipe.Name+"/"+v.Name, func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, e *embedded.Ensemble) {
					own := *(&scenarios.Scenario{Recipe: recipe.Name}).RecipeAmong(catalog.Recipes())
					own.Variants = own.Variants[i : i+1]
					interrupt(t, e, own)
				})
			})
		}
	}
}

func interrupt(t *testing.T, e ensemble.Ensemble, recipe variants.Recipe) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var steps atomic.Int64
	surround(&recipe.Variants[0], func(_ variants.Env, p variants.Participant) variants.Participant {
		return &interrupted{Participant: p, before: func(context.Context, int) error {
			if steps.Add(1) == 11 { // of the three clients, one begins its fourth or a later one
				cancel()
			}
			return nil
		}}
	})
	s := closedOf(recipe.Name, 3)
	s.Operations = 1000
	err := measure(ctx, t, e, s, []variants.Recipe{recipe}, func(*results.Document) {})
	var broken *runner.BrokenError
	if errors.As(err, &broken) || !errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v, want only to hear that it was interrupted", err)
	}
}

// If the scenario expects a breach, a load that makes no progress, or whose client loses its znode although its session lives, is
// a result that shows it. Any other error remains an error, even if a breach was found before.
func TestExpectedBreachesEndTheLoad(t *testing.T) {
	t.Parallel()
	errDead := errors.New("the participant is dead")
	for _, tt := range []struct {
		name   string
		broken bool
		err    error
		want   string // in the violation; empty for an error
	}{
		{"stuck", false, runner.ErrStuck, "stuck: no operation completed"},
		{"a znode is gone", false, session.ErrSessionLost, "a client found its znode gone, although the sessions of all clients live"},
		{"dead", true, errDead, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			docs, err := doom{broken: tt.broken, expected: true, cause: tt.err}.inBubble(t)
			if tt.want == "" {
				if !errors.Is(err, tt.err) || len(docs) > 0 {
					t.Errorf("the run ended with %v and %d documents", err, len(docs))
				}
				return
			}
			if err != nil || len(docs) != 1 {
				t.Fatalf("the run ended with %v and %d documents", err, len(docs))
			}
			if d := docs[0]; !d.EndedByBreach() || d.Broken() || len(d.Violations) == 0 || !strings.Contains(d.Violations[0].Text, tt.want) {
				t.Errorf("unfinished %+v, violations %v, want %q", d.Unfinished, d.Violations, tt.want)
			}
		})
	}
}
