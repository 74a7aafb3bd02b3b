package runner_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// endless returns the recipes with a lock variant that is acquired so many times, and then held until the load ends.
func endless(variant string, times int64) []variants.Recipe {
	var holds atomic.Int64
	return sabotage(variant, func(v *variants.Variant) {
		join := v.Join
		v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
			hold := env.Hold
			env.Hold = func(ctx context.Context, asked <-chan struct{}) error {
				if err := hold(ctx, asked); err != nil || holds.Add(1) <= times {
					return err
				}
				<-ctx.Done()
				return ctx.Err()
			}
			return join(ctx, env)
		}
	})
}

func atMost(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario, recipes []variants.Recipe) *results.Document {
	t.Helper()
	s.AtMost = 2 * time.Second
	var saved []*results.Document
	r := runnerOf(t, e, recipes, func(d *results.Document) { saved = append(saved, d) })
	r.SkipRehearsals()
	if err := r.RunScenario(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if len(saved) != 1 {
		t.Fatalf("%d documents were saved, want 1", len(saved))
	}
	return saved[0]
}

// A load that takes too long is ended, and its document says how much was done until then. It is not an error, it has no numbers, and
// it leaves no znodes behind.
func TestUnfinishedLoad(t *testing.T) {
	t.Parallel()
	for _, tt := range []unfinishedLoad{
		{"predecessor-watch", 3, "4 notifications and 23 requests"},
		{"znode", 4 + 3 + 2, "10 notifications and 30 requests"},
	} {
		t.Run(tt.variant, func(t *testing.T) {
			t.Parallel()
			bubble(t, tt.check)
		})
	}
}

// unfinishedLoad has the expected counts of a load of five clients that ends when the fourth has the lock.
type unfinishedLoad struct {
	variant       string
	notifications int64 // when the lock is passed on, from the first client to the last that acquires it
	whole         string
}

func (l unfinishedLoad) check(t *testing.T, e *embedded.Ensemble) {
	const clients, done = 5, 3
	s := lockstepOf(clients)
	s.Variants = []string{l.variant}
	d := atMost(t, e, s, endless(l.variant, done))
	u := d.Unfinished
	if u == nil || u.Done != done || u.Notifications != l.notifications {
		t.Fatalf("unfinished = %+v, want %d of %d operations and %d notifications", u, done, clients, l.notifications)
	}
	if d.Window.Operations != done || d.Counts.Notified() != l.notifications {
		t.Errorf("the window has %d operations and %d notifications", d.Window.Operations, d.Counts.Notified())
	}
	if len(d.Invalid) > 0 || len(d.Violations) > 0 || len(d.Warnings) > 0 || d.Oracle.Checked {
		t.Errorf("invalid %q, violations %v, warnings %q, oracle %+v", d.Invalid, d.Violations, d.Warnings, d.Oracle)
	}
	if len(d.Metrics) != 2 || d.Metrics[metric.Finished].Value != 0.6 {
		t.Errorf("metrics = %v, want how much was finished, and no violations", d.Metrics)
	}
	if text := doubts.Progress(d); !strings.Contains(text, "did 3 of 5 operations") || !strings.Contains(text, l.whole) {
		t.Errorf("progress = %q, want it to name %s", text, l.whole)
	}
	nothingLeft(t, e)
}

// A load that ends after a number of operations is ended in the same way. What the clients do in a warm-up is not counted as done.
func TestUnfinishedClosedLoad(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		s := closedOf("lock", 1, "predecessor-watch")
		s.Operations = 3
		d := atMost(t, e, s, endless("predecessor-watch", 0))
		if u := d.Unfinished; u == nil || u.Done != 0 {
			t.Errorf("unfinished = %+v, want none of 3 operations", u)
		}
		nothingLeft(t, e)
	})
}

// A load that is done before its limit has all its numbers.
func TestFinishedLoad(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		s := lockstepOf(3)
		s.Variants = []string{"predecessor-watch"}
		d := atMost(t, e, s, catalog.Recipes())
		if d.Unfinished != nil || d.Metrics[metric.Finished].Value != 1 || !doubts.EqualsFormulas(d) || !d.Oracle.Checked {
			t.Errorf("unfinished = %+v, metrics = %v, expected = %+v, oracle = %+v", d.Unfinished, d.Metrics, d.Expected, d.Oracle)
		}
	})
}

// A thousand clients connect, take their turns and leave, and one publication notifies all of them at once.
func TestLiveCrowd(t *testing.T) {
	e := onServersAlone(t)
	const clients = 1000
	for _, tt := range []struct{ scenario, variant string }{{"crowd-lock", "predecessor-watch"}, {"crowd-watch", "one-znode"}} {
		t.Run(tt.scenario, func(t *testing.T) {
			s := loaded(t, tt.scenario)
			s.Clients, s.Variants, s.AtMost = []int{clients}, []string{tt.variant}, 10*time.Minute
			d := mustMeasure(t, e, s, catalog.Recipes())[0]
			if checkSound(t, d); d.Unfinished != nil {
				t.Errorf("unfinished %+v", d.Unfinished)
			}
			if d.Connect == nil || d.Connect.Each.All() != clients || d.Counts.Notified() > clients {
				t.Errorf("connect %+v, %d notifications", d.Connect, d.Counts.Notified())
			}
			if tt.scenario == "crowd-watch" && d.Herd.Max() != clients {
				t.Errorf("the publication notified %d clients at once, want %d", d.Herd.Max(), clients)
			}
			nothingLeft(t, e)
		})
	}
}
