package ensemble_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

// engine is the part of a Breaker that causes faults, in memory.
type engine struct {
	faults map[string]ensemble.ServerFault
	fails  bool // causing a fault is an error, although the fault exists then
	stuck  bool // faults cannot be undone
}

func (e *engine) breakage() *ensemble.Breakage {
	return &ensemble.Breakage{
		Possible: []ensemble.ServerFault{ensemble.Kill, ensemble.Pause},
		Cause: func(_ context.Context, s ensemble.Server, f ensemble.ServerFault) error {
			e.faults[s.Name] = f
			if e.fails {
				return errors.New("no answer")
			}
			return nil
		},
		Undo: func(_ context.Context, s ensemble.Server) error {
			if e.stuck {
				return errors.New("no engine answers")
			}
			delete(e.faults, s.Name)
			return nil
		},
	}
}

func newEngine() *engine { return &engine{faults: map[string]ensemble.ServerFault{}} }

func two() []ensemble.Server {
	return []ensemble.Server{{ID: 1, Name: "zoo1", Addr: "127.0.0.1:0"}, {ID: 2, Name: "zoo2", Addr: "127.0.0.1:0"}}
}

// A server has one fault at a time, and only faults that the engine can cause.
func TestBreakageRefuses(t *testing.T) {
	e := newEngine()
	b, servers := e.breakage(), two()
	if err := b.Break(t.Context(), servers[0], ensemble.Partition); err == nil || !strings.Contains(err.Error(), "only kill and pause") {
		t.Errorf("a fault that the engine cannot cause: %v", err)
	}
	if err := b.Break(t.Context(), servers[0], ensemble.Pause); err != nil {
		t.Error(err)
	}
	if err := b.Break(t.Context(), servers[0], ensemble.Kill); err == nil || !strings.Contains(err.Error(), "already paused") {
		t.Errorf("a second fault: %v", err)
	}
	if err := b.Break(t.Context(), servers[1], ensemble.Kill); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := b.Restore(t.Context(), servers[0]); err != nil {
			t.Error(err)
		}
	}
	if err := b.Break(t.Context(), servers[0], ensemble.Kill); err != nil {
		t.Errorf("after it was restored: %v", err)
	}
}

// A fault that failed halfway is undone at once, or with all others at the latest.
func TestBreakUndoesHalfAFault(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		e := newEngine()
		e.fails, e.stuck = true, stuck
		b, servers := e.breakage(), two()
		if err := b.Break(t.Context(), servers[0], ensemble.Kill); err == nil || (len(e.faults) > 0) != stuck {
			t.Errorf("stuck: %t: faults = %v, %v", stuck, e.faults, err)
		}
		e.fails, e.stuck = false, false
		if err := b.Break(t.Context(), servers[0], ensemble.Kill); (err != nil) != stuck {
			t.Errorf("stuck: %t: the next fault: %v", stuck, err)
		}
		if n, err := b.RestoreAll(t.Context(), servers); n != 1 || err != nil || len(e.faults) > 0 {
			t.Errorf("stuck: %t: restored %d servers (%v), faults = %v", stuck, n, err, e.faults)
		}
	}
}

// RestoreAll restores broken servers once. Later faults are refused.
func TestRestoreAll(t *testing.T) {
	e := newEngine()
	b, servers := e.breakage(), two()
	if err := b.Break(t.Context(), servers[0], ensemble.Kill); err != nil {
		t.Error(err)
	}
	if err := b.Break(t.Context(), servers[1], ensemble.Pause); err != nil {
		t.Error(err)
	}
	for _, want := range []int{2, 0} {
		if n, err := b.RestoreAll(t.Context(), servers); err != nil || n != want {
			t.Errorf("restored %d servers (%v), want %d", n, err, want)
		}
	}
	if err := b.Break(t.Context(), servers[0], ensemble.Kill); err == nil || len(e.faults) > 0 {
		t.Errorf("faults = %v, %v; want none after the end", e.faults, err)
	}
	if n, err := new(ensemble.Breakage).RestoreAll(t.Context(), servers); n != 0 || err != nil {
		t.Errorf("an ensemble without faults: %d, %v", n, err)
	}
}

// broken is a kept ensemble that finds its faults.
type broken struct {
	kept
	*engine
}

func (b *broken) Faults(context.Context) (map[string]ensemble.ServerFault, error) {
	return b.faults, nil
}

// Close of an ensemble that was up before restores what this process has broken. An ensemble of this run is removed as it is.
func TestCloseRestores(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	for _, found := range []bool{true, false} {
		e := newEngine()
		removed := false
		local := ensemble.Local{Breakage: e.breakage(), Members: server.Servers(), Found: found}
		local.Remove = func(context.Context) error { removed = true; return nil }
		if err := local.Break(t.Context(), server.Servers()[0], ensemble.Pause); err != nil {
			t.Fatal(err)
		}
		if err := local.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := local.Restore(t.Context(), server.Servers()[0]); (err == nil) != found {
			t.Errorf("found: %t, restored after the end: %v", found, err)
		}
		if restored := len(e.faults) == 0; restored != found || removed == found {
			t.Errorf("found: %t, restored: %t, removed: %t", found, restored, removed)
		}
	}
}

// Up refuses a kept ensemble with a faulty server, and names the server, its fault and the command that restores it.
func TestUpNamesFaults(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	e := newEngine()
	e.faults[server.Servers()[0].Name] = ensemble.Partition
	_, err := ensemble.Lifecycle[*broken]{
		LockName: fmt.Sprintf("test-breakage-%d", os.Getpid()),
		Find: func(context.Context) (*broken, error) {
			return &broken{kept{ensemble.Local{Members: server.Servers(), Found: true}}, e}, nil
		},
	}.Up(t.Context(), ensemble.Options{Name: "x"})
	faulty := new(ensemble.FaultyError)
	if !errors.As(err, &faulty) || !strings.Contains(err.Error(), "`zkbench ensemble heal --name x`") || !strings.HasSuffix(err.Error(), "is cut off") {
		t.Errorf("error = %v", err)
	}
}
