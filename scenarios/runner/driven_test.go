package runner_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/drivers"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// driven names the variants of a recipe that have a driver. It skips the test if their libraries are not installed.
func driven(t *testing.T, recipe variants.Recipe, among []variants.Variant) (names []string) {
	t.Helper()
	for _, v := range among {
		if v.Driver == nil {
			continue
		}
		err := drivers.CheckRunnable(recipe.Name, v)
		if err != nil {
			err = fmt.Errorf("%w: %w", ensemble.ErrUnavailable, err)
		}
		ensembletest.Require(t, err)
		names = append(names, v.Name)
	}
	return names
}

// inTurns runs a test of libraries in parallel with tests on real servers. Each starts processes, so that there are at most as many at a
// time as CPUs.
func inTurns(t *testing.T) {
	t.Helper()
	t.Parallel()
	bubbles <- struct{}{}
	t.Cleanup(func() { <-bubbles })
}

// The costs of libraries in other languages equal their formulas: the requests are counted exactly, which the server confirms, and the
// promise is kept. A variant in Go is measured beside them in the same way.
func TestLiveDrivers(t *testing.T) {
	t.Parallel()
	for _, recipe := range catalog.Recipes() {
		t.Run(recipe.Name, func(t *testing.T) {
			inTurns(t)
			checkDriven(t, recipe, driven(t, recipe, recipe.Libraries), 1, 10)
			checkDriven(t, recipe, driven(t, recipe, recipe.Broken), 1) // more clients may break the promise
		})
	}
}

func checkDriven(t *testing.T, recipe variants.Recipe, names []string, clients ...int) {
	t.Helper()
	if len(names) == 0 {
		return
	}
	s := closedOf(recipe.Name, 0, append(slices.Clone(names), recipe.Variants[len(recipe.Variants)-1].Name)...)
	s.Clients, s.Operations = clients, 20
	for _, d := range undisturbed(t, s) {
		label := fmt.Sprintf("%s/%s, %d clients", d.Recipe, d.Variant, d.Clients)
		checkSound(t, d)
		if !d.Oracle.Checked || !d.Scenario.Tunnelled {
			t.Errorf("%s: oracle %+v, tunnelled %t", label, d.Oracle, d.Scenario.Tunnelled)
		}
		if (d.Driver != nil) != (d.Kind == string(variants.Library)) || d.Driver != nil && (d.Driver.PipeP50 <= 0 || d.Driver.PipeP99 < d.Driver.PipeP50) {
			t.Errorf("%s: driver %+v", label, d.Driver)
		}
		checkDrivenCosts(t, label, d)
	}
}

// undisturbed measures a scenario, and again if a session had to reconnect without a fault, or if a fault found no client in the state
// that it needs. On a busy machine, kazoo may get no CPU for so long that it takes a connection to be lost. Some libraries report that
// to their caller, so that the load fails.
//
// The server removes no empty container, as it would once a minute: the sequence numbers below it would begin again, and with them the
// fencing tokens that zkbench reads out of Curator's znodes.
func undisturbed(t *testing.T, s scenarios.Scenario) []*results.Document {
	t.Helper()
	disturbed := func(d *results.Document) bool {
		return len(s.Faults) == 0 && d.Health.Reconnects > 0 || d.Failure != nil && d.Failure.Missed > 0
	}
	for attempt := 1; ; attempt++ {
		var docs []*results.Document
		e := ensembletest.Embedded(t, embedded.Config{Reap: time.Hour})
		err := measure(t.Context(), t, e, s, catalog.Recipes(), func(d *results.Document) { docs = append(docs, d) })
		switch {
		case err != nil && attempt == 3:
			t.Fatal(err)
		case err == nil && (attempt == 3 || !slices.ContainsFunc(docs, disturbed)):
			return docs
		}
		t.Logf("attempt %d: %v", attempt, cmp.Or(err, errors.New("a session had to reconnect, or a fault met no client")))
	}
}

// checkDrivenCosts compares counts with the formulas of a closed load, which are exact for one client and upper bounds otherwise.
func checkDrivenCosts(t *testing.T, label string, d *results.Document) {
	t.Helper()
	for name, cost := range d.Expected.Costs {
		got := d.Metrics[name].Value
		if got > cost.Value || d.Clients == 1 && name != metric.HerdMax && got != cost.Value {
			t.Errorf("%s: %s is %v, by the formula %v", label, name, got, cost.Value)
		}
	}
}

// A load of a library that is known to be broken is found to stand still. The readers of kazoo's lock wait for later writers, so that
// ten clients are soon stuck.
func TestLiveDriversThatStandStill(t *testing.T) {
	inTurns(t)
	s := closedOf("rwlock", 10)
	s.Operations = 1000
	recipe := *s.RecipeAmong(catalog.Recipes())
	s.Variants = driven(t, recipe, recipe.Broken)
	s.Broken = s.Variants
	for _, d := range mustMeasure(t, ensembletest.Embedded(t, embedded.Config{}), s, catalog.Recipes()) {
		stuck := func(v results.Violation) bool {
			return strings.Contains(v.Text, "stuck: 10 of 10 clients wait for notifications")
		}
		if d.Unfinished == nil || !slices.ContainsFunc(d.Violations, stuck) {
			t.Errorf("%s: violations %v, unfinished %+v; want a load that stands still", d.Variant, d.Violations, d.Unfinished)
		}
	}
}

// When the session of a client of a library expires, when replies are lost, and when its process dies, the promise is kept, and the client
// comes back with a new session.
func TestLiveDriversUnderFaults(t *testing.T) {
	t.Parallel()
	for _, recipe := range catalog.Recipes() {
		t.Run(recipe.Name, func(t *testing.T) {
			inTurns(t)
			failDriven(t, recipe, driven(t, recipe, recipe.Libraries))
		})
	}
}

func failDriven(t *testing.T, recipe variants.Recipe, names []string) {
	t.Helper()
	if len(names) == 0 {
		return
	}
	s := closedOf(recipe.Name, 4, names...)
	s.Hold, s.SessionTimeout = 5*time.Millisecond, 4*time.Second
	s.Duration = 14 * time.Second // a client that has stopped dead keeps the lock until its session has run out
	s.Faults = schedule(t, "expire: holder, at: 500ms", "cut: any, after: delete, at: 1500ms",
		"cut: any, after: create, at: 2500ms", "stop: holder, at: 3500ms")
	for _, d := range undisturbed(t, s) {
		if len(d.Violations) > 0 || d.Failure == nil || len(d.Failure.Faults) != len(s.Faults) {
			t.Errorf("%s: violations %v, failure %+v", d.Variant, d.Violations, d.Failure)
		}
	}
}
