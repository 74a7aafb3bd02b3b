package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/outcome"
)

// The flag gives a load stages, which set its length, its rates and the clients of a closed load, or removes them.
func TestStageFlag(t *testing.T) {
	for _, tt := range []struct {
		flags string // separated by |
		want  string // duration, rates, clients and stages
	}{
		{"--mode|open|--clients|7|--stage|for: 2s, rate: 10|--stage|{for: 3s, rate: 50, ramp: true}", "5s [50] [7] for: 2s, rate: 10; for: 3s, rate: 50, ramp: true"},
		{"--mode|closed|--stage|for: 2s, clients: 4|--stage|for: 500ms, clients: 9", "2.5s [0] [9] for: 2s, clients: 4; for: 500ms, clients: 9"},
		{"--mode|open|--rate|20|--stage|none|--clients|3|--duration|4s", "4s [20] [3] "},
		{"--mode|open|--rate|30/min,2|--clients|3|--duration|4s", "4s [30/min 2] [3] "},
		{"--mode|open|--stage|for: 5s, rate: 30/min", "5s [30/min] [1 10 50 100] for: 5s, rate: 30/min"},
	} {
		s, err := scenarioOf(t, "lock-contention", strings.Split(tt.flags, "|")...)
		if err != nil {
			t.Errorf("%s: %v", tt.flags, err)
			continue
		}
		if got := fmt.Sprint(s.Duration, " ", s.Rates(), " ", s.Clients, " ", strings.Join(list.Map(s.Stages, results.StageLoad.String), "; ")); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.flags, got, tt.want)
		}
	}
}

// Stages that cannot be read, or do not fit the rest of the load, are refused before the run.
func TestRefusedStages(t *testing.T) {
	for _, tt := range []struct {
		args string // separated by |
		want string
	}{
		{"run|lock-contention|--stage|fore: 5s", `--stage "fore: 5s": there is no field "fore"; did you mean "for"?`},
		{"run|lock-contention|--stage|for: 5", "for: wants a duration with its unit"},
		{"run|lock-contention|--stage|", "--stage is empty"},
		{"run|lock-contention|--stage|for: 5s, rate: 10", "lock-contention, --stage: stage 1 (for: 5s, rate: 10): mode closed wants clients, and no rate"},
		{"run|lock-contention|--stage|for: 5s, clients: 3|--duration|6s", "last for 5s together, and duration is 6s"},
		{"run|lock-contention|--stage|for: 5s, clients: 3|--clients|4", "--clients: wants [3]"},
		{"run|lock-contention|--stage|for: 5s, clients: 3|--operations|4", "--operations: means nothing beside stages"},
		{"run|lock-contention|--mode|open|--rate|5|--stage|for: 5s, rate: 3", "--rate: means nothing beside stages"},
		{"run|lock-drain|--stage|for: 5s, clients: 3", "mean nothing in lockstep"},
		{"run|paper-barrier|--mode|closed|--stage|for: 5s, clients: 3", "in recipe doublebarrier clients depend on each other"},
		{"capacity|lock-contention|--objective|response-p99 < 50ms|--stage|for: 5s, rate: 3", "--stage are set by the search"},
	} {
		_, stderr, code := command(t.Context(), append(strings.Split(tt.args, "|"), "--out", filepath.Join(t.TempDir(), "out"))...)
		if code != outcome.CodeUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, got\n%s\nwant %s", tt.args, code, stderr, tt.want)
		}
	}
}

// A run in stages prints a line for each, and the gate accepts what it has measured.
func TestStagedRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	stdout, stderr, code := command(t.Context(), "run", "lock-contention", "--variants", "predecessor-watch", "--ensemble", "embedded", "--repeats", "1", "--warm-up", "100ms",
		"--stage", "for: 300ms, clients: 1", "--stage", "for: 700ms, clients: 5, ramp: true", "--out", out, "--name", testName("staged"))
	if code != outcome.CodePass || !strings.Contains(stdout, "  300ms to 1s  1 to 5 clients  ") {
		t.Errorf("exit code %d, got\n%s%s", code, stdout, stderr)
	}
	if files, err := os.ReadDir(out); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v; want 1", len(files), err)
	}
	if stdout, _, code := command(t.Context(), "gate", out); code != outcome.CodePass {
		t.Errorf("the gate: exit code %d, got\n%s", code, stdout)
	}
}
