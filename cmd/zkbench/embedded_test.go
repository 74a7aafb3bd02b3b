package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/outcome"
)

// From the command line to the plots, on a machine without servers.
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
	hasAll(t, stdout, "lock-drain on embedded", "EMBEDDED: counts are exact", "counters confirm "+all, "counts of "+all+" equal")
	checkNewestRun(t, "embedded")
	if code := plotNewest(t); code != 0 {
		t.Errorf("plot: exit code %d", code)
	}
	says(t, outcome.CodeFailed, "no docker command", "ensemble", "up")
}

// The first repeat's table is printed early, once per scenario, and only if another repeat follows.
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

// Service delays of the embedded server are part of the result and of the report.
func TestServiceDelaysAreReported(t *testing.T) {
	t.Chdir(t.TempDir())
	stdout, stderr, code := command(t.Context(), "run", "lock-drain", "--ensemble", "embedded", "--clients", "3", "--repeats", "1",
		"--read-delay", "20us", "--write-delay", "1ms", "--name", testName("delays"))
	if code != 0 || !strings.Contains(strings.Join(strings.Fields(stdout), " "), "busy for 20µs with each read and for 1ms with each write") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
}
