package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// drained measures a small drain in the working directory and returns the run's folder.
func drained(t *testing.T) string {
	t.Helper()
	prints(t, outcome.CodePass, "", "run", "lock-drain", "--clients", "4", "--repeats", "1", "--ensemble", "embedded", "--out", "run",
		"--name", testName("gate"))
	return "run"
}

// A result that lost a metric, a truncated file, a missing one and an empty folder are never a pass.
func TestGateFailsClosed(t *testing.T) {
	outsideCI(t)
	t.Chdir(t.TempDir())
	says(t, outcome.CodeFailed, "there are no runs", "gate")
	dir := drained(t)
	prints(t, outcome.CodeFailed, "nowhere: no such file or folder: give a result file", "gate", dir, "nowhere")
	for _, args := range [][]string{{"gate", dir}, {"baseline", "save", dir}, {"gate", dir, "--baseline", defaultBaselines}} {
		prints(t, outcome.CodePass, "", args...)
	}
	files, err := store.Files(dir)
	if err != nil || len(files) < 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	whole := must.Get(os.ReadFile(files[0]))(t)
	demand := func(what string) {
		t.Run(what, func(t *testing.T) {
			prints(t, outcome.CodeInvalid, "", "gate", dir)
			prints(t, outcome.CodeInvalid, "", "gate", dir, "--baseline", defaultBaselines)
		})
	}
	for _, metric := range []string{metric.NotificationsPerOp, metric.HerdMax, metric.Violations, metric.BytesPerOp} {
		var d results.Document
		must.Do(t, json.Unmarshal(whole, &d))
		delete(d.Metrics, metric)
		must.Do(t, store.WriteJSON(files[0], d))
		demand("without " + metric)
	}
	must.Do(t, os.WriteFile(files[0], whole[:len(whole)/2], 0o644))
	demand("a truncated file")
	must.Do(t, os.Remove(files[0]))
	demand("a missing file")
	for _, file := range files[1:] {
		must.Do(t, os.Remove(file))
	}
	demand("an empty folder")
}

// A run that was interrupted before it measured a variant, and a scenario that was not run, are reported as missing.
func TestGateMissesWhatWasNotRun(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := drained(t)
	for _, tt := range []struct {
		args []string
		want int
	}{
		{[]string{"gate", dir, "--require", "lock-drain"}, outcome.CodePass},
		{[]string{"gate", dir, "--require", "lock-drain,queue-drain"}, outcome.CodeInvalid},
		{[]string{"gate", dir, "--require", "lock-drain", "--require", "queue-drain"}, outcome.CodeInvalid},
	} {
		prints(t, tt.want, "", tt.args...)
	}
	prints(t, outcome.CodeInvalid, "blocking-drain: there is no result of this scenario", "gate", dir, "--require", "exact")
	must.Do(t, os.Remove(filepath.Join(dir, "lock-drain_lock-znode_n4_r1.json")))
	prints(t, outcome.CodeInvalid, "znode with 4 clients has 0 of 1 repeats", "gate", dir)
}

// The newest run is the one that started last, even if files of another were changed later. In CI, it must be named.
func TestGateOfTheNewestRun(t *testing.T) {
	outsideCI(t)
	t.Chdir(t.TempDir())
	newest := filepath.Join(defaultRuns, "20260102T030405Z-ab12")
	for _, dir := range []string{newest, filepath.Join(defaultRuns, "20251231T235959Z-ffff"), filepath.Join(defaultRuns, "zzz")} {
		must.Do(t, os.MkdirAll(dir, 0o755))
	}
	must.Do(t, os.Rename(drained(t), filepath.Join(defaultRuns, "new")))
	must.Do(t, errors.Join(os.Remove(newest), os.Rename(filepath.Join(defaultRuns, "new"), newest)))
	touched := filepath.Join(defaultRuns, "20251231T235959Z-ffff", "plot.png")
	must.Do(t, os.WriteFile(touched, nil, 0o644))
	prints(t, outcome.CodePass, "checked "+newest+", measured at 20", "gate")
	for _, name := range []string{"CI", "GITHUB_ACTIONS"} {
		outsideCI(t)
		t.Setenv(name, "true")
		says(t, outcome.CodeUsage, "which RESULT?", "gate")
	}
}

// The verdict of an earlier gate is removed even if this gate fails early. Input files are kept.
func TestGateRemovesEarlierVerdicts(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"g.json", "g.xml", "r.yaml"} {
		must.Do(t, os.WriteFile(name, []byte("x"), 0o644))
	}
	says(t, outcome.CodeUsage, "", "gate", "x", "--rules", "r.yaml", "--json", "g.json", "--junit", "g.xml")
	if left, err := filepath.Glob("g.*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	says(t, outcome.CodeUsage, "is also an input", "gate", "x", "--rules", "r.yaml", "--json", "./r.yaml")
	if _, err := os.Stat("r.yaml"); err != nil {
		t.Error(err)
	}
	result := filepath.Join("d", "a_n1_r1.json")
	must.Do(t, errors.Join(os.Mkdir("d", 0o755), os.WriteFile(result, nil, 0o644)))
	says(t, outcome.CodeUsage, "is also an input", "gate", "d", "--json", result)
	if _, err := os.Stat(result); err != nil {
		t.Error(err)
	}
}

