package container_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/container"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
)

// name differs from that of the shared ensemble.
var name = ensembletest.Name() + "-container"

// require skips the test if no container can run, and removes the ensemble at the end.
func require(t *testing.T) {
	t.Helper()
	ensembletest.Require(t, container.Available(t.Context()))
	t.Cleanup(func() {
		if _, err := container.Down(context.WithoutCancel(t.Context()), name); err != nil {
			t.Error(err)
		}
	})
}

func up(t *testing.T, opts ensemble.Options) *container.Ensemble {
	t.Helper()
	opts.Name = name
	e := must.Get(container.Up(t.Context(), opts))(t)
	t.Cleanup(func() {
		if t.Failed() { // it may hold the lock that the removal needs
			_ = e.Close(context.WithoutCancel(t.Context()))
		}
	})
	return e
}

// nothingLeft checks that no container, network or volume carries the name.
func nothingLeft(t *testing.T) {
	t.Helper()
	if names, err := container.Names(t.Context()); err != nil || slices.Contains(names, name) {
		t.Errorf("left behind: %v (%v)", names, err)
	}
}

func TestLiveKeptEnsemble(t *testing.T) {
	require(t)
	e := up(t, ensemble.Options{Lifetime: ensemble.Kept})
	d, err := e.Describe(t.Context())
	if err != nil || !strings.HasPrefix(d.Version, "3.") || d.Image == "" || d.Config["maxClientCnxns"] != "0" || !strings.Contains(d.TxnLog, "datalog") {
		t.Errorf("description = %+v, %v", d, err)
	}
	var logs bytes.Buffer
	if err := e.Logs(t.Context(), &logs, 3); err != nil || !strings.Contains(logs.String(), "zoo3 | ") {
		t.Errorf("logs: %v\n%s", err, logs.String())
	}
	for range 2 { // the second must not return the first's histogram
		if used, err := e.HeapUsed(t.Context()); err != nil || used < 1<<20 || used > 512<<20 {
			t.Errorf("%d bytes in use (%v), want those of three servers", used, err)
		}
	}
	if _, err := container.Up(t.Context(), ensemble.Options{Name: name}); !errors.Is(err, ensemble.ErrBusy) {
		t.Errorf("an ensemble in use was given away: %v", err)
	}
	must.Do(t, e.Release())

	attached := up(t, ensemble.Options{})
	if attached.Servers()[0] != e.Servers()[0] {
		t.Errorf("attached to %v instead of %v", attached.Servers(), e.Servers())
	}
	must.Do(t, attached.Close(t.Context()))
	if _, err := container.Find(t.Context(), name); err != nil {
		t.Errorf("closing an ensemble that was found took it down: %v", err)
	}

	if removed, err := container.Down(t.Context(), name); err != nil || removed != (container.Remains{Containers: 3, Networks: 2, Volumes: 6}) {
		t.Errorf("down removed %s, %v", removed, err)
	}
	if _, err := container.Find(t.Context(), name); !errors.Is(err, ensemble.ErrNotUp) {
		t.Errorf("after down: %v, want ErrNotUp", err)
	}
	nothingLeft(t)
}

// The next up replaces the servers of a crashed run, whose lock the kernel has released.
func TestLiveDebrisIsReplaced(t *testing.T) {
	require(t)
	crashed := up(t, ensemble.Options{})
	must.Do(t, crashed.Release())
	next := up(t, ensemble.Options{})
	if next.Servers()[0] == crashed.Servers()[0] {
		t.Error("the next run measured on debris")
	}
	if err := next.Close(t.Context()); err != nil {
		t.Error(err)
	}
	nothingLeft(t)
}

func TestLiveFailedStartLeavesNothing(t *testing.T) {
	require(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	used := listener.Addr().(*net.TCPAddr).Port
	for _, tt := range []struct {
		name, want string
		opts       ensemble.Options
	}{
		{"a port is in use", "is in use", ensemble.Options{Ports: []int{used, used + 1, used + 2}}},
		{"no such image", "could not be pulled", ensemble.Options{Image: "zkbench/no-such-image:0"}},
	} {
		tt.opts.Name = name
		if _, err := container.Up(t.Context(), tt.opts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want it to say %q", tt.name, err, tt.want)
		}
		nothingLeft(t)
	}
}

// Transaction logs in memory are recorded as such, are refused to runs that ask for a disk, and are removed with the servers.
func TestLiveTransactionLogsInMemory(t *testing.T) {
	require(t)
	e := up(t, ensemble.Options{Lifetime: ensemble.Kept, TxnLog: ensemble.InMemory})
	if d, err := e.Describe(t.Context()); err != nil || d.TxnLog != "/datalog/version-2 (tmpfs on tmpfs)" {
		t.Errorf("transaction log = %q, %v", d.TxnLog, err)
	}
	must.Do(t, e.Release())
	_, err := container.Up(t.Context(), ensemble.Options{Name: name, TxnLog: ensemble.OnDisk})
	if err == nil || !strings.Contains(err.Error(), "keeps its transaction logs in memory") {
		t.Errorf("logs in memory were given for logs on disk: %v", err)
	}
	attached := up(t, ensemble.Options{TxnLog: ensemble.InMemory})
	if err := attached.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if removed, err := container.Down(t.Context(), name); err != nil || removed.Containers != ensemble.Size {
		t.Errorf("down removed %s, %v", removed, err)
	}
	nothingLeft(t)
}

func TestLiveBreaker(t *testing.T) {
	require(t)
	e := up(t, ensemble.Options{})
	ensembletest.CheckBreaker(t, e)
	// The containers can be removed in any state.
	for i, fault := range e.ServerFaults() {
		if err := e.Break(t.Context(), e.Servers()[i], fault); err != nil {
			t.Error(err)
		}
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	nothingLeft(t)
}
