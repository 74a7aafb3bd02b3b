package runner_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/container"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// The environment variables of a soak, which `make soak` sets.
const (
	soakVariable        = "ZKBENCH_SOAK"         // how long, such as 30m; without it there is none
	soakSeedVariable    = "ZKBENCH_SOAK_SEED"    // chooses the scenarios and the faults; 1 if it is empty
	soakRecipesVariable = "ZKBENCH_SOAK_RECIPES" // separated by commas; all if it is empty
)

// Random faults from a seed happen to every recipe on containers: each variant keeps its promises, and nothing is left behind.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(cmp.Or(os.Getenv(soakVariable), "0s"))
	seed, seedErr := strconv.ParseUint(cmp.Or(os.Getenv(soakSeedVariable), "1"), 10, 64)
	switch {
	case err != nil || seedErr != nil:
		t.Fatal(errors.Join(err, seedErr))
	case length == 0:
		t.Skipf("no soak: set %s=30m, or run `make soak`", soakVariable)
	}
	name := ensembletest.Name() + "-soak"
	e, err := container.Up(t.Context(), ensemble.Options{Name: name, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	closeEnsemble := func() error { return e.Close(context.WithoutCancel(t.Context())) }
	t.Cleanup(func() { _ = closeEnsemble() }) // if the test ends before; the second time has no effect
	goroutines := runtime.NumGoroutine()
	s := soak{ensemble: e, recipes: soakRecipes(t), seed: seed, kinds: faults.Kinds(), broken: map[string]int{}, caused: map[string]int{}}
	s.run(t, length)
	s.summarize(t)
	ensembletest.AwaitNoZnodes(t, e.Servers())
	awaitGoroutines(t, goroutines)
	if err := closeEnsemble(); err != nil {
		t.Error(err)
	}
	if left, err := container.Inventory(t.Context(), name); err != nil || left.Any() {
		t.Errorf("the soak left %s behind (%v)", left, err)
	}
}

func soakRecipes(t *testing.T) []variants.Recipe {
	t.Helper()
	recipes, text := catalog.Recipes(), os.Getenv(soakRecipesVariable)
	if text == "" {
		return recipes
	}
	var some []variants.Recipe
	for name := range strings.SplitSeq(text, ",") {
		i := slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == name })
		if i < 0 {
			t.Fatalf("%s: there is no recipe %q", soakRecipesVariable, name)
		}
		some = append(some, recipes[i])
	}
	return some
}

// awaitGoroutines returns when there are no more goroutines than before, which end a moment after the sessions that they served.
func awaitGoroutines(t *testing.T, before int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			_ = pprof.Lookup("goroutine").WriteTo(os.Stdout, 1)
		}
	}()
	ensembletest.Await(t, func() string {
		if n := runtime.NumGoroutine(); n > before {
			return fmt.Sprintf("%d goroutines, %d before the soak", n, before)
		}
		return ""
	})
}

// soak runs random scenarios one after another, and sums up their results.
type soak struct {
	ensemble ensemble.Ensemble
	recipes  []variants.Recipe
	seed     uint64
	kinds    []faults.Kind // that the ensemble can cause

	measured, violations       int
	invalid, unexcused         int // measurements
	operations, failed, missed int64
	caused                     map[string]int // faults by kind
	broken                     map[string]int // measurements with violations by variant
	worst                      time.Duration  // recovery
	worstOf                    string
	began                      time.Time
}

// run measures until the time is over. Recipes take turns, so that a short soak omits as few as possible.
func (s *soak) run(t *testing.T, length time.Duration) {
	s.began = time.Now()
	for i := 0; time.Since(s.began) < length; i++ {
		scenario := s.scenario(i)
		if err := s.measure(t, scenario); err != nil {
			t.Errorf("%s: %v\n\trepeat it with: %s", scenario.Name, err, repeatCommand(scenario, scenario.Variants))
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			err := ensemble.AwaitQuorum(ctx, s.ensemble.Servers(), nil)
			cancel()
			if err != nil {
				t.Fatalf("the ensemble does not recover: %v", err)
			}
		}
	}
}

// measure runs a scenario, and prints a line for each of its measurements.
func (s *soak) measure(t *testing.T, scenario scenarios.Scenario) error {
	var texts []string
	for _, f := range scenario.Faults {
		texts = append(texts, f.String())
	}
	t.Logf("%s: seed %d, %d clients, %s, {%s}", scenario.Name, scenario.Seed, scenario.Clients[0], scenario.Duration, strings.Join(texts, "} {"))
	r := runnerOf(t, s.ensemble, s.recipes, func(d *results.Document) { s.add(t, scenario, d) })
	r.Run = scenario.Name
	r.ShortenFloors()
	err := r.RunScenario(t.Context(), scenario)
	if broken := new(runner.BrokenError); errors.As(err, &broken) && !broken.Document.EndedByBreach() { // else it was saved
		s.breach(t, scenario, broken.Document)
	}
	return err
}

