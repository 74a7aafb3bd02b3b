package main

import (
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
)

// Mistakes in the servers are reported before anything is measured, in a campaign as in a run.
func TestServersAreTriedFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	one := ensembletest.Embedded(t, embedded.Config{}).Addr()
	two := ensembletest.Embedded(t, embedded.Config{}).Addr()
	run := []string{"run", "lock-drain", "--clients", "2"}
	gate := []string{"gate", "--run", "lock-drain", "--base-binary", "true"}
	calibrate := []string{"calibrate", "lock-contention", "--cache", "c.json"}
	for _, args := range [][]string{run, gate, calibrate} {
		says(t, outcome.CodeUsage, "are unrelated servers", append(args, "--servers", one+","+two)...)
		says(t, outcome.CodeFailed, "the chroot /bench does not exist", append(args, "--servers", one+"/bench")...)
	}
	if left, err := os.ReadDir("results/campaigns"); len(left) > 0 {
		t.Errorf("left %v (%v)", left, err)
	}
}

func TestRunBelowAChroot(t *testing.T) {
	t.Chdir(t.TempDir())
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	conn := must.Get(ensemble.Connect(t.Context(), ensemble.Server{Addr: addr}, wire.NewLedger(time.Now()), nil))(t)
	defer conn.Close()
	must.Get(conn.Create("/bench", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	says(t, outcome.CodePass, "all znodes are below /bench/zkbench-",
		"run", "lock-drain", "--clients", "2", "--repeats", "1", "--servers", addr+"/bench")
	if names, _, err := conn.Children("/bench"); err != nil || len(names) > 0 {
		t.Errorf("the run left %v (%v)", names, err)
	}
}
