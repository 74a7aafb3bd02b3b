//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
)

// A path with the name of a result that is not a regular file is reported, and does not block: a named pipe may never have a
// writer.
func TestGateOfWhatIsNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := drained(t)
	odd := filepath.Join(dir, "lock-drain_lock-znode_n5_r1.json")
	must.Do(t, syscall.Mkfifo(odd, 0o644))
	done := make(chan struct{})
	go func() {
		defer close(done)
		prints(t, outcome.CodeInvalid, odd, "gate", dir)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the gate hangs")
	}
}

// Signals begin and end the reported part.
func TestObserveBetweenSignals(t *testing.T) {
	addr := ensembletest.Embedded(t, embedded.Config{}).Addr()
	use := func(t *testing.T, address string, n int) {
		conn := must.Get(ensemble.Connect(t.Context(), ensemble.Server{Addr: address}, wire.NewLedger(time.Now()), nil))(t)
		defer conn.Close()
		for range n {
			if _, _, err := conn.Exists("/"); err != nil {
				t.Fatal(err)
			}
		}
	}
	signal := func(said *lockedBuffer, s syscall.Signal, sign string) {
		must.Do(t, syscall.Kill(os.Getpid(), s))
		awaitText(t, said, sign)
	}
	stdout, _, code := observed(t, func(address string, said *lockedBuffer) {
		use(t, address, 3)
		signal(said, syscall.SIGUSR1, "begin")
		use(t, address, 5)
		signal(said, syscall.SIGUSR2, "end")
		use(t, address, 7)
	}, "--servers", addr, "--json", filepath.Join(t.TempDir(), "r.json"))
	if code != outcome.CodePass || !strings.Contains(strings.Join(strings.Fields(stdout), " "), "/ exists 5 ") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

// A pipe without a writer does not hold zkbench after a signal.
func TestSignalEndsReading(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(pipe, 0o644))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	for _, args := range [][]string{
		{"run", pipe}, {"capacity", pipe, "--objective", "response-p99 < 50ms"}, {"calibrate", pipe}, {"simulate", "--plan", pipe},
		{"gate", "--rules", pipe, t.TempDir()}, {"gate", "--run", pipe, "--base-binary", must.Get(os.Executable())(t)},
	} {
		if _, stderr, code := command(ctx, args...); code != outcome.CodeInterrupted || !strings.Contains(stderr, "read "+pipe) {
			t.Errorf("%v: exit code %d, said %q", args, code, stderr)
		}
	}
	must.Do(t, must.Get(os.OpenFile(pipe, os.O_RDWR, 0))(t).Close()) // lets the readers go
}

// A pipe in place of a scenario does not hold a shell.
func TestCompletionReadsNoPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	must.Do(t, syscall.Mkfifo(pipe, 0o644))
	if offered, _ := completed(t, "run", pipe, "--variants", ""); !slices.Contains(offered, "znode") {
		t.Errorf("offered %q", offered)
	}
}
