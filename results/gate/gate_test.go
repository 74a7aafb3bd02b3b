package gate

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// Every set of outcomes, and the exit code by precedence: 4 > 1 > 5 > 3 > 0.
func TestExitCodeOfEveryCombination(t *testing.T) {
	outcomes := []outcome.Outcome{outcome.Pass, outcome.Regression, outcome.Inconclusive, outcome.Invalid, outcome.Error, outcome.Violation, "never heard of"}
	for set := range 1 << len(outcomes) {
		var checks []Check
		has := map[outcome.Outcome]bool{}
		for i, o := range outcomes {
			if set&(1<<i) != 0 {
				checks = append(checks, Check{Outcome: o})
				has[o] = true
			}
		}
		want := 0
		switch {
		case has[outcome.Violation]:
			want = 4
		case has[outcome.Error]:
			want = 1
		case has[outcome.Inconclusive], has[outcome.Invalid], has["never heard of"], set == 0:
			want = 5
		case has[outcome.Regression]:
			want = 3
		}
		for range 2 { // the order of checks means nothing
			if r := NewReport(checks, nil); r.Code != want || r.Verdict.Code() != want {
				t.Errorf("%v: the report says %d, want %d", slices.Sorted(maps.Keys(has)), r.Code, want)
			}
			slices.Reverse(checks)
		}
	}
}

func TestSelfTest(t *testing.T) {
	var codes []int
	for _, p := range SelfTest(now) {
		codes = append(codes, p.Report.Code)
		if p.Report.Code != p.Want {
			t.Errorf("%s: exit code %d, want %d: %+v", p.Name, p.Report.Code, p.Want, p.Report.Checks[0])
		}
	}
	if fmt.Sprint(codes) != "[3 3 0 5 5 3 3 3 3 3 5 5 5 0 3 5 5]" {
		t.Errorf("exit codes %v", codes)
	}
}

// outcomeOf returns the worst outcome of the checks of a rule, and fails if there is none.
func outcomeOf(t *testing.T, r Report, rule string) Check {
	t.Helper()
	for _, c := range r.Checks { // the worst comes first
		if c.Rule == rule {
			return c
		}
	}
	t.Fatalf("no check %q in %+v", rule, r.Checks)
	return Check{}
}

// Each fault of a result keeps the gate shut, without any rule of the user's.
func TestBuiltInChecks(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		spoil      func(d *results.Document)
		want       outcome.Outcome
		code       int
	}{
		{"nothing wrong", "valid", func(*results.Document) {}, outcome.Pass, 0},
		{"a violation", "promise kept", func(d *results.Document) { d.Violations = []results.Violation{{Text: "two holders"}} }, outcome.Violation, 4},
		{"a violation that the scenario expects", "promise kept", func(d *results.Document) {
			d.Violations, d.KnownBroken, d.Scenario.Broken = []results.Violation{{Text: "two holders"}}, "two may hold", []string{"other", d.Variant}
		}, outcome.Pass, 0},
		{"a known violation that the scenario does not expect", "promise kept", func(d *results.Document) {
			d.Violations, d.KnownBroken = []results.Violation{{Text: "two holders"}}, "two may hold"
		}, outcome.Violation, 4},
		{"invalid", "valid", func(d *results.Document) { d.Invalid = []string{"a reason"} }, outcome.Invalid, 5},
		{"a part of a measurement", "complete", func(d *results.Document) { d.Partial, d.Scenario.Duration = true, time.Hour }, outcome.Inconclusive, 5},
		{"an old schema", "schema", func(d *results.Document) { d.Schema = 0 }, outcome.Inconclusive, 5},
		{"oracles that disagree", "valid", func(d *results.Document) { d.Oracle = results.Oracle{Checked: true, ClientWrites: 1} }, outcome.Invalid, 5},
		{"an oracle that was not asked", "valid", func(d *results.Document) { d.Oracle = results.Oracle{ClientWrites: 1} }, outcome.Pass, 0},
		{"dropped values", "valid", func(d *results.Document) { d.Histograms = map[string]results.Histogram{"wait": {Dropped: 1}} }, outcome.Invalid, 5},
		{"a lost session", "valid", func(d *results.Document) { d.Health.SessionsLost = 1 }, outcome.Invalid, 5},
		{"a free-running load without CPU", "load as asked for", func(d *results.Document) { d.Scenario.Mode, d.Health.Throttled = results.ClosedMode, 1 }, outcome.Inconclusive, 5},
		{"a drain without CPU", "load as asked for", func(d *results.Document) { d.Health.Throttled = 1 }, outcome.Pass, 0},
		{"a generator that takes all CPUs", "load as asked for", func(d *results.Document) { d.Scenario.Mode, d.Health.ClientCPU = results.ClosedMode, 0.9 }, outcome.Inconclusive, 5},
		{"an embedded server that does", "load as asked for", func(d *results.Document) {
			d.Scenario.Mode, d.Health.ClientCPU, d.Environment.Engine = results.ClosedMode, 0.9, "embedded"
		}, outcome.Pass, 0},
		{"a missing repeat", "complete", func(d *results.Document) { d.Scenario.Repeats = 2 }, outcome.Inconclusive, 5},
		{"a missing number of clients", "complete", func(d *results.Document) { d.Scenario.Clients = []int{10, 50} }, outcome.Inconclusive, 5},
		{"a missing variant", "complete", func(d *results.Document) { d.Scenario.Variants = []string{"synthetic", "other"} }, outcome.Inconclusive, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := syntheticLockstep(1)
			tt.spoil(d)
			d.Invalid = doubts.Void(d) // as when it is read
			r := Evaluate(Evidence{Documents: []*results.Document{d}}, Rules{})
			if c := outcomeOf(t, r, tt.rule); c.Outcome != tt.want || r.Code != tt.code {
				t.Errorf("%s (%s), exit code %d; want %s, %d", c.Outcome, c.Why, r.Code, tt.want, tt.code)
			}
		})
	}
}

