package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios/search"
)

// On a server that takes 10 ms for each write, a lock whose acquire and release are a write each serves 50 operations per second. On a
// machine that is too busy to measure this, zkbench finds no capacity, but never a larger one. It takes half a minute, because the
// arrivals of an open load wait for the real clock, for 2 s in each trial.
func TestCapacity(t *testing.T) {
	t.Parallel()
	measurement(t)
	out, file := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "c.json")
	stdout, stderr, code := command(t.Context(), "capacity", "lock-uncontended", "--variants", "predecessor-watch", "--clients", "4", "--hold", "0s",
		"--objective", "response-p90 < 500ms", "--first", "30", "--duration", "2s", "--repeats", "1", "--out", out, "--json", file,
		"--ensemble", "embedded", "--name", testName("capacity"), "--write-delay", "10ms")
	var r capacity.Report
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || len(r.Variants) != 1 || code != outcome.CodePass && code != outcome.CodeInvalid {
		t.Fatalf("exit code %d, %v, %+v\n%s%s", code, err, r, stdout, stderr)
	}
	v := r.Variants[0]
	if (code == outcome.CodePass) != (v.Capacity > 0) || (v.Capacity > 0) != (v.Why == "") {
		t.Errorf("exit code %d with %+v", code, v)
	}
	if v.Capacity > 52 || v.Capacity > 0 && v.Refuted <= v.Capacity {
		t.Errorf("a capacity of %d, refuted at %d, on a server that makes 100 writes in a second", v.Capacity, v.Refuted)
	}
	t.Logf("capacity %d, %s", v.Capacity, v.Why)
	if !strings.Contains(stdout, "predecessor-watch") || !strings.Contains(stdout, out) || !strings.Contains(stdout, "EMBEDDED: ") {
		t.Errorf("printed\n%s", stdout)
	}
	docs, err := store.ReadAll([]string{out})
	if err != nil || len(docs) == 0 {
		t.Errorf("%d results of trials: %v", len(docs), err)
	}
	gateCapacity(t, out, file, code)
}

// gateCapacity checks the verdicts of the gate on the results of a search on the embedded server, and that it keeps their
// files.
func gateCapacity(t *testing.T, out, file string, code int) {
	t.Helper()
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("- {scenario: lock-uncontended, check: predecessor-watch capacity >= 2, objective: response-p90 < 500ms}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	inFolder := filepath.Join(out, capacity.File)
	for _, tt := range []struct {
		args []string
		want int
		text string
	}{
		{[]string{out}, code, "predecessor-watch"},
		{[]string{out, "--rules", rules}, outcome.CodeInvalid, "capacity >= 2 where response-p90 < 500ms"},
		{[]string{file, "--rules", rules}, outcome.CodeInvalid, "capacity >= 2 where response-p90 < 500ms"},
		{[]string{out, "--json", inFolder}, outcome.CodeUsage, "is also an input"},
	} {
		stdout, stderr, got := command(t.Context(), append([]string{"gate"}, tt.args...)...)
		if wantText := tt.want != outcome.CodePass; got != tt.want || wantText && !strings.Contains(stdout+stderr, tt.text) {
			t.Errorf("gate %v: exit code %d, want %d with %q\n%s%s", tt.args, got, tt.want, tt.text, stdout, stderr)
		}
	}
	for _, other := range []string{"report", "plot", "compare"} {
		if _, stderr, got := command(t.Context(), other, inFolder); got != outcome.CodeFailed || !strings.Contains(stderr, "only `zkbench gate` reads it") {
			t.Errorf("%s of the report: exit code %d, %s", other, got, stderr)
		}
	}
	if _, stderr, got := command(t.Context(), "capacity", "lock-uncontended", "--ensemble", "embedded", "--objective", "response-p99 < 5ms", "--out", out); got != outcome.CodeUsage {
		t.Errorf("into the same folder: exit code %d, %s", got, stderr)
	}
}

func TestCapacityMistakes(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		args       []string
	}{
		{"no objective", `required flag(s) "objective" not set`, nil},
		{"no limit", "METRIC < LIMIT", []string{"--objective", "response-p99"}},
		{"unknown metric", `did you mean "response-p99-ns"`, []string{"--objective", "respons-p99 < 5ms"}},
		{"a phase of an open load", "measured only in open loads", []string{"--by", "clients", "--objective", "response-p99 < 5ms"}},
		{"neither", `--by cannot be "size"`, []string{"--by", "size", "--objective", "response-p99 < 5ms"}},
		{"its own rate", "--by rate", []string{"--rate", "100", "--objective", "response-p99 < 5ms"}},
		{"two numbers of clients", "one number", []string{"--clients", "1,2", "--objective", "response-p99 < 5ms"}},
		{"clients that the search sets", "use --first and --most", []string{"--by", "clients", "--clients", "20", "--objective", "acquire-p99 < 5ms"}},
		{"nothing to try", "--first", []string{"--first", "10", "--most", "5", "--objective", "response-p99 < 5ms"}},
		{"a rate as the objective", "grows with the load", []string{"--objective", "ops/s > 100"}},
		{"the wrong direction", "choose < or <=", []string{"--objective", "response-p99 > 50ms"}},
		{"a limit that nothing meets", "never true", []string{"--objective", "response-p99 < -5ms"}},
		{"a metric of the ensemble", "does not show how well", []string{"--objective", "floor-write-p50 < 5ms"}},
		{"a background that is not there", "only in scenarios with a background", []string{"--objective", "background-read-p99 < 5ms"}},
		{"a recovery from no fault", "only in scenarios with faults", []string{"--objective", "recovery-max < 5s"}},
		{"a share of a load that has no limit", "only in scenarios with at-most", []string{"--objective", "finished > 0.5"}},
		{"a load that no scenario may have", "--most wants at most", []string{"--most", "1000000", "--objective", "response-p99 < 5ms"}},
		{"its own limit", "--at-most", []string{"--at-most", "1m", "--objective", "response-p99 < 5ms"}},
		{"an objective that cannot fail", "always true", []string{"--objective", "response-p99 < 48h"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, stderr, code := command(t.Context(), append([]string{"capacity", "lock-contention", "--ensemble", "embedded"}, tt.args...)...)
			if code != outcome.CodeUsage || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit code %d, want %d with %q in\n%s", code, outcome.CodeUsage, tt.want, stderr)
			}
		})
	}
	_, stderr, code := command(t.Context(), "capacity", "barrier-rounds", "--ensemble", "embedded", "--objective", "response-p99 < 5ms")
	if code != outcome.CodeUsage || !strings.Contains(stderr, "each operation needs all clients") {
		t.Errorf("of a barrier: exit code %d with\n%s", code, stderr)
	}
}

