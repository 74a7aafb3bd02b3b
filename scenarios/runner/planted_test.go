package runner_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/planted"
)

// plantedBug is a broken variant, and the schedule of faults that shows it.
type plantedBug struct {
	recipe  string
	variant variants.Variant
	faults  []string
	timeout time.Duration
	window  time.Duration
	want    string // part of a violation
}

// plantedBugs returns each broken variant under the faults that its mistake is about.
func plantedBugs() []plantedBug {
	const inVain = "still wait when all faults are over"
	lost := []string{"cut: any, after: create, every: 100ms", "cut: any, after: multi, every: 100ms"}
	const short, long = time.Second, 4 * time.Second // after a cut, the client library waits for a second before it tries the same server again
	stop, expire := []string{"stop: holder, at: 500ms"}, []string{"expire: holder, every: 200ms"}
	return []plantedBug{
		{"lock", planted.NonEphemeralLock(), stop, short, 3 * time.Second, inVain},
		{"lock", planted.DeafSuccessorLock(), stop, short, 3 * time.Second, inVain},
		{"lock", planted.UndyingHolderLock(), expire, short, 3 * time.Second, "went on holding the lock"},
		{"lock", planted.StaleTokenLock(), expire, short, 3 * time.Second, "was granted fencing token"},
		// An item must be free again after twice the time that its taker is away. The faults are out of step with the ticks of the server.
		{"queue", planted.LastingClaims(), []string{"stop: holder, every: 430ms"}, short, 48 * time.Second, "it was not free again"},
		{"queue", planted.LastingMarks(), []string{"stop: holder, every: 430ms"}, short, 48 * time.Second, "it was not free again"},
		{"queue", planted.RepeatedWrites(), lost, long, 3 * time.Second, "took item"},
		{"enqueue", planted.UnmarkedItems(), lost, long, 3 * time.Second, "in the queue 2 times"},
		{"masterworker", planted.ForgottenWorkers(), []string{"stop: worker, at: 500ms"}, short, 3 * time.Second, "was never executed"},
	}
}

// Each broken variant is caught by a run with faults. The sound variant that it was made of is not, see TestFaultMatrix.
func TestPlantedBugs(t *testing.T) {
	for i, bug := range plantedBugs() {
		t.Run(bug.variant.Name, func(t *testing.T) {
			ensembletest.Sample(t)
			t.Parallel()
			bubbleOn(t, quickTicks, func(t *testing.T, e *embedded.Ensemble) {
				bug := plantedBugs()[i] // made in the bubble
				if !bug.caught(t, e) {
					t.Errorf("no violation with %q in %s", bug.want, bug.window)
				}
			})
		})
	}
}

// caught reports whether a run catches the bug.
func (b plantedBug) caught(t *testing.T, e ensemble.Ensemble) bool {
	t.Helper()
	s := b.scenario(t)
	recipe := *s.RecipeAmong(catalog.Recipes())
	recipe.Variants = []variants.Variant{b.variant}
	violations, err := breaches(t, e, s, recipe)
	if err != nil {
		t.Logf("the run ended with %v", err)
	}
	for _, v := range violations {
		t.Logf("at %s: %s", v.At, v.Text)
	}
	return slices.ContainsFunc(violations, func(v results.Violation) bool { return strings.Contains(v.Text, b.want) })
}

// scenario is a load in which the fault of the bug happens.
func (b plantedBug) scenario(t *testing.T) scenarios.Scenario {
	t.Helper()
	s := faulty(b.recipe, 4, schedule(t, b.faults...))
	s.SessionTimeout, s.Duration = scenarios.Duration(b.timeout), scenarios.Duration(b.window)
	return s
}

// breaches returns the violations of a run, whether or not it was completed.
func breaches(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario, recipe variants.Recipe) ([]results.Violation, error) {
	t.Helper()
	var found []results.Violation
	r := runner.Runner{
		Ensemble: e,
		Recipes:  []variants.Recipe{recipe},
		Run:      "planted",
		Save:     func(d *results.Document) error { found = append(found, d.Violations...); return nil },
		Progress: func(int, int, string) {},
	}
	err := r.RunScenario(t.Context(), s)
	if broken := new(runner.BrokenError); errors.As(err, &broken) {
		found = append(found, broken.Document.Violations...)
	}
	return found, err
}
