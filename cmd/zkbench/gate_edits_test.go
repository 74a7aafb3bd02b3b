package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// drainedAsItStands measures lock-drain once, under the load of its baseline in results/baselines.
func drainedAsItStands(t *testing.T) string {
	t.Helper()
	s := must.Get(scenarios.Load("lock-drain", catalog.Recipes()))(t)
	s.Repeats = 1
	return plantedInMemory(t, s, catalog.Recipes())
}

// A result that was edited ends in exit code 5, and the gate names its file.
func TestGateRefusesEditedResults(t *testing.T) {
	t.Parallel()
	baselines := must.Get(filepath.Abs("../../" + defaultBaselines))(t)
	dir := drainedAsItStands(t)
	prints(t, outcome.CodePass, "PASS", "gate", dir, "--baseline", baselines)
	file := filepath.Join(dir, "lock-drain_lock-children-watch_n10_r1.json")
	edited := bytes.Replace(must.Get(os.ReadFile(file))(t), []byte(`"housekeeping": `), []byte(`"housekeeping": 1`), 1)
	must.Do(t, os.WriteFile(file, edited, 0o644))
	stdout := prints(t, outcome.CodeInvalid, "", "gate", dir, "--baseline", baselines)
	if !strings.Contains(strings.Join(strings.Fields(stdout), " "), "children-watch_n10_r1.json ") {
		t.Errorf("the file is not named in\n%s", stdout)
	}
}

// A rule that cannot fail, and a name that does not exist, are mistakes in the file.
func TestGateRefusesFilesThatDemandNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := drained(t)
	for _, tt := range []struct {
		text string
		code int
		says string
	}{
		{"- {scenario: lock-drain, check: requests/op < 1e300}", outcome.CodeUsage, "is always true"},
		{"- {scenario: lock-drain, check: acquire-p99 < 2h}", outcome.CodeUsage, "is always true"},
		{"- {scenario: lock-drain, check: predecessor-wacht requests/op < 5}", outcome.CodeUsage, `did you mean "predecessor-watch"?`},
		{"- {scenario: 'lock-*', check: reqests/op < 5}", outcome.CodeUsage, `did you mean "requests/op"?`},
		{"- {scenario: lock-dran, check: requests/op < 5}", outcome.CodeInvalid, `did you mean "lock-drain"?`},
		{"- {scenario: lock-drain, check: requests/op < 50}", outcome.CodePass, "PASS"},
	} {
		must.Do(t, os.WriteFile("f.yaml", []byte(tt.text), 0o644))
		stdout, stderr, code := command(t.Context(), "gate", dir, "--rules", "f.yaml")
		if said := strings.Join(strings.Fields(stdout+stderr), " "); code != tt.code || !strings.Contains(said, tt.says) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", tt.text, code, tt.code, tt.says, stdout, stderr)
		}
	}
}