// add counts a measurement, prints its line, and reports broken promises and unexplained reasons for invalid numbers.
func (s *soak) add(t testing.TB, scenario scenarios.Scenario, d *results.Document) {
	s.measured++
	f := cmp.Or(d.Failure, &results.Failure{})
	for _, one := range f.Faults {
		s.caused[one.Kind]++
		if one.Recovery > s.worst {
			s.worst, s.worstOf = one.Recovery, fmt.Sprintf("%s after %s, in %s", d.Variant, one.Label(), scenario.Name)
		}
	}
	s.operations += d.Window.Operations
	s.failed += f.FailedOperations
	s.missed += f.Missed
	if len(d.Invalid) > 0 {
		s.invalid++
	}
	losses := maps.Clone(f.Losses)
	maps.DeleteFunc(losses, func(_ string, n int64) bool { return n == 0 })
	t.Logf("  %s/%s: %d operations, %d faults, %d missed, %d failed, unavailable %s, losses %v, %d violations %s", d.Recipe, d.Variant, d.Window.Operations,
		len(f.Faults), f.Missed, f.FailedOperations, f.Unavailable.Round(time.Millisecond), losses, len(d.Violations), strings.Join(d.Invalid, "; "))
	if reasons := unexcused(d); len(reasons) > 0 {
		s.unexcused++
		t.Errorf("%s/%s is invalid in %s, and its faults do not explain it: %s; repeat it with: %s", d.Recipe, d.Variant, scenario.Name,
			strings.Join(reasons, "; "), repeatCommand(scenario, []string{d.Variant}))
	}
	if len(d.Violations) > 0 {
		s.breach(t, scenario, d)
	}
}

// breach reports a broken promise with the command that repeats it.
func (s *soak) breach(t testing.TB, scenario scenarios.Scenario, d *results.Document) {
	s.violations += len(d.Violations)
	s.broken[d.Recipe+"/"+d.Variant]++
	for _, v := range d.Violations[:min(len(d.Violations), 3)] {
		t.Errorf("%s/%s: at %s %s", d.Recipe, d.Variant, v.At, v.Text)
	}
	t.Errorf("%s/%s broke its promise in %s; repeat it with: %s", d.Recipe, d.Variant, scenario.Name, repeatCommand(scenario, []string{d.Variant}))
}

func (s *soak) summarize(t *testing.T) {
	t.Logf("seed %d: %d measurements in %s, %d operations, %d failed, faults %v, %d missed; %d violations %v; %d invalid, %d of them unexplained; worst recovery %s (%s)",
		s.seed, s.measured, time.Since(s.began).Round(time.Second), s.operations, s.failed, s.caused, s.missed, s.violations, s.broken, s.invalid, s.unexcused,
		s.worst.Round(time.Millisecond), s.worstOf)
}

// repeatCommand returns the command that runs the scenario for some variants again, by means of a scenario of the same recipe.
func repeatCommand(s scenarios.Scenario, some []string) string {
	command := fmt.Sprintf("zkbench run %s --variants %s --clients %d --duration %s --warm-up 0s --size 1 --hold %s --think %s --seed %d --session-timeout %s --roam=%t",
		closedScenario(s.Recipe), strings.Join(some, ","), s.Clients[0], s.Duration, s.Hold, s.Think, s.Seed,
		s.SessionTimeout, s.Roam)
	for _, f := range s.Faults {
		command += fmt.Sprintf(" --fault '%s'", f)
	}
	return command
}

// closedScenario returns the name of a scenario that loads a recipe in closed mode. If there is none, it asks for one.
func closedScenario(recipe string) string {
	recipes := catalog.Recipes()
	for _, name := range scenarios.Names() {
		if s, err := scenarios.Load(name, recipes); err == nil && s.Recipe == recipe && s.Mode == scenarios.Closed && s.AtMost == 0 && s.Background == nil {
			return name
		}
	}
	return fmt.Sprintf("<a file with recipe: %s, mode: closed>", recipe)
}

// The limits of the random choices of a soak.
const (
	soakTimeout      = 4 * time.Second  // the shortest that the servers grant
	soakFixedTimeout = 30 * time.Second // of clients that cannot join again: longer than a server takes to come back
	soakFaults       = 4
	soakAttempts     = 1000 // at a fault that fits to the others
	soakShortest     = 8 * time.Second
	soakLongest      = 15 * time.Second
	fewestSoakers    = 3
	mostSoakers      = 10
	soakResolution   = 100 * time.Millisecond
)

type soakDice struct{ *rand.Rand }

// between returns a time from a to b in steps of the resolution.
func (d soakDice) between(a, b time.Duration) time.Duration {
	return a + time.Duration(d.Int64N(int64((b-a)/soakResolution)+1))*soakResolution
}

