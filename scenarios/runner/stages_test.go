package runner_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// The arrivals of each stage are those of its rate, and the stages have what the document has as a whole.
func TestOpenLoadInStages(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		s := openLoad(8, 0, 0)
		s.Arrivals, s.WarmUp = scenarios.Constant, 300*time.Millisecond
		s.Rate, s.Duration, s.Stages = nil, 0, []results.StageLoad{{For: time.Second, Rate: 10}, {For: 2 * time.Second, Rate: 40, Ramp: true}, {For: time.Second, Rate: 20}}
		s.Complete()
		d := mustMeasure(t, e, s, catalog.Recipes())[0]
		if err := store.CheckInvariants(d); err != nil || d.BeyondCapacity() || d.Rate != 40 {
			t.Fatalf("rate %d, beyond the capacity %t, %v", d.Rate, d.BeyondCapacity(), err)
		}
		for i, want := range []int64{10, 50, 20} {
			if got := d.Stages[i].Latency.All(); got < want-1 || got > want+1 {
				t.Errorf("stage %d has %d arrivals, want %d", i+1, got, want)
			}
		}
	})
}

// In a stage of one client, none waits for another one. When further clients join, they do, and when these pause, none does any more.
func TestClosedLoadInStages(t *testing.T) {
	t.Parallel()
	bubble(t, checkClosedStages)
}

func checkClosedStages(t *testing.T, e *embedded.Ensemble) {
	s := scenarios.Default()
	s.Name, s.Recipe, s.Variants, s.Repeats = "staged", "lock", []string{"predecessor-watch"}, 1
	s.Hold = time.Millisecond
	s.Stages = []results.StageLoad{
		{For: 500 * time.Millisecond, Clients: 1}, {For: 1500 * time.Millisecond, Clients: 6}, {For: time.Second, Clients: 1},
	}
	s.Complete()
	d := mustMeasure(t, e, s, catalog.Recipes())[0]
	if err := store.CheckInvariants(d); err != nil {
		t.Fatal(err)
	}
	if d.Clients != 6 || len(d.Stages) != 3 {
		t.Fatalf("%d clients and %d stages, want 6 and 3", d.Clients, len(d.Stages))
	}
	alone, together, after := d.Stages[0], d.Stages[1], d.Stages[2]
	if alone.Notifications > 0 || together.Notifications == 0 {
		t.Errorf("%d notifications of one client and %d of six", alone.Notifications, together.Notifications)
	}
	// Each of the five finishes its step, for which it is notified once and for which the sixth client waits at most once. The sixth
	// client may be waiting already.
	if after.Notifications > 2*5+1 || after.Operations < 1 {
		t.Errorf("%d notifications and %d operations after five of six clients were to pause", after.Notifications, after.Operations)
	}
}