// `make gate` checks only the results that it has measured.
func TestMakeGate(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make")
	}
	if _, err := os.ReadFile("../../Makefile"); err != nil { // read here, too, so that go test knows what its result depends on
		t.Fatal(err)
	}
	fake := filepath.Join(t.TempDir(), "zkbench")
	script := "#!/bin/sh\nif [ $1 = gate ]; then echo judged \"$@\"; exit 0; fi\necho its last words\nexit $FAKE_CODE\n"
	must.Do(t, os.WriteFile(fake, []byte(script), 0o755))
	for code, judged := range map[int]bool{0: true, 1: false, 2: false, 3: true, 4: false, 5: true, 130: false} {
		cmd := exec.CommandContext(t.Context(), "make", "-C", "../..", "-o", "build", "gate", "ZKBENCH="+fake)
		cmd.Env = append(os.Environ(), fmt.Sprintf("FAKE_CODE=%d", code), "MAKEFLAGS=")
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "judged gate") != judged || (err == nil) != judged {
			t.Errorf("a run that exits with %d: %v\n%s", code, err, out)
		}
		if code != 0 && !strings.Contains(string(out), "its last words") || judged && !strings.Contains(string(out), "--require exact ") {
			t.Errorf("a run that exits with %d says\n%s", code, out)
		}
	}
}

// swapped returns all recipes, with a predecessor-watch that works like children-watch. With formulas, its formulas are
// changed, too.
func swapped(formulas bool) []variants.Recipe {
	recipes := catalog.Recipes()
	recipe := recipes[slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == "lock" })]
	variant := func(name string) *variants.Variant {
		return &recipe.Variants[slices.IndexFunc(recipe.Variants, func(v variants.Variant) bool { return v.Name == name })]
	}
	good, herd := variant("predecessor-watch"), variant("children-watch")
	good.Join = herd.Join
	if formulas {
		good.Lockstep, good.Free = herd.Lockstep, herd.Free
	}
	return recipes
}

// measurement skips a test with -short if it measures, which takes up to a minute.
func measurement(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a measurement")
	}
}

// planted runs a scenario of the given recipes on the embedded server and returns the folder of its results.
func planted(t *testing.T, s scenarios.Scenario, recipes []variants.Recipe) (dir string) {
	t.Helper()
	measurement(t)
	dir = t.TempDir()
	plant(t, ensembletest.Embedded(t, embedded.Config{}), s, recipes, dir)
	return dir
}

// plantedInMemory is planted in virtual time, which a busy machine does not affect. It does not support open loads, which wait
// for the real clock.
func plantedInMemory(t *testing.T, s scenarios.Scenario, recipes []variants.Recipe) (dir string) {
	t.Helper()
	measurement(t)
	dir = t.TempDir()
	ensembletest.Bubble(t, embedded.Config{ReadDelay: 1100 * time.Microsecond, WriteDelay: 2300 * time.Microsecond}, func(t *testing.T, e *embedded.Ensemble) {
		plant(t, e, s, recipes, dir)
	})
	return dir
}

func plant(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario, recipes []variants.Recipe, dir string) {
	t.Helper()
	runner := runner.Runner{
		Ensemble: e, Recipes: recipes, Run: "plant",
		Progress: func(int, int, string) {},
		Save:     func(d *results.Document) error { return store.Write(d, dir) },
	}
	must.Do(t, runner.RunScenario(t.Context(), s))
}

// unguarded returns the recipes with a lock that admits so many clients at once in its first measurement.
func unguarded(clients int64) []variants.Recipe {
	recipes := catalog.Recipes()
	i := slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == "lock" })
	v := &recipes[i].Variants[slices.IndexFunc(recipes[i].Variants, func(v variants.Variant) bool { return v.Name == "predecessor-watch" })]
	join := v.Join
	var holders atomic.Int64
	all := make(chan struct{})
	v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		own, err := env.Session.Conn().Create(env.Root+"/own-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
		env.Root = own
		env.Hold = func(context.Context, <-chan struct{}) error {
			if holders.Add(1) == clients {
				close(all)
			}
			<-all
			return nil
		}
		if err != nil {
			return nil, err
		}
		return join(ctx, env)
	}
	return recipes
}

