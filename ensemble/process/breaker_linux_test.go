package process

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/must"
)

// fakeServers starts three processes that only wait, and returns them as an ensemble that is kept up.
func fakeServers(t *testing.T) *Ensemble {
	t.Helper()
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", home+":"+os.Getenv("PATH"))
	must.Do(t, syscall.Mkfifo(filepath.Join(home, "fifo"), 0o600))
	must.Do(t, os.Mkdir(filepath.Join(home, "lib"), 0o755))
	for path, content := range map[string]string{"lib/zookeeper-3.9.3.jar": "", "java": "#!/bin/sh\nread never <'" + home + "/fifo'\n"} {
		must.Do(t, os.WriteFile(filepath.Join(home, path), []byte(content), 0o755))
	}
	servers := must.Get(configure(stateDir("x"), ensemble.Options{Lifetime: ensemble.Kept}))(t)
	t.Cleanup(func() {
		must.Get(remove(stateDir("x")))(t)
	})
	inst := must.Get(findInstallation(home))(t)
	for _, server := range servers {
		must.Do(t, launch(inst, server))
	}
	e := must.Get(Find("x"))(t)
	return e
}

// A killed server starts again as another process, a paused one continues as the same.
func TestBreaker(t *testing.T) {
	e := fakeServers(t)
	pids := func() (pids [ensemble.Size]int) {
		for i, s := range e.Servers() {
			pids[i], _ = running(serverDir(e.dir, s.ID))
		}
		return pids
	}
	before := pids()
	for i, fault := range e.ServerFaults() {
		must.Do(t, e.Break(t.Context(), e.Servers()[i], fault))
	}
	found, err := Find("x")
	if err != nil {
		t.Fatalf("an ensemble with broken servers: %v", err)
	}
	want := map[string]ensemble.ServerFault{"zoo1": ensemble.Kill, "zoo2": ensemble.Pause}
	if faults, err := found.Faults(t.Context()); err != nil || !maps.Equal(faults, want) {
		t.Errorf("faults = %v, %v; want %v", faults, err, want)
	}
	for _, s := range e.Servers() { // the last one has no fault
		must.Do(t, found.Restore(t.Context(), s))
	}
	if faults, err := e.Faults(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("faults = %v, %v; want none", faults, err)
	}
	if after := pids(); after[0] == before[0] || after[1] != before[1] || after[2] != before[2] {
		t.Errorf("process ids were %v and are %v", before, after)
	}
}

// A paused process is ended with its ensemble. Without any process, as after a reboot, the ensemble is not up.
func TestBrokenToTheLast(t *testing.T) {
	e := fakeServers(t)
	cause := func(i int, f ensemble.ServerFault) {
		t.Helper()
		must.Do(t, e.Break(t.Context(), e.Servers()[i], f))
	}
	cause(0, ensemble.Kill)
	cause(1, ensemble.Pause)
	cause(2, ensemble.Kill)
	if _, err := Find("x"); err != nil {
		t.Errorf("with a paused process: %v", err)
	}
	must.Do(t, e.Restore(t.Context(), e.Servers()[0]))
	cause(0, ensemble.Pause)
	if ended, err := remove(e.dir); err != nil || ended != 2 {
		t.Errorf("ended %d processes (%v), want the 2 paused ones", ended, err)
	}

	e = fakeServers(t)
	for i := range e.Servers() {
		cause(i, ensemble.Kill)
	}
	if _, err := Find("x"); !errors.Is(err, ensemble.ErrNotUp) {
		t.Errorf("without any process: %v, want ErrNotUp", err)
	}
}
