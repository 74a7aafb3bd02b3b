package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios/campaign"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/exclusion"
)

// greedy is a client that holds a lock without asking, and then stands still.
type greedy struct {
	variants.Participant
	env   variants.Env
	stuck bool
}

func (g *greedy) Step(ctx context.Context) error {
	if g.stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	g.stuck = true
	for _, kind := range []variants.EventKind{exclusion.Requested, exclusion.Acquired, exclusion.Releasing, exclusion.Released} {
		g.env.Record(kind, 1)
		if err := variants.WaitFor(ctx, 10*time.Millisecond, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// A breach decides the exit codes of the run and of the gate even if the rehearsal then stands still.
func TestBreachBeforeAStandstill(t *testing.T) {
	measurement(t)
	outsideCI(t)
	s := must.Get(scenarioOf(t, "lock-contention", "--clients", "2"))(t)
	recipes := catalog.Recipes()
	v := &recipes[slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == s.Recipe })].Variants[0]
	s.Variants = []string{v.Name}
	join := v.Join
	v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		p, err := join(ctx, env)
		return &greedy{Participant: p, env: env}, err
	}
	dir := t.TempDir()
	var err error
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		r := runner.Runner{
			Ensemble: e, Recipes: recipes, Run: "greedy", Progress: func(int, int, string) {},
			Save: func(d *results.Document) error { return store.Write(d, dir) },
		}
		err = failedRun(r.RunScenario(t.Context(), s))
	})
	if code := exitCode(t.Context(), err); code != outcome.CodeBroken || !strings.Contains(err.Error(), "rehearsal") {
		t.Errorf("exit code %d of the rehearsal, want %d: %v", code, outcome.CodeBroken, err)
	}
	prints(t, outcome.CodeBroken, "3 breaches of the promise", "gate", dir)
	says(t, outcome.CodeBroken, "broke its promise", "baseline", "save", dir, "--dir", t.TempDir())
	if err := verdict(gate.Pairs{Screen: []campaign.Pair{{nil, must.Get(store.ReadAll([]string{dir}))(t)}}}.Documents()); exitCode(t.Context(), err) != outcome.CodeBroken {
		t.Errorf("calibrate ends with %v", err)
	}
}

// A run that panics leaves no plan to make smaller, and is a failure all the same.
func TestSimulateReportsAPanic(t *testing.T) {
	s := simulating{variants: []*simulated{{broken: 1}}}
	if code := exitCode(t.Context(), s.investigate(t.Context())); code != outcome.CodeBroken {
		t.Errorf("exit code %d, want %d", code, outcome.CodeBroken)
	}
}

// A breach of a variant that is known to be broken fails a run and the gate, unless the scenario expects it. All commands read
// the documents of a load that got stuck.
func TestKnownBrokenVariant(t *testing.T) {
	outsideCI(t)
	t.Chdir(t.TempDir())
	load := []string{"--variants", "writelock,predecessor-watch", "--clients", "3", "--think", "5ms", "--duration", "15s", "--repeats", "1"}
	for _, tt := range []struct {
		scenario, dir string
		run, gate     int
	}{
		{"lock-writelock", "expected", outcome.CodePass, outcome.CodePass},
		{"lock-contention", "unexpected", outcome.CodeBroken, outcome.CodeBroken},
	} {
		args := append([]string{"run", tt.scenario, "--out", tt.dir}, load...)
		if tt.scenario == "lock-contention" {
			args = append(args, "--hold", "0s")
		}
		stdout, stderr, code := inMemory(t, embedded.Config{ReadDelay: time.Millisecond, WriteDelay: 2 * time.Millisecond}, args...)
		if code != tt.run || !strings.Contains(stdout, "known broken: lock/writelock") || !strings.Contains(stdout, "which is gone") {
			t.Errorf("%s: exit code %d, want %d; it said %s\n%s", tt.scenario, code, tt.run, stdout, stderr)
		}
		prints(t, tt.gate, "", "gate", tt.dir)
		for _, other := range [][]string{
			{"report", tt.dir}, {"report", tt.dir, "--format", "markdown"}, {"report", tt.dir, "--format", "csv"}, {"report", tt.dir, "--format", "json"},
			{"compare", tt.dir}, {"plot", tt.dir, "--format", "svg"},
		} {
			prints(t, outcome.CodePass, "", other...)
		}
	}
}
