package main

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/outcome"
)

// A breach of a variant that is known to be broken fails a run and the gate, unless the scenario expects it. All commands read
// the documents of a load that got stuck.
func TestKnownBrokenVariant(t *testing.T) {
	outsideCI(t)
	t.Chdir(t.TempDir())
	load := []string{"--variants", "writelock,predecessor-watch", "--clients", "3", "--think", "5ms", "--duration", "15s", "--repeats", "1"}
	for _, tt := range []struct {
		scenario, dir string
		run, gate     int
	}{
		{"lock-writelock", "expected", outcome.CodePass, outcome.CodePass},
		{"lock-contention", "unexpected", outcome.CodeBroken, outcome.CodeBroken},
	} {
		args := append([]string{"run", tt.scenario, "--out", tt.dir}, load...)
		if tt.scenario == "lock-contention" {
			args = append(args, "--hold", "0s")
		}
		stdout, stderr, code := inMemory(t, embedded.Config{ReadDelay: time.Millisecond, WriteDelay: 2 * time.Millisecond}, args...)
		if code != tt.run || !strings.Contains(stdout, "known broken: lock/writelock") || !strings.Contains(stdout, "which is gone") {
			t.Errorf("%s: exit code %d, want %d; it said %s\n%s", tt.scenario, code, tt.run, stdout, stderr)
		}
		prints(t, tt.gate, "", "gate", tt.dir)
		for _, other := range [][]string{
			{"report", tt.dir}, {"report", tt.dir, "--format", "markdown"}, {"report", tt.dir, "--format", "csv"}, {"report", tt.dir, "--format", "json"},
			{"compare", tt.dir}, {"plot", tt.dir, "--format", "svg"},
		} {
			prints(t, outcome.CodePass, "", other...)
		}
	}
}
