package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/outcome"
)

// What is wrong with servers is said before anything is measured, in a campaign as in a run.
func TestServersAreTriedFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	one := ensembletest.Embedded(t, embedded.Config{}).Addr()
	two := ensembletest.Embedded(t, embedded.Config{}).Addr()
	run := []string{"run", "lock-drain", "--clients", "2"}
	gate := []string{"gate", "--run", "lock-drain", "--base-binary", "true"}
	calibrate := []string{"calibrate", "lock-drain", "--cache", "c.json"}
	for _, tt := range []struct {
		name    string
		args    []string
		servers string
		code    int
		want    string
	}{
		{"run on two servers", run, one + "," + two, outcome.CodeUsage, "are unrelated servers"},
		{"gate on two servers", gate, one + "," + two, outcome.CodeUsage, "are unrelated servers"},
		{"calibrate on two servers", calibrate, one + "," + two, outcome.CodeUsage, "are unrelated servers"},
		{"run without the chroot", run, one + "/bench", outcome.CodeFailed, "the chroot /bench does not exist"},
		{"gate without the chroot", gate, one + "/bench", outcome.CodeFailed, "the chroot /bench does not exist"},
		{"calibrate without the chroot", calibrate, one + "/bench", outcome.CodeFailed, "the chroot /bench does not exist"},
	} {
		_, stderr, code := command(t.Context(), append(tt.args, "--servers", tt.servers)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, want %d; said %q, want %q in it", tt.name, code, tt.code, stderr, tt.want)
		}
	}
	if left, err := os.ReadDir("results/campaigns"); len(left) > 0 {
		t.Errorf("left %v (%v)", left, err)
	}
}

func TestRunBelowAChroot(t *testing.T) {
	t.Chdir(t.TempDir())
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	conn, err := ensemble.Connect(t.Context(), ensemble.Server{Addr: addr}, wire.NewLedger(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Create("/bench", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := command(t.Context(), "run", "lock-drain", "--clients", "2", "--repeats", "1", "--servers", addr+"/bench")
	if code != outcome.CodePass || !strings.Contains(stderr, "all znodes are below /bench/zkbench-") {
		t.Errorf("exit code %d; said %q", code, stderr)
	}
	if names, _, err := conn.Children("/bench"); err != nil || len(names) > 0 {
		t.Errorf("the run left %v (%v)", names, err)
	}
}
