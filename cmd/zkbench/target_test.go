package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/progress"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// A run on servers that outlive it reports the leftovers of earlier runs, and other runs that are under way.
func TestRunTellsLeftovers(t *testing.T) {
	t.Chdir(t.TempDir())
	server := ensembletest.Embedded(t, embedded.Config{})
	c, gone := session(t, server.Addr()), session(t, server.Addr())
	for path, owner := range map[string]namespace.Client{"/zkbench-20260102T030405Z-0001": gone, "/zkbench-20260102T030405Z-0002": c} {
		must.Do(t, owner.Create(t.Context(), path, 30*time.Second))
	}
	must.Do(t, c.CreateTree(t.Context(), []string{"/zkbench-20260102T030405Z-0003"}, 0))
	ensembletest.End(t, gone.Conn, c.Conn, "/zkbench-20260102T030405Z-0001/owner")
	_, stderr, code := command(t.Context(), "run", "lock-drain", "--servers", server.Addr(), "--variants", "znode", "--clients", "2", "--repeats", "1")
	if code != outcome.CodePass {
		t.Errorf("exit code %d", code)
	}
	hasAll(t, stderr, "1 earlier run left znodes on these servers: `zkbench clean --servers "+server.Addr()+"` removes them",
		"1 other run under way", "1 run of an older zkbench left znodes on these servers or may be under way")
}

// A runner, also one for the trials of a capacity, shows the load and the progress of connecting.
func TestRunnersShowProgress(t *testing.T) {
	var out bytes.Buffer
	r := new(app).newRunner(target{}, progress.New(&out), nil)
	r.Progress(0, 1, "lock/znode, 5,000 clients, repeat 1")
	r.Connecting(64, 5000)
	r.Live(runner.Live{Elapsed: time.Minute, Planned: time.Hour + 2*time.Second, LastSeconds: recorder.LastSeconds{Length: 10 * time.Second}})
	hasAll(t, out.String(), "[1/1] lock/znode", "connect 64 of 5,000 sessions", "1m0s of 1h0m2s")
}
