package runner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// Each mode has a floor beside every measurement, which leaves neither sessions nor znodes and which no oracle sees.
func everyMeasurementHasAFloor(t *testing.T, e ensemble.Ensemble) {
	byDuration := scenarios.Default()
	byDuration.Name, byDuration.Recipe, byDuration.Clients, byDuration.Repeats = "free", "lock", []int{3}, 2
	byDuration.Duration = time.Minute // at most; see measureBriefly
	for _, s := range []scenarios.Scenario{byDuration, uncontended(), lockstepOf(3)} {
		s.Variants = []string{"predecessor-watch"}
		before := ensembletest.Connections(t, e.Servers())
		docs := measureBriefly(t, e, s)
		if len(docs) != s.Repeats {
			t.Fatalf("%s: %d documents for %d repeats", s.Name, len(docs), s.Repeats)
		}
		for _, d := range docs {
			checkFloor(t, d)
		}
		ensembletest.AwaitConnections(t, e.Servers(), before)
		nothingLeft(t, e)
	}
}

func checkFloor(t *testing.T, d *results.Document) {
	t.Helper()
	if d.Floor == nil || d.Floor.Why != "" {
		t.Fatalf("%s: floor %+v", d.Scenario.Name, d.Floor)
	}
	for _, half := range []map[string]results.Histogram{d.Floor.Before, d.Floor.After} {
		for _, operation := range []string{results.FloorRead, results.FloorWrite, results.FloorHandoff} {
			if half[operation].Samples == 0 {
				t.Errorf("%s: no %s in %+v", d.Scenario.Name, operation, d.Floor)
			}
			if d.Metrics[metric.Floor(operation)].Value <= 0 {
				t.Errorf("%s: no metric of %s", d.Scenario.Name, operation)
			}
		}
	}
	_, timed := d.Metrics["handoff-p50-ns"]
	if _, multiple := d.Metrics[metric.FloorMultiple("handoff")]; timed != multiple {
		t.Errorf("%s: a handoff was timed: %t, in multiples of the floor: %t", d.Scenario.Name, timed, multiple)
	}
	checkSound(t, d)
	if !d.Oracle.Checked {
		t.Errorf("%s: oracle %+v", d.Scenario.Name, d.Oracle)
	}
}

// A floor that cannot be measured says why, and the measurement continues without it.
func TestAFailedFloorFailsNothing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault embedded.Fault
	}{
		{"the first write", embedded.Fault{Op: wire.OpSetData, Do: embedded.DropAfter}},
		{"the first read", embedded.Fault{Op: wire.OpGetData, Do: embedded.DropBefore}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := lockstepOf(3)
			s.Variants = []string{"znode"}
			var d *results.Document
			bubble(t, func(t *testing.T, e *embedded.Ensemble) {
				trap := e.Inject(tt.fault)
				d = mustMeasure(t, e, s, catalog.Recipes())[0]
				<-trap.Fired()
			})
			warned := slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.HasPrefix(w, "the floor was not measured: client ") })
			if d.Floor == nil || d.Floor.Why == "" || !warned {
				t.Errorf("floor %+v, warnings %q", d.Floor, d.Warnings)
			}
			checkSound(t, d)
			for name := range d.Metrics {
				if m := metric.Named(name); m.Ensemble || m.OfFloor() {
					t.Errorf("a floor that was not measured has the metric %s", name)
				}
			}
		})
	}
}

// Every floor that a recipe names for a phase is measured.
func TestPhasesHaveFloorsThatAreMeasured(t *testing.T) {
	known := []variants.Floor{"", results.FloorRead, results.FloorWrite, results.FloorHandoff}
	found := 0
	for _, recipe := range catalog.Recipes() {
		for _, p := range recipe.Phases {
			if !slices.Contains(known, p.Floor) || p.Waits && p.Floor != "" {
				t.Errorf("%s, %s: floor %q of a phase that waits: %t", recipe.Name, p.Name, p.Floor, p.Waits)
			}
			if p.Floor == results.FloorHandoff {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no phase of any recipe is a handoff")
	}
}
