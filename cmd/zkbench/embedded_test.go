package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

// The way from the command line to the plots, on a machine that has nothing.
func TestRunOnABareMachine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Chdir(t.TempDir())
	stdout, stderr, code := command(t.Context(), "run", "lock-drain", "--clients", "1,6", "--repeats", "2", "--name", testName("bare"))
	if code != 0 {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	if !strings.Contains(stderr, "FALLING BACK to the embedded server") || !strings.Contains(stderr, "no docker command") {
		t.Errorf("it fell back without saying so, or why: %s", stderr)
	}
	all := fmt.Sprintf("%[1]d of %[1]d measurements", 4*drainVariants(t))
	for _, want := range []string{"lock-drain on embedded", "EMBEDDED: counts are exact", "counters confirm " + all, "counts of " + all + " equal"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	checkNewestRun(t, "embedded")
	if code := plotNewest(t); code != 0 {
		t.Errorf("plot: exit code %d", code)
	}
	if _, stderr, code := command(t.Context(), "ensemble", "up"); code != outcome.CodeFailed || !strings.Contains(stderr, "no docker command") {
		t.Errorf("an ensemble to keep: exit code %d, %s", code, stderr)
	}
}

// The first repeat's table comes early, once per scenario, and only where another repeat follows.
func TestTableAfterTheFirstRepeat(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		name string
		args []string
		want int // early tables
	}{
		{"one repeat", []string{"lock-drain", "--repeats", "1"}, 0},
		{"three repeats", []string{"lock-drain", "--repeats", "3"}, 1},
		{"two scenarios", []string{"lock-drain", "queue-drain", "--repeats", "2"}, 2},
	} {
		args := slices.Concat([]string{"run"}, tt.args, []string{"--clients", "2,3", "--ensemble", "embedded", "--name", testName("early")})
		stdout, stderr, code := command(t.Context(), args...)
		if code != 0 {
			t.Fatalf("%s: exit code %d: %s\n%s", tt.name, code, stderr, stdout)
		}
		early, final := strings.Count(stdout, "after 1 of "), strings.Count(stdout, "results in ")
		if tables := strings.Count(stdout, "median of 1 repeat\n"); early != tt.want || final != 1 || tt.want > 0 && tables != tt.want {
			t.Errorf("%s: %d early tables (%d of one repeat), want %d, in\n%s", tt.name, early, tables, tt.want, stdout)
		}
		if last := strings.LastIndex(stdout, "after 1 of "); tt.want > 0 && !strings.Contains(stdout[last:], "lock/predecessor-watch") {
			t.Errorf("%s: no table follows the early ones in\n%s", tt.name, stdout)
		}
	}
}

// The delays that make a first look lifelike are part of the result, and of what is said about it.
func TestServiceDelaysAreReported(t *testing.T) {
	t.Chdir(t.TempDir())
	stdout, stderr, code := command(t.Context(), "run", "lock-drain", "--ensemble", "embedded", "--clients", "3", "--repeats", "1",
		"--read-delay", "20us", "--write-delay", "1ms", "--name", testName("delays"))
	if code != 0 || !strings.Contains(strings.Join(strings.Fields(stdout), " "), "busy for 20µs with each read and for 1ms with each write") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
}

// An interrupted run keeps what is whole and exits with 130.
func TestInterrupt(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // interrupt once a first result is there
		for ctx.Err() == nil {
			if files, _ := store.Files("out"); len(files) > 0 {
				cancel(errInterrupted)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	stdout, _, code := command(ctx, "run", "lock-drain", "--servers", server.Addr(), "--clients", "5", "--repeats", "500", "--out", "out")
	if code != outcome.CodeInterrupted || !strings.Contains(stdout, "partial results in out") {
		t.Errorf("exit code %d, want %d\n%s", code, outcome.CodeInterrupted, stdout)
	}
	if _, err := store.ReadAll([]string{"out"}); err != nil {
		t.Errorf("what is left is not whole: %v", err)
	}
	if left := ensembletest.Znodes(t, server.Servers()[0]); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, stderr, code := command(t.Context(), "run", "lock-drain", "--servers", server.Addr(), "--out", "out"); code != outcome.CodeUsage {
		t.Errorf("results would have been overwritten: exit code %d, %s", code, stderr)
	}
}
