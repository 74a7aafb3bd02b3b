package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

// Each signal that asks zkbench to end leaves complete results, and no znode.
func TestSignals(t *testing.T) {
	t.Parallel()
	own := must.Get(os.Executable())(t)
	// Children inherit ignored signals, as when this process runs under nohup itself, but not caught ones.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	const nohup = `trap "" HUP; exec "$0" "$@"`
	for _, tt := range []struct {
		name    string
		shell   string // starts the binary
		signals []os.Signal
		hangUp  bool // whether the readers of its output are gone by then
	}{
		{"interrupt", `exec "$0" "$@"`, []os.Signal{os.Interrupt}, false},
		{"terminate", `exec "$0" "$@"`, []os.Signal{syscall.SIGTERM}, false},
		{"the terminal is gone", `exec "$0" "$@"`, []os.Signal{syscall.SIGHUP}, false},
		{"and so are all readers", `exec "$0" "$@"`, []os.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGHUP}, true},
		{"under nohup, in the end", nohup, []os.Signal{syscall.SIGHUP, os.Interrupt}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := ensembletest.Embedded(t, embedded.Config{})
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "sh", "-c", tt.shell, own,
				"run", "lock-drain", "--servers", server.Addr(), "--variants", "znode", "--clients", "3", "--repeats", "100000", "--out", "out")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), asBinary+"=1")
			stderr := must.Get(cmd.StderrPipe())(t)
			stdout := must.Get(cmd.StdoutPipe())(t)
			must.Do(t, cmd.Start())
			said := bufio.NewScanner(stderr)
			awaitMeasurement(t, said)
			for i, s := range tt.signals {
				if tt.hangUp && i == 0 {
					stdout.Close()
					stderr.Close()
				}
				if err := cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
				if tt.shell == nohup && i == 0 {
					awaitMeasurement(t, said) // it goes on
					awaitMeasurement(t, said)
				}
			}
			if !tt.hangUp {
				go func() {
					for said.Scan() { // to the end
					}
				}()
				printed, err := io.ReadAll(stdout)
				if err != nil || !strings.Contains(string(printed), "partial results in out") {
					t.Errorf("printed %s, %v", printed, err)
				}
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != outcome.CodeInterrupted {
				t.Errorf("%v, want exit code %d", err, outcome.CodeInterrupted)
			}
			if _, err := store.ReadAll([]string{dir + "/out"}); err != nil {
				t.Errorf("what is kept is not whole: %v", err)
			}
			if left := ensembletest.Znodes(t, server.Servers()[0]); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			says(t, outcome.CodeUsage, "already holds results", "run", "lock-drain", "--servers", server.Addr(), "--out", filepath.Join(dir, "out"))
		})
	}
}

// awaitMeasurement returns when another measurement than the first begins, so that one has been saved.
func awaitMeasurement(t *testing.T, said *bufio.Scanner) {
	t.Helper()
	for said.Scan() {
		if line := said.Text(); strings.Contains(line, "/100000]") && !strings.Contains(line, "[1/") {
			return
		}
	}
	t.Fatal("it ended before it measured")
}

// awaiting waits for signals in the background. It closes returned when the wait is over.
func awaiting(t *testing.T, said io.Writer, list *started) (ctx context.Context, signals chan os.Signal, returned chan struct{}) {
	ctx, cancel := context.WithCancelCause(t.Context())
	signals, returned = make(chan os.Signal), make(chan struct{})
	go func() {
		awaitSecond(signals, cancel, app{stderr: said, started: list})
		close(returned)
	}()
	return ctx, signals, returned
}

// send sends signals to awaitSecond, which must not return before the last one.
func send(t *testing.T, signals chan<- os.Signal, returned <-chan struct{}, all ...os.Signal) {
	t.Helper()
	for _, signal := range all {
		select {
		case signals <- signal:
		case <-returned:
			t.Fatalf("before %s the wait was over", signal)
		}
	}
}

// Only a second signal that asks zkbench to end makes it exit at once. It then names what is left, and the commands that remove
// it. A terminal that closes sends more than one hangup.
func TestSecondSignal(t *testing.T) {
	var said strings.Builder
	list := &started{}
	list.add(item{what: `ensemble "mine"`, command: ensemble.DownCommand("mine")})
	over := list.add(item{what: `ensemble "over"`, command: ensemble.DownCommand("over")})
	list.add(item{what: "znodes below /zkbench-x", command: cleanHint("a:1,b:2", nil)})
	over()
	var restored []string
	for name, err := range map[string]error{"mended": nil, "dead": errors.New("no Docker engine answers")} {
		list.add(item{"servers of " + name, ensemble.HealCommand(name), func(context.Context) error {
			restored = append(restored, name)
			return err
		}})
	}
	ctx, signals, returned := awaiting(t, &said, list)
	send(t, signals, returned, syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGHUP)
	if !errors.Is(context.Cause(ctx), errInterrupted) {
		t.Error("the first signal did not end the work")
	}
	select {
	case <-returned:
		t.Fatal("hangups were taken for a second request")
	case signals <- os.Interrupt:
	}
	<-returned
	hasAll(t, said.String(), "`zkbench ensemble down --name mine`", "`zkbench clean --servers a:1,b:2`", "/zkbench-x",
		"to restore: `zkbench ensemble heal --name dead`")
	if strings.Contains(said.String(), "over") || strings.Contains(said.String(), "mended") {
		t.Errorf("what was taken down or restored is said to be left:\n%s", said.String())
	}
	if len(restored) != 2 {
		t.Errorf("restored %v", restored)
	}
}

// A third signal ends the wait for servers that cannot be restored.
func TestThirdSignal(t *testing.T) {
	var said strings.Builder
	list := &started{}
	begun := make(chan struct{})
	list.add(item{"servers of mine", ensemble.HealCommand("mine"), func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}})
	_, signals, returned := awaiting(t, &said, list)
	send(t, signals, returned, os.Interrupt, os.Interrupt)
	<-begun
	send(t, signals, returned, syscall.SIGHUP, syscall.SIGTERM)
	<-returned
	if !strings.Contains(said.String(), "to restore: `zkbench ensemble heal --name mine`") {
		t.Errorf("said %q", said.String())
	}
}
