package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/results/store"
)

// closedDocument returns the document of a closed load of five clients, with a number of requests in each operation and 100
// requests per second.
func closedDocument(t *testing.T, run, scenario, variant string, repeat, repeats int, requests float64) *results.Document {
	t.Helper()
	const operations = 5
	total := int64(requests * operations)
	d := recordertest.Described()
	d.Run, d.Started, d.Variant, d.Clients, d.Repeat = run, time.Unix(0, 0), variant, 5, repeat
	d.Scenario = results.Scenario{Name: scenario, Mode: "closed", Size: 1, Operations: 1, Repeats: repeats, BystanderRate: 1}
	d.Scenario.Clients = []int{5}
	d.Phases, d.Operation, d.Waiting, d.UntimedPhases = []string{"handoff"}, "handoff", []string{}, []string{}
	d.Counts = results.Counts{Requests: map[string]int64{"exists": total}, Failed: map[string]int64{}}
	d.Expected, d.Oracle = results.Expected{Costs: map[string]results.Cost{}}, results.Oracle{Checked: true}
	end := time.Duration(total) * 10 * time.Millisecond
	m := recordertest.Measurement{Window: recordertest.Stretch{End: end}}
	for client := range operations {
		m.Spans = append(m.Spans, recordertest.Span{Phase: "handoff", Client: client, End: end})
	}
	m.Complete(d)
	return d
}

// writeRun writes a run's folder: two variants in turns, with a number of requests in each operation.
func writeRun(t *testing.T, dir, scenario string, first, step, repeats int, requests float64) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o755))
	for i := range repeats {
		for j, variant := range []string{"znode", "predecessor-watch"} {
			d := closedDocument(t, dir, scenario, variant, i+1, repeats, requests)
			d.Started = d.Started.Add(time.Duration(first+step*i)*time.Minute + time.Duration(j)*time.Second)
			must.Do(t, store.Write(d, dir))
		}
	}
}

func TestCompare(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("COLUMNS", "80")
	writeRun(t, "old", "a", 0, 2, 7, 4)
	writeRun(t, "new", "a", 1, 2, 7, 5)
	writeRun(t, filepath.Join(defaultRuns, "20260102T030405Z-ab12"), "a", 0, 1, 3, 4)
	for i := range 6 {
		writeRun(t, fmt.Sprintf("base-%d", i), "a", 2*i, 1, 1, 4)
		writeRun(t, fmt.Sprintf("head-%d", i), "a", 2*i+1, 1, 1, 5)
	}
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"two runs", []string{"old", "new"}, []string{"a on container: new, the base is old", "0.80×", "1.25×", "worse"}},
		{"three runs", []string{"old", "new", "results/runs/20260102T030405Z-ab12"}, []string{"a on container: new, the base is old", "a on container: results/runs/20260102T030405Z-ab12, the base is old"}},
		{"runs in turns", []string{"base-*", "head-*"}, []string{"a on container: head-*, the base is base-*", "[1.25, 1.25]  worse"}},
		{"one run", []string{"old"}, []string{"a on container: variants of old, the base is lock/predecessor-watch", "lock/znode, 7 repeats"}},
		{"one run with another base", []string{"old", "--base", "lock/znode"}, []string{"the base is lock/znode"}},
		{"the newest run", nil, []string{"variants of results/runs/20260102T030405Z-ab12", "3 pairs, too few: run with --repeats 6"}},
		{"one metric", []string{"old", "new", "--metrics", "req*"}, []string{"requests/op"}},
		{"markdown", []string{"old", "new", "--format", "markdown"}, []string{"| 5 | lock/znode | ops/s |"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := command(t.Context(), append([]string{"compare"}, tt.args...)...)
			if code != outcome.CodePass || stderr != "" {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			hasAll(t, stdout, tt.want...)
		})
	}
	stdout, _, _ := command(t.Context(), "compare", "old", "new", "--format", "json")
	var c struct{ Schema int }
	if err := json.Unmarshal([]byte(stdout), &c); err != nil || c.Schema != 1 {
		t.Errorf("JSON of schema %d, %v", c.Schema, err)
	}
	stdout, _, _ = command(t.Context(), "compare", "old", "new", "--format", "csv")
	if lines, err := csv.NewReader(strings.NewReader(stdout)).ReadAll(); err != nil || len(lines) != 13 {
		t.Errorf("%d lines of CSV, %v", len(lines), err)
	}
}

// Results that cannot be compared are a usage error. Results that cannot be read are a failure.
func TestCompareRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	writeRun(t, "a", "a", 0, 1, 1, 4)
	writeRun(t, "b", "b", 0, 1, 1, 4)
	writeRun(t, "cut", "a", 0, 1, 1, 4)
	must.Do(t, os.Truncate(must.Get(store.Files("cut"))(t)[0], 100))
	must.Do(t, os.Mkdir("empty", 0o755))
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nothing in common", []string{"a", "b"}, outcome.CodeUsage, "b has b with 5 clients: lock/predecessor-watch, lock/znode"},
		{"itself", []string{"a", "./a"}, outcome.CodeUsage, "given twice"},
		{"a copy", []string{"a", "a/a_lock-znode_n5_r1.json"}, outcome.CodeUsage, "stands on both sides"},
		{"a single file", []string{"a/a_lock-znode_n5_r1.json"}, outcome.CodeUsage, "has no two variants"},
		{"unknown metric", []string{"a", "--metrics", "ops/min"}, outcome.CodeUsage, `no metric matches "ops/min"; did you mean "ops/s"?`},
		{"bad pattern", []string{"a", "--metrics", "[x"}, outcome.CodeUsage, "is not a pattern"},
		{"unknown format", []string{"a", "--format", "jsn"}, outcome.CodeUsage, `did you mean "json"?`},
		{"unknown subject", []string{"a", "--across", "enginee"}, outcome.CodeUsage, `did you mean "engine"?`},
		{"base of two runs", []string{"a", "b", "--base", "znode"}, outcome.CodeUsage, "of a single run"},
		{"unknown base", []string{"a", "--base", "znod"}, outcome.CodeUsage, "no such variant"},
		{"truncated", []string{"a", "cut"}, outcome.CodeFailed, "truncated"},
		{"empty folder", []string{"a", "empty"}, outcome.CodeFailed, "holds no results"},
		{"no such folder", []string{"a", "none"}, outcome.CodeFailed, "no such file or folder"},
		{"a pattern that matches nothing", []string{"a", "none-*"}, outcome.CodeFailed, "no such file or folder"},
		{"no runs", nil, outcome.CodeFailed, "there are no runs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := command(t.Context(), append([]string{"compare"}, tt.args...)...)
			if code != tt.code || !strings.Contains(stderr, tt.want) || stdout != "" {
				t.Errorf("exit code %d, want %d; said %q, want %q in it; printed %q", code, tt.code, stderr, tt.want, stdout)
			}
		})
	}
}
