package ensembletest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/must"
)

type started interface {
	ensemble.HeapMeter
	ensemble.Breaker
	Release() error
}

// Engine holds the functions by which an engine of real servers starts, finds and removes the ensemble of one name.
type Engine[E started] struct {
	Name string
	Up   func(ctx context.Context, opts ensemble.Options) (E, error)
	Find func(ctx context.Context) error
	Down func(ctx context.Context) (servers int, err error)
	Left func(ctx context.Context) string // describes the ensemble's remains on the machine; empty without any
	// TxnLog checks where the transaction logs are: in memory, or where they are by default.
	TxnLog func(path string, inMemory bool) bool
}

// CheckEngine checks that an engine of real servers starts, keeps up and removes ensembles as every such engine must.
func CheckEngine[E started](t *testing.T, e Engine[E]) {
	t.Run("kept", e.checkKept)
	t.Run("transaction logs in memory", e.checkLogsInMemory)
	t.Run("debris", e.checkDebris)
	t.Run("breaker", e.checkBreaker)
}

func (e Engine[E]) up(t *testing.T, opts ensemble.Options) E {
	t.Helper()
	opts.Name = e.Name
	one := must.Get(e.Up(t.Context(), opts))(t)
	t.Cleanup(func() {
		if t.Failed() { // it may hold the lock that the removal needs
			_ = one.Close(context.WithoutCancel(t.Context()))
		}
	})
	return one
}

func (e Engine[E]) down(t *testing.T) {
	t.Helper()
	if servers, err := e.Down(t.Context()); err != nil || servers != ensemble.Size {
		t.Errorf("down ended %d servers, %v", servers, err)
	}
	if err := e.Find(t.Context()); !errors.Is(err, ensemble.ErrNotUp) {
		t.Errorf("after down: %v, want ErrNotUp", err)
	}
	e.nothingLeft(t)
}

func (e Engine[E]) nothingLeft(t *testing.T) {
	t.Helper()
	if left := e.Left(t.Context()); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

func (e Engine[E]) refused(t *testing.T, opts ensemble.Options, why string) {
	t.Helper()
	opts.Name = e.Name
	if _, err := e.Up(t.Context(), opts); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("with the options %+v: %v, want it to say %q", opts, err, why)
	}
}

// checkKept checks that an ensemble that is kept up can be described and attached to, and that closing an attached one leaves it up.
func (e Engine[E]) checkKept(t *testing.T) {
	one := e.up(t, ensemble.Options{Lifetime: ensemble.Kept})
	d, err := one.Describe(t.Context())
	if err != nil || !strings.HasPrefix(d.Version, "3.") || d.Image == "" || d.Config["maxClientCnxns"] != "0" || !e.TxnLog(d.TxnLog, false) {
		t.Errorf("description = %+v, %v", d, err)
	}
	var logs bytes.Buffer
	if err := one.Logs(t.Context(), &logs, 3); err != nil || !strings.Contains(logs.String(), "zoo3 | ") {
		t.Errorf("logs: %v\n%s", err, logs.String())
	}
	for range 2 { // the second must not return the first's histogram
		if used, err := one.HeapUsed(t.Context()); err != nil || used < 1<<20 || used > 512<<20 {
			t.Errorf("%d bytes in use (%v), want those of three servers", used, err)
		}
	}
	e.refused(t, ensemble.Options{}, ensemble.ErrBusy.Error())
	must.Do(t, one.Release())
	attached := e.up(t, ensemble.Options{})
	if attached.Servers()[0] != one.Servers()[0] {
		t.Errorf("attached to %v instead of %v", attached.Servers(), one.Servers())
	}
	must.Do(t, attached.Close(t.Context()))
	if err := e.Find(t.Context()); err != nil {
		t.Errorf("closing an ensemble that was found took it down: %v", err)
	}
	e.down(t)
}

func (e Engine[E]) checkLogsInMemory(t *testing.T) {
	one := e.up(t, ensemble.Options{Lifetime: ensemble.Kept, TxnLog: ensemble.InMemory})
	if d, err := one.Describe(t.Context()); err != nil || !e.TxnLog(d.TxnLog, true) {
		t.Errorf("transaction log = %q, %v", d.TxnLog, err)
	}
	must.Do(t, one.Release())
	e.refused(t, ensemble.Options{TxnLog: ensemble.OnDisk}, "keeps its transaction logs in memory")
	must.Do(t, e.up(t, ensemble.Options{TxnLog: ensemble.InMemory}).Close(t.Context()))
	e.down(t)
}

// checkDebris checks that the next up replaces the servers and logs of a crashed run, whose lock the kernel has released.
func (e Engine[E]) checkDebris(t *testing.T) {
	crashed := e.up(t, ensemble.Options{TxnLog: ensemble.InMemory})
	must.Do(t, crashed.Release())
	next := e.up(t, ensemble.Options{})
	if next.Servers()[0] == crashed.Servers()[0] {
		t.Error("the next run measured on debris")
	}
	if d, err := next.Describe(t.Context()); err != nil || !e.TxnLog(d.TxnLog, false) {
		t.Errorf("transaction log = %q, %v; want it with the other files again", d.TxnLog, err)
	}
	must.Do(t, next.Close(t.Context()))
	e.nothingLeft(t)
}

// checkBreaker checks the faults of servers, and that servers with any fault can be removed.
func (e Engine[E]) checkBreaker(t *testing.T) {
	one := e.up(t, ensemble.Options{})
	CheckBreaker(t, one)
	for i, fault := range one.ServerFaults() {
		must.Do(t, one.Break(t.Context(), one.Servers()[i], fault))
	}
	must.Do(t, one.Close(t.Context()))
	e.nothingLeft(t)
}