// Each metric of a closed load is missed if one of two repeats lacks it.
func TestEachMissingMetricIsNoticed(t *testing.T) {
	for name := range syntheticClosed(1).Metrics {
		one, two := syntheticClosed(1), syntheticClosed(1)
		for _, d := range []*results.Document{one, two} {
			d.Scenario.Repeats = 2
		}
		two.Repeat = 2
		delete(one.Metrics, name)
		if r := Evaluate(Evidence{Documents: []*results.Document{one, two}}, Rules{}); r.Code != 5 {
			t.Errorf("without %s: exit code %d", name, r.Code)
		}
	}
}

// A window of few periods may have no read by a bystander, and so may a whole load of exact counts; another one that has none lacks a metric.
func TestBystandersOfAShortWindow(t *testing.T) {
	exact, closed := func() *results.Document { return syntheticLockstep(1) }, func() *results.Document { return syntheticClosed(1) }
	for _, tt := range []struct {
		document   func() *results.Document
		rate, code int
	}{{closed, 5, 0}, {closed, 100, 5}, {exact, 1000, 0}} { // the closed load's window has 1 s
		one, two := tt.document(), tt.document()
		two.Repeat = 2
		for _, d := range []*results.Document{one, two} {
			d.Scenario.Repeats, d.Scenario.BystanderRate = 2, tt.rate
		}
		one.Metrics["bystander-p50-ns"], one.Metrics["bystander-service-max-ns"] = results.Metric{Value: 1e6}, results.Metric{Value: 1e6}
		if r := Evaluate(Evidence{Documents: []*results.Document{one, two}}, Rules{}); r.Code != tt.code {
			t.Errorf("%d reads per second: exit code %d, want %d: %+v", tt.rate, r.Code, tt.code, r.Checks[0])
		}
	}
}

// A floor that could not be measured in one repeat does not invalidate that repeat; a claim about it is then inconclusive.
func TestAMissingFloorIsNoFault(t *testing.T) {
	one, two := syntheticClosed(1), syntheticClosed(1)
	one.Scenario.Repeats, two.Scenario.Repeats, two.Repeat = 2, 2, 2
	one.Metrics["floor-handoff-p50-ns"], one.Metrics["wait-p50/floor"] = results.Metric{Value: 1e6}, results.Metric{Value: 2}
	docs := []*results.Document{one, two}
	if r := Evaluate(Evidence{Documents: docs}, Rules{}); r.Code != 0 {
		t.Errorf("exit code %d: %+v", r.Code, r.Checks)
	}
	delete(one.Metrics, "wait-p50/floor")
	claims := must.Get(ParseRules("rules.yaml", []byte("- scenario: self-test\n  check: wait-p50/floor <= 3\n"), Names{}))(t)
	if r := Evaluate(Evidence{Documents: docs}, Rules{Assertions: claims}); r.Code != 5 {
		t.Errorf("a claim about a floor that is not there: exit code %d", r.Code)
	}
}