func one[T any](d soakDice, of ...T) T { return of[d.IntN(len(of))] }

// scenario returns the i-th scenario of the soak, which depends on nothing else but the seed and the recipes.
func (s *soak) scenario(i int) scenarios.Scenario {
	d := soakDice{rand.New(rand.NewPCG(s.seed, uint64(i)))}
	recipe := s.recipes[s.turn(i)]
	out := scenarios.Default()
	out.Name, out.Recipe, out.Repeats, out.Seed = fmt.Sprintf("soak-%d-%d", s.seed, i), recipe.Name, 1, uint64(d.IntN(1_000_000))
	out.Size = recipe.UsualSize()
	out.Clients = []int{fewestSoakers + d.IntN(mostSoakers-fewestSoakers+1)}
	out.Duration, out.SessionTimeout = d.between(soakShortest, soakLongest), soakTimeout
	out.Hold, out.Think = one(d, 0, 2*time.Millisecond, 120*time.Millisecond), one(d, time.Millisecond, 20*time.Millisecond)
	out.Roam = d.IntN(2) == 0
	if recipe.Fixed {
		out.SessionTimeout = soakFixedTimeout
	}
	for _, v := range d.Perm(len(recipe.Variants))[:min(1+d.IntN(2), len(recipe.Variants))] {
		out.Variants = append(out.Variants, recipe.Variants[v].Name)
	}
	s.addFaults(d, recipe, &out)
	return out
}

// turn returns the recipe of the i-th scenario. In each round, every recipe has one in random order.
func (s *soak) turn(i int) int {
	round := i / len(s.recipes)
	return rand.New(rand.NewPCG(^s.seed, uint64(round))).Perm(len(s.recipes))[i%len(s.recipes)]
}

// addFaults adds a number of faults that can happen to the scenario.
func (s *soak) addFaults(d soakDice, recipe variants.Recipe, to *scenarios.Scenario) {
	wanted := 1 + d.IntN(soakFaults)
	var names []string
	for _, server := range s.ensemble.Servers() {
		names = append(names, server.Name)
	}
	can := faults.Ability{Engine: "soak", Kinds: s.kinds, Servers: names}
	for range soakAttempts {
		if len(to.Faults) == wanted {
			return
		}
		before := to.Faults
		f, err := faults.Parse(d.fault(s.kinds, recipe.Roles, *to).String()) // finds the mistakes of a fault by itself
		if err != nil {
			continue
		}
		to.Faults = append(slices.Clone(before), f)
		if len(to.Validate(s.recipes)) > 0 || faults.Unable(to.Faults, soakTimeout, can) != nil {
			to.Faults = before
		}
	}
}

// fault returns a fault that may not fit into the scenario.
func (d soakDice) fault(kinds []faults.Kind, roles []string, s scenarios.Scenario) faults.Fault {
	f := faults.Fault{Kind: one(d, kinds...)}
	f.Whom = one(d, faults.Whom(f.Kind, roles)...)
	if _, numbered := f.Client(); numbered {
		f.Whom = fmt.Sprintf("client %d", d.IntN(s.Clients[0]))
	}
	window := s.Duration
	f.At = d.between(soakResolution, window)
	if d.IntN(2) == 0 {
		f.Every = d.between(2*soakResolution, window/2)
	}
	if f.Kind.OfServer() || f.Kind == faults.Deaf {
		f.For = d.between(5*soakResolution, window/2)
	}
	if f.Kind == faults.Cut {
		op := one(d, "create", "delete", "setData", "multi", "getChildren", "exists", "getData")
		switch d.IntN(3) {
		case 0:
			f.Before = op
		case 1:
			f.After = op
		}
	}
	return f
}

// A soak has every recipe and every fault, and all its scenarios are valid.
func TestSoakScenarios(t *testing.T) {
	s := soak{ensemble: ensembletest.Embedded(t, quickTicks), recipes: catalog.Recipes(), seed: 1, kinds: faults.ClientKinds()}
	seen := map[string]int{}
	for i := range 20 * len(s.recipes) {
		scenario := s.scenario(i)
		for _, p := range scenario.Validate(s.recipes) {
			t.Errorf("%s: %s: %s", scenario.Name, p.Field, p.Text)
		}
		if len(scenario.Faults) == 0 {
			t.Errorf("%s: nothing fails", scenario.Name)
		}
		seen[scenario.Recipe]++
		for _, f := range scenario.Faults {
			seen[string(f.Kind)]++
		}
	}
	for _, recipe := range s.recipes {
		if seen[recipe.Name] != 20 {
			t.Errorf("%d scenarios of %s, want 20", seen[recipe.Name], recipe.Name)
		}
	}
	for _, k := range s.kinds {
		if seen[string(k)] == 0 {
			t.Errorf("no fault is a %s", k)
		}
	}
}
