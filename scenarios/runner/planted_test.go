package runner_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/session"
)

// planted returns all recipes, with a mistake in the connections of one variant.
func planted(recipe, variant string, mistake func(session.Conn) session.Conn) []variants.Recipe {
	return sabotageOf(recipe, variant, func(v *variants.Variant) {
		join := v.Join
		v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
			env.Session = env.Session.Through(mistake(env.Session.Conn()))
			return join(ctx, env)
		}
	})
}

// deletionsAsMarks is a connection that takes the end of a znode for a write to it.
type deletionsAsMarks struct{ session.Conn }

func (d deletionsAsMarks) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := d.Conn.GetW(path)
	if err != nil {
		return nil, nil, nil, err
	}
	taken := make(chan zk.Event, 1)
	go func() {
		event := <-watch
		if event.Type == zk.EventNodeDeleted {
			event.Type = zk.EventNodeDataChanged
		}
		taken <- event
	}()
	return data, stat, taken, nil
}

// The central mistake of a lock with marks shows when the session of a client ends that waits: the client behind it must not enter. It
// shows in the scenario and in the matrix.
func TestDeletionsTakenForMarksAreCaught(t *testing.T) {
	t.Parallel()
	recipes := planted("lock", "released-mark", func(c session.Conn) session.Conn { return deletionsAsMarks{c} })
	crash := loaded(t, "lock-crash")
	crash.Expect, crash.Overview = nil, ""
	shorten(&crash, 4) // as sessions live for a second
	cells := list.Where(scenarios.Matrix(catalog.Recipes()), func(s scenarios.Scenario) bool { return s.Name == "fault-matrix-lock-expire-waiter" })
	for _, s := range append(cells, crash) {
		t.Run(s.Name, func(t *testing.T) {
			s.Variants = []string{"released-mark"}
			var docs []*results.Document
			bubbleOn(t, quickTicks, func(t *testing.T, e *embedded.Ensemble) { docs = mustMeasure(t, e, s, recipes) })
			if len(docs) != 1 || !docs[0].Broken() {
				t.Errorf("%d documents, want one that is broken", len(docs))
			}
		})
	}
}
