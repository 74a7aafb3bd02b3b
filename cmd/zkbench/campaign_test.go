package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
)

// A whole campaign with real processes, each with its own embedded server. Its verdict depends on the machine, but it must
// evaluate all pairs. A barrier has every phase in each round, whereas a lock may have no waiters.
func TestCampaign(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(asBinary, "1")
	own := must.Get(os.Executable())(t)
	load := []string{"--ensemble", "embedded", "--name", testName("pairs"), "--clients", "2", "--variants", "counted", "--operations", "20", "--warm-up", "0s",
		"--pairs", "6", "--cache", "cache/c.json", "--metrics", "requests/op,ops/s,enter-p50,enter-p90"}
	stdout, stderr, code := command(t.Context(), append([]string{"gate", "--run", "doublebarrier-rounds", "--base-binary", own, "--confirm", "7", "--out", "c", "--json", "g.json"}, load...)...)
	if !slices.Contains([]int{outcome.CodePass, outcome.CodeRegression, outcome.CodeInvalid}, code) || !strings.Contains(stdout, "enter, p50") && !strings.Contains(stdout, " pairs") || !strings.Contains(stdout, "not calibrated") || !strings.Contains(stdout, "an A/A") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	for _, pattern := range []string{"c/pair-0[1-6]/base/*.json", "c/pair-0[1-6]/head/*.json"} {
		if files, err := filepath.Glob(pattern); err != nil || len(files) != 6 {
			t.Errorf("%s: %v, %v", pattern, files, err)
		}
	}
	if _, err := os.Stat("c/campaign.json"); err != nil {
		t.Error(err)
	}
	says(t, outcome.CodeUsage, "not empty",
		append([]string{"gate", "--run", "doublebarrier-rounds", "--base-binary", own, "--out", "c"}, load...)...)
	stdout, stderr, code = command(t.Context(), append([]string{"calibrate", "doublebarrier-rounds", "--out", "d"}, load...)...)
	if code == outcome.CodeInvalid && strings.Contains(stderr, "out of CPU") {
		t.Skip("a control group that throttles cannot be calibrated")
	}
	if _, err := os.Stat("cache/c.json"); err != nil || code != outcome.CodePass || !strings.Contains(stdout, "enter-p50-ns") {
		t.Errorf("calibrate: exit code %d, %v: %s\n%s", code, err, stderr, stdout)
	}
}

// An error late in a campaign neither hides a violation nor makes it a pass.
func TestCutShort(t *testing.T) {
	for _, tt := range []struct {
		found outcome.Outcome
		err   error
		want  int
	}{
		{outcome.Pass, nil, outcome.CodePass},
		{outcome.Pass, errors.New("x"), outcome.CodeFailed},
		{outcome.Regression, errors.New("x"), outcome.CodeFailed},
		{outcome.Violation, context.Canceled, outcome.CodeInterrupted},
		{outcome.Violation, errors.New("x"), outcome.CodeBroken},
		{outcome.Pass, outcome.With(outcome.CodeBroken, errors.New("x")), outcome.CodeBroken},
		{outcome.Regression, outcome.With(outcome.CodeInvalid, errors.New("x")), outcome.CodeInvalid},
		{outcome.Pass, errors.Join(outcome.With(outcome.CodeInvalid, errors.New("x")), errors.New("y")), outcome.CodeFailed},
	} {
		r := cutShort(gate.NewReport([]gate.Check{{Outcome: tt.found}}, nil), tt.err)
		if r.Code != tt.want {
			t.Errorf("%s, then %v: exit code %d, want %d", tt.found, tt.err, r.Code, tt.want)
		}
	}
}

// A metric that the measurements cannot have is refused before the first of them.
func TestCampaignRefusesMetrics(t *testing.T) {
	own := must.Get(os.Executable())(t)
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		`did you mean "acquire-p50-ns"?`:       {"lock-contention", "--metrics", "acquier-p50"},
		"only in open loads":                   {"lock-contention", "--metrics", "response-p99"},
		"only in scenarios with faults":        {"lock-contention", "--metrics", "recovery-p50"},
		"ops/s is not measured in lockstep":    {"lock-drain", "--metrics", "ops/s"},
		"acquire-p99-ns is not measured in lo": {"lock-drain", "--metrics", "acquire-p99"},
	} {
		says(t, outcome.CodeUsage, want, append([]string{"calibrate", "lock-contention"}, args...)...)
		says(t, outcome.CodeUsage, want, append([]string{"gate", "--base-binary", own, "--run"}, args...)...)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Without a time to compare, there is nothing to calibrate.
func TestCalibrateRefusesCounts(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		"lock-drain: the gate compares only counts":       {"lock-contention", "lock-drain"},
		"lock-contention: the gate compares only counts":  {"lock-contention", "--metrics", "requests/op"},
		"queue-contention: the gate compares only counts": {"queue-contention", "--ensemble", "embedded"},
	} {
		says(t, outcome.CodeUsage, want, append([]string{"calibrate"}, args...)...)
	}
}

// Without a real ensemble, the embedded server is used only if the command line names it.
func TestCampaignDoesNotFallBack(t *testing.T) {
	own := must.Get(os.Executable())(t)
	t.Chdir(t.TempDir())
	t.Setenv(asBinary, "1") // should one fall back after all, its runs must be short ones, and not this test again
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("ZOOKEEPER_HOME", t.TempDir())
	for _, args := range [][]string{{"gate", "--run", "lock-contention", "--base-binary", own}, {"calibrate", "lock-contention"}} {
		says(t, outcome.CodeUsage, "or choose --ensemble embedded", append(args,
			"--cache", "c.json", "--clients", "1", "--variants", "znode", "--operations", "1", "--warm-up", "0s", "--pairs", "6")...)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
