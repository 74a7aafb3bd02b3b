package simulation_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/simulation"
)

// workerVariable makes the test binary a worker.
const workerVariable = "ZKBENCH_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) == "" {
		os.Exit(m.Run())
	}
	simulation.Serve(os.Stdin, os.Stdout, namedOrDying)
}

// namedOrDying makes a recipe of the catalog, and dies of another name.
func namedOrDying(name string) func() variants.Recipe {
	if recipe := catalog.Named(name); recipe != nil {
		return recipe
	}
	return func() variants.Recipe { panic("no recipe " + name) }
}

func pool() simulation.Pool {
	return simulation.Pool{Workers: 2, Command: func(ctx context.Context) *exec.Cmd {
		c := exec.CommandContext(ctx, os.Args[0])
		c.Env = append(os.Environ(), append(simulation.Environment(), workerVariable+"=1")...)
		return c
	}}
}

// slow skips a test of many runs where the race detector makes them slow: `make simulate` has it, too.
func slow(t *testing.T) {
	t.Helper()
	if ensembletest.RaceDetector || testing.Short() {
		t.Skip("it takes too long with the race detector, and with -short")
	}
}

// plansOf returns the plans of a seed for the variants of some recipes, or of all.
func plansOf(seed uint64, recipes ...string) (plans []simulation.Plan) {
	for _, r := range catalog.Recipes() {
		for _, v := range r.Variants {
			if recipes == nil || slices.Contains(recipes, r.Name) {
				plans = append(plans, simulation.NewPlan(r, v, seed))
			}
		}
	}
	return plans
}

// Most plans make the same run in another process, on the Go that is installed; on a busy machine, not quite so many.
func TestPlansRepeat(t *testing.T) {
	slow(t)
	plans := plansOf(1)
	histories := map[string][]uint64{}
	for range 2 {
		var jobs []simulation.Job
		for _, p := range plans {
			jobs = append(jobs, simulation.Job{Plan: p})
		}
		if err := pool().Do(t.Context(), slices.Values(jobs), func(j simulation.Job, r simulation.Report) {
			name := j.Plan.Recipe + "/" + j.Plan.Variant
			histories[name] = append(histories[name], r.Outcome.Fingerprint)
		}); err != nil {
			t.Fatal(err)
		}
	}
	var differ []string
	for name, prints := range histories {
		if len(prints) != 2 || prints[0] == 0 || prints[0] != prints[1] {
			differ = append(differ, name)
		}
	}
	t.Logf("%d of %d runs were the same; not %v", len(plans)-len(differ), len(plans), differ)
	if len(differ) > 2*len(plans)/3 {
		t.Error("too many runs differ to rely on seeds")
	}
}

// A worker that dies is a finding of its job, and does not keep others from being done.
func TestWorkersThatDie(t *testing.T) {
	jobs := slices.Values([]simulation.Job{{Plan: simulation.Plan{Recipe: "no such recipe"}}, {Plan: plansOf(0, "barrier")[0]}})
	p := pool()
	p.Workers = 1
	outcomes := map[string]simulation.Outcome{}
	must.Do(t, p.Do(t.Context(), jobs, func(j simulation.Job, r simulation.Report) { outcomes[j.Plan.Recipe] = r.Outcome }))
	if dead := outcomes["no such recipe"]; !dead.Fails() || !strings.Contains(dead.Findings[0].Text, "no recipe no such recipe") {
		t.Errorf("the outcome of a worker that died is %+v", dead)
	}
	if sound := outcomes["barrier"]; sound.Fails() || sound.Longest == 0 {
		t.Errorf("the next outcome is %+v", sound)
	}
}