func breach(d *results.Document) {
	d.Violations = []results.Violation{{Text: "two holders"}}
	d.Metrics[metric.Violations] = results.Metric{Value: 1, Unit: "violations"}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	d := syntheticLockstep(1)
	must.Do(t, store.Write(d, dir))
	if e := Read([]string{dir}); len(e.Documents) != 1 || len(e.Unreadable) != 0 || Evaluate(e, Rules{}).Code != 0 {
		t.Errorf("a whole folder is read as %+v", e)
	}
	d.Scenario.Repeats = 2 // of which there is one, however often it is given
	again := t.TempDir()
	must.Do(t, store.Write(d, again))
	for _, paths := range [][]string{{again, again}, {again, filepath.Join(again, d.Filename())}, {again, again + "/."}} {
		if e := Read(paths); len(e.Documents) != 1 || Evaluate(e, Rules{}).Code != 5 {
			t.Errorf("%q: %d documents, want 1, and a missing repeat", paths, len(e.Documents))
		}
	}
	d.Scenario.Repeats = 1
	empty := t.TempDir()
	for path, want := range map[string]int{empty: 5, filepath.Join(empty, "none.json"): 1} {
		if e := Read([]string{path}); len(e.Unreadable) != 1 || Evaluate(e, Rules{}).Code != want {
			t.Errorf("%s is read as %+v", path, e)
		}
	}
	file := filepath.Join(dir, d.Filename())
	text := must.Get(os.ReadFile(file))(t)
	d.Repeat, d.Scenario.Repeats = 2, 2
	breach(d)
	must.Do(t, store.Write(d, dir))
	for _, length := range []int{0, 1, len(text) / 2, len(text) - 2} {
		must.Do(t, os.WriteFile(file, text[:length], 0o644))
		if e := Read([]string{file}); Evaluate(e, Rules{}).Code != 5 {
			t.Errorf("cut after %d bytes: %+v", length, e)
		}
		if code := Evaluate(Read([]string{dir}), Rules{}).Code; code != 4 {
			t.Errorf("a truncated file hides the violation in another: exit code %d", code)
		}
	}
}

// A copy of a result does not count as a second repeat.
func TestCopiesAreNoRepeats(t *testing.T) {
	one, two := syntheticLockstep(1), syntheticLockstep(1)
	one.Scenario.Repeats, two.Scenario.Repeats = 2, 2
	if r := Evaluate(Evidence{Documents: []*results.Document{one, two}}, Rules{}); r.Code != 5 {
		t.Errorf("exit code %d", r.Code)
	}
}

// The name of a folder is not used as a pattern, which could match another folder.
func TestReadAFolderThatLooksLikeAPattern(t *testing.T) {
	dir := t.TempDir()
	sound, broken := syntheticLockstep(1), syntheticLockstep(1)
	breach(broken)
	for name, d := range map[string]*results.Document{"out1": sound, "out[1]": broken} {
		run := filepath.Join(dir, name)
		must.Do(t, errors.Join(os.Mkdir(run, 0o755), store.Write(d, run)))
	}
	if r := Evaluate(Read([]string{filepath.Join(dir, "out[1]")}), Rules{}); r.Code != 4 {
		t.Errorf("exit code %d, want 4", r.Code)
	}
}

func TestRequired(t *testing.T) {
	for name, want := range map[string]int{"self-test": 0, "other": 5} {
		if r := Evaluate(Evidence{Documents: []*results.Document{syntheticLockstep(1)}}, Rules{Required: []string{name}}); r.Code != want {
			t.Errorf("%s: exit code %d, want %d", name, r.Code, want)
		}
	}
}

// An interrupted run may have lost whole variants, of which only the recipe knows.
func TestVariantsThatTheScenarioDoesNotName(t *testing.T) {
	for _, tt := range []struct {
		named string
		of    []string
		want  int
	}{{"", nil, 0}, {"", []string{"synthetic"}, 0}, {"", []string{"synthetic", "lost"}, 5}, {"synthetic", []string{"synthetic", "lost"}, 0}} {
		d := syntheticLockstep(1)
		d.Scenario.Variants = strings.FieldsFunc(tt.named, func(r rune) bool { return r == ',' })
		rules := Rules{VariantsOf: func(*results.Document) []string { return tt.of }}
		if r := Evaluate(Evidence{Documents: []*results.Document{d}}, rules); r.Code != tt.want {
			t.Errorf("%q of %v: exit code %d, want %d", tt.named, tt.of, r.Code, tt.want)
		}
	}
}

// A repeat may lack a slowdown, which needs a number of requests, and nothing else that another repeat has.
func TestMissingAmongRepeats(t *testing.T) {
	for metric, want := range map[string]string{
		"background-write-p99-slowdown": "",
		"background-write-p99-ns":       "without background-write-p99-ns",
		"floor-write-p50-ns":            "",
	} {
		whole, part := syntheticClosed(1), syntheticClosed(2)
		whole.Metrics[metric] = results.Metric{Value: 1}
		delete(part.Metrics, metric)
		group := []*results.Document{whole, part}
		if got := missingAmong(group)(part); got != want {
			t.Errorf("a repeat without %s: %q, want %q", metric, got, want)
		}
	}
}
