package process_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/process"
	"github.com/zkbench/zkbench/results/must"
)

var name = ensembletest.Name() + "-process"

// require skips the test if ZooKeeper is not installed, and keeps the ensemble's state out of the user's home.
func require(t *testing.T) (state string) {
	t.Helper()
	ensembletest.Require(t, process.Available(""))
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Cleanup(func() {
		if _, err := process.Down(name); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(cache, "zkbench", "process", name)
}

func up(t *testing.T, opts ensemble.Options) *process.Ensemble {
	t.Helper()
	opts.Name = name
	e := must.Get(process.Up(t.Context(), opts))(t)
	t.Cleanup(func() {
		if t.Failed() { // it may hold the lock that the removal needs
			_ = e.Close(context.WithoutCancel(t.Context()))
		}
	})
	return e
}

func TestLiveKeptEnsemble(t *testing.T) {
	state := require(t)
	e := up(t, ensemble.Options{Lifetime: ensemble.Kept})
	d, err := e.Describe(t.Context())
	if err != nil || !strings.HasPrefix(d.Version, "3.") || d.Config["maxClientCnxns"] != "0" || !strings.Contains(d.TxnLog, state) {
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
	if _, err := process.Up(t.Context(), ensemble.Options{Name: name}); !errors.Is(err, ensemble.ErrBusy) {
		t.Errorf("an ensemble in use was given away: %v", err)
	}
	must.Do(t, e.Release())
	attached := up(t, ensemble.Options{})
	if attached.Servers()[0] != e.Servers()[0] {
		t.Errorf("attached to %v instead of %v", attached.Servers(), e.Servers())
	}
	must.Do(t, attached.Close(t.Context()))
	if ended, err := process.Down(name); err != nil || ended != ensemble.Size {
		t.Errorf("down ended %d processes, %v", ended, err)
	}
	if _, err := process.Find(name); !errors.Is(err, ensemble.ErrNotUp) {
		t.Errorf("after down: %v, want ErrNotUp", err)
	}
	if _, err := os.Stat(state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left (%v)", state, err)
	}
}

// thief listens on the first server's port for elections when the ports have been chosen, and before the servers start.
type thief struct {
	state    string
	listener net.Listener
}

func (th *thief) Write(p []byte) (int, error) {
	if th.listener != nil {
		return len(p), nil
	}
	config, err := os.ReadFile(filepath.Join(th.state, "zoo1", "zoo.cfg"))
	if err != nil {
		return 0, err
	}
	_, peers, _ := strings.Cut(string(config), "server.1=127.0.0.1:")
	peers, _, _ = strings.Cut(peers, ";")
	_, port, _ := strings.Cut(peers, ":")
	th.listener, err = net.Listen("tcp", "127.0.0.1:"+port)
	return len(p), err
}

// Servers one of which finds its port taken are started again with other ports.
func TestLivePortTaken(t *testing.T) {
	th := &thief{state: require(t)}
	e := up(t, ensemble.Options{Progress: th})
	if th.listener == nil {
		t.Fatal("no port was taken")
	}
	th.listener.Close()
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// What a crashed run has left is ended. A process that has reused the id of one of its servers is not touched.
func TestLiveReusedID(t *testing.T) {
	state := require(t)
	crashed := up(t, ensemble.Options{})
	must.Do(t, crashed.Release())
	// As if the first server had ended and its id had been reused for this process.
	pidFile := filepath.Join(state, "zoo1", "pid")
	first := must.Get(os.ReadFile(pidFile))(t)
	must.Do(t, os.WriteFile(pidFile, []byte("1"), 0o644))
	if ended, err := process.Down(name); err != nil || ended != ensemble.Size-1 {
		t.Errorf("ended %d processes, %v; want the two that are still ours", ended, err)
	}
	endByID(t, string(first))
}

// Transaction logs in memory are recorded as such, are refused to runs that ask for a disk, and are removed with the servers,
// after a crash by the next up.
func TestLiveTransactionLogsInMemory(t *testing.T) {
	require(t)
	e := up(t, ensemble.Options{Lifetime: ensemble.Kept, TxnLog: ensemble.InMemory})
	d, err := e.Describe(t.Context())
	if err != nil || !strings.HasPrefix(d.TxnLog, "/dev/shm/zkbench-") || !strings.Contains(d.TxnLog, "(tmpfs on ") {
		t.Fatalf("transaction log = %q, %v", d.TxnLog, err)
	}
	logs, _, _ := strings.Cut(d.TxnLog, "/zoo1/")
	must.Do(t, e.Release())
	_, err = process.Up(t.Context(), ensemble.Options{Name: name, TxnLog: ensemble.OnDisk})
	if err == nil || !strings.Contains(err.Error(), "keeps its transaction logs in memory") {
		t.Errorf("logs in memory were given for logs on disk: %v", err)
	}
	if ended, err := process.Down(name); err != nil || ended != ensemble.Size {
		t.Errorf("down ended %d processes, %v", ended, err)
	}
	if _, err := os.Stat(logs); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left (%v)", logs, err)
	}
	crashed := up(t, ensemble.Options{TxnLog: ensemble.InMemory})
	must.Do(t, crashed.Release())
	next := up(t, ensemble.Options{})
	if next.Servers()[0] == crashed.Servers()[0] {
		t.Error("the next run measured on debris")
	}
	if d, err := next.Describe(t.Context()); err != nil || strings.Contains(d.TxnLog, "/dev/shm") {
		t.Errorf("transaction log = %q, %v; want it with the other files again", d.TxnLog, err)
	}
	if _, err := os.Stat(logs); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left after a crash (%v)", logs, err)
	}
	if err := next.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// endByID ends the server that the test has hidden from zkbench.
func endByID(t *testing.T, pid string) {
	t.Helper()
	var id int
	for _, digit := range pid {
		id = 10*id + int(digit-'0')
	}
	p := must.Get(os.FindProcess(id))(t)
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
}

func TestUnavailable(t *testing.T) {
	if err := process.Available(t.TempDir()); !errors.Is(err, ensemble.ErrUnavailable) {
		t.Errorf("an empty folder passed for a release: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	if err := process.Available(""); !errors.Is(err, ensemble.ErrUnavailable) {
		t.Errorf("a machine without Java passed: %v", err)
	}
}

func TestLiveBreaker(t *testing.T) {
	state := require(t)
	e := up(t, ensemble.Options{})
	ensembletest.CheckBreaker(t, e)
	// The processes can be ended in any state.
	for i, fault := range e.ServerFaults() {
		if err := e.Break(t.Context(), e.Servers()[i], fault); err != nil {
			t.Error(err)
		}
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left (%v)", state, err)
	}
}
