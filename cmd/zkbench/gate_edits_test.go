package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// A result that was edited ends in 5, and the gate names its file.
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
	for name, edit := range map[string]func(text string) string{
		"another count":   func(s string) string { return strings.Replace(s, `"housekeeping": `, `"housekeeping": 1`, 1) },
		"a warning less":  func(s string) string { return strings.Replace(s, `"warnings": [`, `"warnings": ["none", `, 1) },
		"a part less":     func(s string) string { return strings.Replace(s, `"reconnects": 0,`, "", 1) },
		"an unknown part": func(s string) string { return strings.Replace(s, `"reconnects": 0`, `"reconnects": 0, "helth": 1`, 1) },
		"a key twice": func(s string) string {
			return strings.Replace(s, `"reconnects": 0`, `"reconnects": 3, "reconnects": 0`, 1)
		},
		"a key twice, in capitals": func(s string) string {
			return strings.Replace(s, `"reconnects": 0`, `"reconnects": 0, "RECONNECTS": 0`, 1)
		},
		"a number without end": func(s string) string { return strings.Replace(s, `"reconnects": 0`, `"reconnects": 1e999`, 1) },
		"another schema":       func(s string) string { return strings.Replace(s, `"schema": 1`, `"schema": 99`, 1) },
		"no digest":            func(s string) string { return strings.Replace(s, `"digest": `, `"": `, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			changed := edit(string(whole))
			if changed == string(whole) {
				t.Fatal("nothing was changed")
			}
			if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			judge(outcome.CodeInvalid, "children-watch_n10_r1.json ")
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
