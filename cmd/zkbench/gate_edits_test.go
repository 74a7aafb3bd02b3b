package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// drainedAsItStands measures lock-drain once, under the load that results/baselines has it with.
func drainedAsItStands(t *testing.T) string {
	t.Helper()
	s, err := scenarios.Load("lock-drain", catalog.Recipes())
	if err != nil {
		t.Fatal(err)
	}
	s.Repeats = 1
	return plantedInMemory(t, s, catalog.Recipes())
}

// object returns a part of a document.
func object(d map[string]any, path ...string) map[string]any {
	for _, name := range path {
		d, _ = d[name].(map[string]any)
	}
	return d
}

// A result that somebody has edited, or that was written by something broken, ends in 5, and the gate names the part.
func TestGateRefusesEditedResults(t *testing.T) {
	t.Parallel()
	measurement(t)
	baselines, err := filepath.Abs("../../" + defaultBaselines)
	if err != nil {
		t.Fatal(err)
	}
	dir := drainedAsItStands(t)
	file := filepath.Join(dir, "lock-drain_lock-children-watch_n10_r1.json")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	judge := func(want int, says string) {
		t.Helper()
		stdout, stderr, code := command(t.Context(), "gate", dir, "--baseline", baselines)
		if said := strings.Join(strings.Fields(stdout), " "); code != want || !strings.Contains(said, says) {
			t.Errorf("exit code %d, want %d and %q: %s\n%s", code, want, says, stderr, stdout)
		}
	}
	judge(outcome.CodePass, "PASS")
	metric := func(value any) func(map[string]any) {
		return func(d map[string]any) { object(d, "metrics")[results.RequestsPerOp] = value }
	}
	without := func(part string) func(map[string]any) {
		return func(d map[string]any) { delete(d, part) }
	}
	health := func(name string, value any) func(map[string]any) {
		return func(d map[string]any) { object(d, "health")[name], d["invalid"] = value, []any{} }
	}
	for _, tt := range []struct {
		name string
		edit func(d map[string]any)
		says string
	}{
		{"a metric without a value", metric(map[string]any{"value": nil}), "metrics.requests/op.value is null"},
		{"an empty metric", metric(map[string]any{}), "metrics.requests/op.value is missing"},
		{"a negative metric", metric(map[string]any{"value": -5, "unit": "per op"}), "metrics.requests/op.value is negative"},
		{"a metric that nothing makes", func(d map[string]any) { object(d, "metrics")["wait-p50-ns"] = map[string]any{"value": 1, "unit": "ns"} }, "does not follow from"},
		{"no health", without("health"), "health is missing"},
		{"no oracle", without("oracle"), "oracle is missing"},
		{"no counts", without("counts"), "counts is missing"},
		{"no histograms", without("histograms"), "histograms is missing"},
		{"no herd", without("herd"), "herd is missing"},
		{"no violations", without("violations"), "violations is missing"},
		{"no invalid", without("invalid"), "invalid is missing"},
		{"no environment", without("environment"), "environment is missing"},
		{"no metrics", without("metrics"), "metrics is missing"},
		{"health that is null", func(d map[string]any) { d["health"] = nil }, "health is null"},
		{"another leader, kept quiet", health("leader_changed", true), "health.leader_changed"},
		{"reconnects, kept quiet", health("reconnects", 3), "3 times a session had to reconnect"},
		{"lost sessions, kept quiet", health("sessions_lost", 1), "1 sessions were lost"},
		{"unmatched replies, kept quiet", health("unmatched_replies", 2), "could not match 2 replies"},
		{"bystanders' errors, kept quiet", health("bystander_errors", 4), "4 reads by bystanders failed"},
		{"oracles that disagree, kept quiet", func(d map[string]any) { object(d, "oracle")["server_transactions"] = 1 }, "servers made 1 transactions"},
		{"no operations", func(d map[string]any) { object(d, "window")["operations"] = 0 }, "window.operations is 0"},
		{"counts that contradict metrics", func(d map[string]any) { object(d, "counts")["bytes_in"] = 1 }, "metrics.bytes/op"},
		{"counts that contradict each other", func(d map[string]any) { object(d, "counts", "requests")["create"] = 1 }, "counts.total_requests"},
		{"an unknown part", func(d map[string]any) { d["helth"] = map[string]any{} }, "helth is unknown"},
		{"another schema", func(d map[string]any) { d["schema"] = 99 }, "schema 99"},
		{"a load of another kind", func(d map[string]any) { object(d, "scenario")["mode"] = "open" }, "scenario.mode"},
		{"another machine than the rest of the run", func(d map[string]any) { object(d, "environment")["cpus"] = 64 }, "environment.cpus"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d map[string]any
			if err := json.Unmarshal(whole, &d); err != nil {
				t.Fatal(err)
			}
			tt.edit(d)
			if err := results.WriteJSON(file, d); err != nil {
				t.Fatal(err)
			}
			judge(outcome.CodeInvalid, tt.says)
		})
	}
	for name, double := range map[string]string{
		"a key that stands twice":        strings.Replace(string(whole), `"reconnects": 0`, `"reconnects": 3, "reconnects": 0`, 1),
		"a part that stands twice":       strings.Replace(string(whole), `"invalid": []`, `"invalid": ["a reason"], "invalid": []`, 1),
		"a key that stands twice, aloud": strings.Replace(string(whole), `"reconnects": 0`, `"reconnects": 0, "RECONNECTS": 0`, 1),
		"a number without end":           strings.Replace(string(whole), `"reconnects": 0`, `"reconnects": 1e999`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			if double == string(whole) {
				t.Fatal("nothing was changed")
			}
			if err := os.WriteFile(file, []byte(double), 0o644); err != nil {
				t.Fatal(err)
			}
			judge(outcome.CodeInvalid, "does not fit schema 1")
		})
	}
}

// What is named like a result and is no file is told of, and waits for nothing: no pipe's writer ever comes.
func TestGateOfWhatIsNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := drained(t)
	odd := filepath.Join(dir, "lock-drain_lock-znode_n5_r1.json")
	for name, place := range map[string]func() error{
		"a named pipe": func() error { return syscall.Mkfifo(odd, 0o644) },
		"a device":     func() error { return os.Symlink("/dev/zero", odd) },
		"a folder":     func() error { return os.Mkdir(odd, 0o755) },
		"a huge file": func() error {
			if err := os.WriteFile(odd, nil, 0o644); err != nil {
				return err
			}
			return os.Truncate(odd, 1<<40) // it takes no room
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := place(); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(odd)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				if stdout, _, code := command(ctx, "gate", dir); code != outcome.CodeInvalid || !strings.Contains(stdout, odd) {
					t.Errorf("exit code %d\n%s", code, stdout)
				}
			}()
			select {
			case <-done:
			case <-ctx.Done():
				t.Fatal("the gate hangs")
			}
		})
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
		if err := os.WriteFile("f.yaml", []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := command(t.Context(), "gate", dir, "--rules", "f.yaml")
		if said := strings.Join(strings.Fields(stdout+stderr), " "); code != tt.code || !strings.Contains(said, tt.says) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", tt.text, code, tt.code, tt.says, stdout, stderr)
		}
	}
}
