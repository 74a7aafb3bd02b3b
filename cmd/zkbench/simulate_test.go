package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/variants/simulation"
)

// A variant that is known to be broken fails: its story is printed, and the plan that is kept fails again.
func TestSimulateFindsABrokenVariant(t *testing.T) {
	t.Setenv(asBinary, "1") // for the workers
	out := t.TempDir()
	stdout, stderr, code := command(t.Context(), "simulate", "lock/writelock", "--out", out)
	if code != outcome.CodeBroken || !strings.Contains(stdout, "HANG: no step has been completed") || !strings.Contains(stderr, "lock/writelock, seed ") {
		t.Fatalf("exit code %d, stdout\n%s\nstderr\n%s", code, stdout, stderr)
	}
	prints(t, outcome.CodeBroken, "of 10 runs.", "simulate", "--plan", filepath.Join(out, "lock-writelock-hang.json"))
}

// A sound variant passes, and the next seed is printed. The replay of a plan that does not fail says so.
func TestSimulateSoundVariants(t *testing.T) {
	t.Setenv(asBinary, "1")
	stdout := prints(t, outcome.CodePass, "9 runs in ", "simulate", "lock/znode", "barrier", "--seeds", "3", "--from", "7")
	hasAll(t, stdout, "the next seed is --from 10")
	const plan, want = "../../variants/simulation/testdata/doublebarrier-counted.json", "The plan failed in 0 of 10 runs.\n"
	if stdout := prints(t, outcome.CodePass, want, "simulate", "--plan", plan); stdout != want {
		t.Errorf("a plan that does not fail: %s", stdout)
	}
}

// An interrupt ends the command with its exit code, even if a worker could not be started any more.
func TestSimulateIsInterrupted(t *testing.T) {
	t.Setenv(asBinary, "1")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	for _, args := range [][]string{{"lock/writelock"}, {"--plan", "testdata/writelock-plan.json"}} {
		if _, stderr, code := command(ctx, append([]string{"simulate"}, args...)...); code != outcome.CodeInterrupted {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// The story of a plan, without its times.
func TestStory(t *testing.T) {
	t.Setenv(asBinary, "1")
	stdout, _, _ := command(t.Context(), "simulate", "--plan", "testdata/writelock-plan.json")
	times := regexp.MustCompile(`\d+m\d[\d.]*s|\d[\d.]*(µs|ms)`)
	golden.Compare(t, filepath.Join("testdata", "story.txt"), []byte(times.ReplaceAllString(stdout, "T")))
}

// The table of all variants fits a terminal.
func TestSimulateTable(t *testing.T) {
	all, err := selectSimulated(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		v.runs, v.faults, v.longest = 100_000, 1_000_000, simulation.Duration(100*time.Second)
		for _, loss := range v.variant.Forgoes {
			v.lost[loss] = 1_000_000
		}
	}
	text, dropped := (&simulating{variants: all}).table().Text(80)
	if table.Width(text) > 80 || len(dropped) > 0 || !strings.Contains(text, "\n  items-lost ") {
		t.Errorf("%d columns without %v:\n%s", table.Width(text), dropped, text)
	}
}

// Mistakes in the command line are named before anything runs.
func TestSimulateUsage(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "plan.json")
	must.Do(t, os.WriteFile(broken, []byte(`{"recipe": "lock", "variant": "znode", "clients": 99}`), 0o600))
	for want, args := range map[string][]string{
		`"nosuch" names no recipe`:     {"nosuch"},
		`"lock/kazoo" names no recipe`: {"lock/kazoo"},
		"--seeds must be positive":     {"--seeds", "0"},
		"[for seeds] were all set":     {"--for", "5s", "--seeds", "3"},
		"[from plan] were all set":     {"--from", "5", "--plan", broken},
		"no such file":                 {"--plan", "testdata/missing.json"},
		"from 1 to 16 clients, not 99": {"--plan", broken},
		"--plan names the variant":     {"lock", "--plan", broken},
		"--for not negative":           {"--for", "-1s"},
	} {
		says(t, outcome.CodeUsage, want, append([]string{"simulate"}, args...)...)
	}
}

// The seeds go on from 0 behind the largest one.
func TestSimulateFromTheLastSeed(t *testing.T) {
	t.Setenv(asBinary, "1")
	prints(t, outcome.CodePass, "3 runs", "simulate", "lock/znode", "--from", "18446744073709551615", "--seeds", "3")
}
