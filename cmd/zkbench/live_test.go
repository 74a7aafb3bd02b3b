package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/process"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// servers returns the address list of the shared live ensemble. Each server has served a session: a run on external servers
// gives up after seconds, which the first session of a server that has just started can exceed on a busy machine.
func servers(t *testing.T) string {
	t.Helper()
	var addrs []string
	for _, s := range live.Get(t).Servers() {
		conn := must.Get(ensemble.Connect(t.Context(), s, wire.NewLedger(time.Now()), nil))(t)
		if err := ensemble.Fence(conn); err != nil {
			t.Error(err)
		}
		conn.Close()
		addrs = append(addrs, s.Addr)
	}
	return strings.Join(addrs, ",")
}

// From the command line to the plots, for a user of an ensemble that zkbench does not own.
func TestLiveRunAndPlot(t *testing.T) {
	addrs := servers(t)
	t.Chdir(t.TempDir())
	stdout, stderr, code := command(t.Context(), "run", "lock-drain", "--servers", addrs, "--clients", "1,6", "--repeats", "2")
	if code != 0 {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	last := fmt.Sprintf("lock-drain [%[1]d/%[1]d]", 4*drainVariants(t))
	if !strings.Contains(stdout, "lock/predecessor-watch") || !strings.Contains(stderr, last) {
		t.Errorf("printed\n%s\nprogress\n%s", stdout, stderr)
	}
	checkNewestRun(t, "external")
	ensembletest.AwaitNoZnodes(t, live.Get(t).Servers())
	if code := plotNewest(t); code != 0 {
		t.Errorf("plot: exit code %d", code)
	}
	status, _, code := command(t.Context(), "ensemble", "status", "--servers", addrs)
	if code != 0 || strings.Count(status, "follower") != 2 || strings.Count(status, "leader") != 1 {
		t.Errorf("status: exit code %d\n%s", code, status)
	}
}

func drainVariants(t *testing.T) int {
	t.Helper()
	s := must.Get(scenarios.Load("lock-drain", catalog.Recipes()))(t)
	return len(s.Variants)
}

// checkNewestRun compares the documents of the newest run with the formulas of a drain.
func checkNewestRun(t *testing.T, engine string) {
	t.Helper()
	var a app
	docs := must.Get(a.readResults(nil))(t)
	rows := summary.Of(docs)
	if want := 2 * drainVariants(t); len(rows) != want {
		t.Fatalf("%d rows, want %d: each variant for each of 2 numbers of clients", len(rows), want)
	}
	want := map[string]float64{"znode": 6 * 5 / 2, "children-watch": 6*5 + 1, "predecessor-watch": 5}
	for _, row := range rows {
		notified, known := want[row.Variant]
		if row.Clients != 6 || !known {
			continue
		}
		m := row.Metrics[metric.NotificationsPerOp]
		if math.Round(6*m.Value) != notified || m.Min != m.Max || len(row.Repeats) != 2 || row.Repeats[0].Environment.Engine != engine {
			t.Errorf("row %+v: %g notifications, want %g", row, 6*m.Value, notified)
		}
	}
}

func plotNewest(t *testing.T) int {
	t.Helper()
	_, stderr, code := command(t.Context(), "plot", "--format", "png")
	files, err := filepath.Glob(filepath.Join("plots/out", "*.png"))
	if err != nil || len(files) == 0 {
		t.Errorf("no plots (%v): %s", err, stderr)
	}
	return code
}

// A run on local processes with TLS and a digest. Their ZooKeeper may be too old to name the transaction that caused a notification.
func TestLiveProcessEngine(t *testing.T) {
	ensembletest.Require(t, process.Available(""))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	name := ensembletest.Name() + "-cli"
	stdout, stderr, code := command(t.Context(), "run", "lock-drain", "--ensemble", "process", "--tls", "--digest", "--name", name,
		"--clients", "4", "--repeats", "1")
	if code != 0 || !strings.Contains(stdout, fmt.Sprintf("counters confirm %[1]d of %[1]d measurements", drainVariants(t))) {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	prints(t, 0, "was up", "ensemble", "down", "--name", name)
}