// A promise that is broken in a rehearsal, which is shorter than the load and has no floor, counts as broken. Its result
// contradicts neither itself nor the others.
func TestGateOnABrokenRehearsal(t *testing.T) {
	t.Parallel()
	s := scenarios.Default()
	s.Name, s.Question, s.Recipe, s.Clients, s.Repeats = "broken", "is a rehearsal read?", "lock", []int{3}, 1
	s.Variants, s.WarmUp, s.Duration = []string{"predecessor-watch", "znode"}, 0, 1500*time.Millisecond
	dir := planted(t, s, unguarded(3))
	must.Get(os.Stat(filepath.Join(dir, "broken_lock-predecessor-watch_n3_r0.json")))(t)
	e := gate.Read([]string{dir})
	r := gate.Evaluate(e, gate.Rules{})
	if len(e.Unreadable) > 0 || len(e.Documents) != 3 || r.Code != outcome.CodeBroken {
		t.Errorf("%d documents, unreadable %v, exit code %d", len(e.Documents), e.Unreadable, r.Code)
	}
	for _, c := range r.Checks {
		if strings.Contains(c.Why, "differ in") {
			t.Errorf("%+v", c)
		}
	}
}

// The gate fails after a change that replaces the optimized lock by the one with a herd.
func TestGateCatchesAHerd(t *testing.T) {
	t.Parallel()
	baselines := must.Get(filepath.Abs("../../" + defaultBaselines))(t)
	drain := must.Get(scenarios.Load("lock-drain", catalog.Recipes()))(t)
	drain.Repeats = 1
	herd := plantedInMemory(t, drain, swapped(true))
	for _, args := range [][]string{{"gate", herd}, {"gate", herd, "--baseline", baselines}} {
		prints(t, outcome.CodeRegression, "predecessor-watch", args...)
	}
	// If the formulas stay what they were, the counts deviate from them, too, and cannot become a baseline.
	unlike := plantedInMemory(t, drain, swapped(false))
	prints(t, outcome.CodeRegression, "of the variant's formula", "gate", unlike)
	if _, stderr, code := command(t.Context(), "baseline", "save", unlike, "--dir", t.TempDir()); code != outcome.CodeInvalid || !strings.Contains(stderr, "correct the recipe or the formula first") {
		t.Errorf("baseline save: exit code %d, %s", code, stderr)
	}
	// The bounds of a free-running load do not depend on the code.
	s := scenarios.Default()
	s.Name, s.Recipe, s.Variants, s.Clients, s.Operations, s.Repeats = "mine", "lock", []string{"predecessor-watch"}, []int{8}, 20, 1
	s.Hold = time.Millisecond
	own := t.TempDir()
	says(t, outcome.CodePass, "", "baseline", "save", plantedInMemory(t, s, catalog.Recipes()), "--dir", own)
	prints(t, outcome.CodeRegression, "", "gate", plantedInMemory(t, s, swapped(false)), "--baseline", own)
}

func TestGateRulesAndOutputs(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GITHUB_ACTIONS", "true")
	dir := drained(t)
	const rules = "- {scenario: lock-*, check: children-watch herd-max <= 1}\n- {scenario: lock-drain, check: violations == 0}\n"
	must.Do(t, os.WriteFile("rules.yaml", []byte(rules), 0o644))
	stdout, _, code := command(t.Context(), "gate", dir, "--rules", "rules.yaml", "--json", "g.json", "--junit", "g.xml", "--markdown", "g.md", "--benchfmt", "g.txt")
	if code != outcome.CodeRegression || strings.Count(stdout, "::error title=regression::lock-drain, children-watch, 4 clients: herd-max <= 1 does not hold: it is 3, against 1") != 1 {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	short := strings.Count(stdout, "\n")
	stdout, _, _ = command(t.Context(), "gate", dir, "--rules", "rules.yaml", "--verbose")
	if long := strings.Count(stdout, "\n"); long < short+20 || !strings.Contains(stdout, "metrics present") {
		t.Errorf("%d lines, and verbosely %d:\n%s", short, long, stdout)
	}
	for _, file := range []string{"g.json", "g.xml", "g.md", "g.txt"} {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestBaselineSave(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := drained(t)
	prints(t, outcome.CodePass, fmt.Sprintf("lock-drain.json: %d rows", drainVariants(t)), "baseline", "save", dir)
	file := filepath.Join(defaultBaselines, "lock-drain.json")
	saved := must.Get(os.ReadFile(file))(t)
	must.Do(t, os.WriteFile(file, []byte(strings.Replace(string(saved), `"herd-max": 3`, `"herd-max": 2`, 1)), 0o644))
	prints(t, outcome.CodePass, "", "baseline", "save", dir)
	if again, err := os.ReadFile(file); err != nil || string(again) != string(saved) {
		t.Errorf("saved over another baseline (%v):\n%s\nwant\n%s", err, again, saved)
	}
}
