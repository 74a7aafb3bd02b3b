package runner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
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

// unreadable is a connection on which each znode seems to have no data.
type unreadable struct{ session.Conn }

func (u unreadable) Get(path string) ([]byte, *zk.Stat, error) {
	_, stat, err := u.Conn.Get(path)
	return nil, stat, err
}

func (u unreadable) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	_, stat, watch, err := u.Conn.GetW(path)
	return nil, stat, watch, err
}

// A variant that hands out data that no client has written breaks its promise: the load does not fail for another reason.
func TestUnreadableDataBreaksThePromise(t *testing.T) {
	t.Parallel()
	for recipe, variant := range map[string]string{
		"queue": "list-and-delete", "priorityqueue": "stale-list", "blockingqueue": "ticket", "masterworker": "multi", "config": "multi",
		"configread": "watched-cache", "hiddenchannel": "watch", "treecache": "full-reload", "membership": "diff-cache", "twophasecommit": "coordinator",
	} {
		t.Run(recipe, func(t *testing.T) {
			t.Parallel()
			s := closedOf(recipe, 3, variant)
			s.Operations = 5
			recipes := planted(recipe, variant, func(c session.Conn) session.Conn { return unreadable{c} })
			bubble(t, func(t *testing.T, e *embedded.Ensemble) { mustBreak(t, e, s, recipes) })
		})
	}
}

// mustBreak fails unless each document of a run says that the promise was broken. There may be another error, too, because a client that
// goes on after a breach may wait for ever.
func mustBreak(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario, recipes []variants.Recipe) {
	t.Helper()
	var docs []*results.Document
	err := measure(t.Context(), t, e, s, recipes, func(d *results.Document) { docs = append(docs, d) })
	if sound := list.Where(docs, func(d *results.Document) bool { return !d.Broken() }); len(docs) == 0 || len(sound) > 0 {
		t.Errorf("%d documents, %d of them without a breach; the run ended with %v", len(docs), len(sound), err)
	}
}

// deaf is a connection on which no watch fires.
type deaf struct{ session.Conn }

func (d deaf) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, _, err := d.Conn.GetW(path)
	return data, stat, make(chan zk.Event), err
}

// A lost wake-up breaks the promise in lockstep, too, and its document is kept.
func TestLostWakeUpInLockstepIsKept(t *testing.T) {
	t.Parallel()
	s := lockstepOf(3)
	s.Variants = []string{"released-mark"}
	recipes := planted("lock", "released-mark", func(c session.Conn) session.Conn { return deaf{c} })
	bubble(t, func(t *testing.T, e *embedded.Ensemble) { mustBreak(t, e, s, recipes) })
}

// silent is a connection on which a leader is not acknowledged.
type silent struct{ session.Conn }

func (s silent) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if strings.HasSuffix(path, "/acknowledged") {
		return path, nil
	}
	return s.Conn.Create(path, data, flags, acl)
}

// A leader that does not say that it knows breaks its promise in an election whose leaders lead for long enough. One that does, does
// not, whatever fails.
func TestMissingAcknowledgementIsCaught(t *testing.T) {
	t.Parallel()
	s := loaded(t, "election-failover")
	s.Variants, s.Clients, s.Repeats, s.Expect, s.Overview = []string{"acknowledged"}, s.Clients[:1], 1, nil, ""
	recipes := planted("election", "acknowledged", func(c session.Conn) session.Conn { return silent{c} })
	bubble(t, func(t *testing.T, e *embedded.Ensemble) { mustBreak(t, e, s, recipes) })
	s.SessionTimeout, s.Faults = time.Second, schedule(t, "expire: holder, every: 70ms", "cut: any, every: 30ms", "stop: holder, at: 1s")
	bubbleOn(t, quickTicks, func(t *testing.T, e *embedded.Ensemble) {
		for _, d := range mustMeasure(t, e, s, catalog.Recipes()) {
			checkSound(t, d)
		}
	})
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
			bubbleOn(t, quickTicks, func(t *testing.T, e *embedded.Ensemble) { mustBreak(t, e, s, recipes) })
		})
	}
}