// The report of a search in a folder counts as results. An earlier copy is removed by a search that finds nothing.
func TestCapacityReplacesNoOtherReport(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, capacity.File), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := checkOut(dir); err == nil || !strings.Contains(err.Error(), "already holds results") {
		t.Errorf("into a folder with a report: %v", err)
	}
	file := filepath.Join(dir, "copy.json")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := command(t.Context(), "capacity", "lock-uncontended", "--ensemble", "embedded", "--objective", "response-p99 < 5ms", "--out", dir, "--json", file)
	if _, err := os.Stat(file); code != outcome.CodeUsage || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("exit code %d (%s), and the earlier copy: %v", code, stderr, err)
	}
}

// The result of a search is stored even if it cannot be printed, or if its copy cannot be written.
func TestCapacityIsStoredFirst(t *testing.T) {
	for _, tt := range []struct {
		name, json string
		code       int
	}{
		{"no standard output", "copy.json", outcome.CodeInvalid},
		{"nor a copy", filepath.Join("none", "copy.json"), outcome.CodeFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := t.TempDir()
			stdout, stopped := io.Pipe()
			stdout.Close()
			a, copied := app{stdout: stopped}, filepath.Join(out, tt.json)
			trials := &search.Trials{Folder: out, Documents: []*results.Document{{}}}
			err := a.finish(trials, capacity.Report{Engine: "container", Variants: []capacity.Capacity{{Variant: "znode"}}}, copied)
			if code := exitCode(t.Context(), err); code != tt.code {
				t.Errorf("exit code %d: %v", code, err)
			}
			if _, err := os.Stat(filepath.Join(out, capacity.File)); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(copied); tt.json == "copy.json" && err != nil {
				t.Error(err)
			}
		})
	}
}

// A search that ends before its first result leaves no empty folder, which would be the newest run.
func TestCapacityWithoutAResult(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for name, args := range map[string][]string{
		"no server":      {"--servers", "127.0.0.1:1"},
		"an interrupt":   {"--ensemble", "embedded", "--name", testName("none")},
		"another folder": {"--ensemble", "embedded", "--name", testName("none"), "--out", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if _, stderr, code := command(interrupted, append([]string{"capacity", "lock-uncontended", "--objective", "response-p99 < 5ms"}, args...)...); code == outcome.CodePass {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			if left, err := filepath.Glob(filepath.Join(defaultRuns, "*")); err != nil || len(left) > 0 {
				t.Errorf("%v are left (%v)", left, err)
			}
			if _, err := os.Stat("other"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the folder of --out: %v", err)
			}
		})
	}
}

// Fewer clients do not make a fault possible.
func TestCapacityOfImpossibleFaults(t *testing.T) {
	_, stderr, code := command(t.Context(), "capacity", "lock-contention", "--ensemble", "embedded", "--by", "clients", "--objective", "acquire-p99 < 5ms", "--fault", "partition: leader, at: 1s, for: 1s")
	if code != outcome.CodeUsage || strings.Contains(stderr, "trying fewer") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// The warnings of the last confirmations are printed once each. The kind of servers is that of all trials.
func TestDoubtsOfACapacity(t *testing.T) {
	measured := func(variant, warning string) *results.Document {
		d := &results.Document{Variant: variant, Warnings: []string{warning}, Clients: 5, Repeat: 1}
		d.Environment.Engine, d.Environment.TxnLog = "container", "tmpfs on tmpfs"
		return d
	}
	var out strings.Builder
	c := &search.Trials{Documents: []*results.Document{measured("znode", "of a trial")}}
	c.Confirmed = []*results.Document{measured("children-watch", "a slow disk"), measured("znode", "a slow disk")}
	a := app{stdout: &out}
	a.printDoubts(c)
	for text, want := range map[string]int{"warning: a slow disk (2 of 2 measurements)": 1, "warning: of": 0, "TRANSACTION LOGS IN MEMORY": 1, "EMBEDDED": 0} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q is there %d times, want %d, in\n%s", text, got, want, out.String())
		}
	}
}
