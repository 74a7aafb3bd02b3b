package gate

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

func capacityRule(t *testing.T, fields string) Assertion {
	t.Helper()
	rules := must.Get(ParseRules("r.yaml", []byte("- {"+fields+"}"), Names{}))(t)
	return rules[0]
}

// twoCapacities returns a report with capacities of about 400 and 200, and a variant without one.
func twoCapacities() capacity.Report {
	r := syntheticCapacity(400)
	slow := syntheticCapacity(200).Variants[0]
	slow.Variant = "slow"
	none := capacity.NewSearch(50, 50)
	none.Report(capacity.Trial{Load: 50, Purpose: capacity.Bracket, Outcome: capacity.Holds, Why: "1.00 ms"})
	r.Variants = append(r.Variants, slow)
	r.Add("endless", none)
	return r
}

func TestCapacityRules(t *testing.T) {
	const p99 = ", objective: response-p99 < 50ms"
	two := twoCapacities()
	embedded, clients, fewer := twoCapacities(), twoCapacities(), twoCapacities()
	embedded.Engine = results.Embedded
	clients.By, clients.Clients, clients.Objective = capacity.ByClients, 0, "acquire-p99 < 50ms"
	fewer.Clients = 10
	fewer.Variants = fewer.Variants[1:]
	for _, tt := range []struct {
		name, rule string
		reports    []capacity.Report
		want       outcome.Outcome
		why        string
	}{
		{"above", "check: synthetic capacity >= 300" + p99, []capacity.Report{two}, outcome.Pass, "it is 400, against 300"},
		{"equal", "check: synthetic capacity >= 400" + p99, []capacity.Report{two}, outcome.Pass, "within the 10 % by which two searches may differ"},
		{"not more", "check: synthetic capacity > 400" + p99, []capacity.Report{two}, outcome.Regression, "within the 10 % by which two searches may differ"},
		{"below", "check: synthetic capacity >= 500" + p99, []capacity.Report{two}, outcome.Regression, "it is 400, against 500"},
		{"narrowly below", "check: synthetic capacity >= 419" + p99, []capacity.Report{two}, outcome.Regression, "another search may decide otherwise"},
		{"as far below as two searches differ", "check: synthetic capacity >= 438" + p99, []capacity.Report{two}, outcome.Regression, "another search may decide otherwise"},
		{"as far above as two searches differ", "check: synthetic capacity >= 366" + p99, []capacity.Report{two}, outcome.Pass, "another search may decide otherwise"},
		{"a narrow multiple", "check: synthetic capacity >= 1.7 x slow" + p99, []capacity.Report{two}, outcome.Pass, "within the 20 % by which two searches may differ"},
		{"another word for it", "check: synthetic capacity >= 300, objective: response-p99-ns < 50000000", []capacity.Report{two}, outcome.Pass, ""},
		{"a multiple", "check: synthetic capacity >= 1.5 x slow" + p99, []capacity.Report{two}, outcome.Pass, ""},
		{"too large a multiple", "check: synthetic capacity >= 3 x slow" + p99, []capacity.Report{two}, outcome.Regression, ""},
		{"a multiple of none", "check: synthetic capacity >= 3 x endless" + p99, []capacity.Report{two}, outcome.Inconclusive, "endless has no capacity: the objective holds at the largest load"},
		{"none", "check: endless capacity >= 10" + p99, []capacity.Report{two}, outcome.Inconclusive, "endless has no capacity: the objective holds at the largest load"},
		{"a variant that was left out", "check: fast capacity >= 10" + p99, []capacity.Report{two}, outcome.Inconclusive, "the capacity of fast was not measured; there are:"},
		{"a misspelt variant", "check: slwo capacity >= 10" + p99, []capacity.Report{two}, outcome.Inconclusive, `did you mean "slow"?`},
		{"every variant", "check: capacity >= 10" + p99, []capacity.Report{two}, outcome.Inconclusive, "endless has no capacity"},
		{"every variant, of its own", "check: capacity >= 1 x slow" + p99, []capacity.Report{{Scenario: "self-test", By: capacity.ByRate, Clients: 5, Objective: two.Objective, Variants: two.Variants[1:2]}}, outcome.Inconclusive, "no variant other than slow"},
		{"nothing", "check: synthetic capacity >= 300" + p99, nil, outcome.Inconclusive, "there is no capacity of this scenario"},
		{"another objective", "check: synthetic capacity >= 300, objective: response-p99 < 60ms", []capacity.Report{two}, outcome.Inconclusive, "there is no capacity by rate, where response-p99 < 60ms; there is: by rate, where response-p99 < 50ms, with 50 clients"},
		{"a stricter objective", "check: synthetic capacity >= 300, objective: response-p99 <= 50ms", []capacity.Report{two}, outcome.Inconclusive, "there is no capacity by rate"},
		{"another load", "check: synthetic capacity >= 300, by: clients, objective: acquire-p99 < 50ms", []capacity.Report{two}, outcome.Inconclusive, "there is no capacity by clients"},
		{"rate unless it says otherwise", "check: synthetic capacity >= 300, objective: acquire-p99 < 50ms", []capacity.Report{clients}, outcome.Inconclusive, "there is no capacity by rate"},
		{"by clients", "check: synthetic capacity >= 300, by: clients, objective: acquire-p99 < 50ms", []capacity.Report{clients}, outcome.Pass, ""},
		{"its clients", "check: slow capacity >= 100, clients: 10" + p99, []capacity.Report{two, fewer}, outcome.Pass, ""},
		{"the largest number of clients", "check: synthetic capacity >= 300" + p99, []capacity.Report{fewer, two}, outcome.Pass, ""},
		{"other clients", "check: slow capacity >= 100, clients: 20" + p99, []capacity.Report{two, fewer}, outcome.Inconclusive, "with 20 clients; there is:"},
		{"two searches", "check: slow capacity >= 100" + p99, []capacity.Report{two, embedded}, outcome.Inconclusive, "more than one search"},
		{"the embedded server", "check: synthetic capacity >= 300" + p99, []capacity.Report{embedded}, outcome.Inconclusive, claim.EmbeddedTimes},
		{"below on the embedded server", "check: synthetic capacity >= 500" + p99, []capacity.Report{embedded}, outcome.Inconclusive, claim.EmbeddedTimes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := capacityRule(t, "scenario: self-*, "+tt.rule)
			checks, _ := checkCapacities(Evidence{Capacities: tt.reports}, []Assertion{a}, Names{})
			c := NewReport(checks, nil).Checks[0]
			if c.Outcome != tt.want || !strings.Contains(c.Why, tt.why) {
				t.Errorf("%s (%s), want %s with %q", c.Outcome, c.Why, tt.want, tt.why)
			}
		})
	}
	other := capacityRule(t, "scenario: lock-dran, check: capacity >= 2"+p99)
	r := Evaluate(Evidence{Capacities: []capacity.Report{two}}, Rules{Assertions: []Assertion{other}, Names: known()})
	if c := outcomeOf(t, r, other.String()); c.Outcome != outcome.Inconclusive || !strings.Contains(c.Why, `did you mean "lock-drain"?`) {
		t.Errorf("another scenario: %+v", c)
	}
}

// A rule about a capacity names its objective, and cannot be one that has no meaning.
func TestMistakesInCapacityRules(t *testing.T) {
	names := known()
	for name, s := range names.Scenarios {
		s.Metrics = append(s.Metrics, metric.Capacity, "response-p99-ns")
		names.Scenarios[name] = s
	}
	for fields, want := range map[string]string{
		"check: znode capacity >= 300, objective: response-p99 < 50ms":                     "",
		"check: capacity > 300, objective: acquire-p99 < 50ms, by: clients":                "",
		"check: capacity == 300, objective: acquire-p99 < 50ms, by: clients":               "wants >= or >, not ==",
		"check: capacity >= 1, objective: response-p99 < 5ms":                              "no capacity is below 1",
		"check: capacity >= 10, objective: capacity < 100":                                 "a capacity cannot be the objective of a capacity",
		"check: capacity >= 2 x znode, objective: response-p99 < 50ms, clients: 3":         "",
		"check: znode capacity >= 300":                                                     "objective is missing",
		"check: capacity >= 300, objective: response-p99":                                  `objective: wants "METRIC < LIMIT"`,
		"check: capacity >= 300, objective: response-p99 < 48h":                            "objective: response-p99-ns is never over",
		"check: capacity >= 300, objective: ops/s > 5":                                     "objective: ops/s grows with the load",
		"check: capacity >= 300, objective: respons-p99 < 5ms":                             `did you mean "response-p99-ns"?`,
		"check: capacity >= 300, objective: response-p99 < 5ms, by: clients":               "objective: response-p99-ns is measured only in open loads",
		"check: capacity >= 300, objective: response-p99 < 5ms, by: size":                  `by: wants rate or clients, not "size"`,
		"check: capacity >= 300, objective: acquire-p99 < 5ms, by: clients, clients: 5":    "clients: is for a capacity by rate",
		"check: capacity >= 0, objective: response-p99 < 5ms":                              "is always true",
		"check: capacity <= 300, objective: response-p99 < 5ms":                            "wants >= or >, not <=",
		"check: capacity < 300, objective: response-p99 < 5ms":                             "wants >= or >, not <",
		"check: capacity >= 30ms, objective: response-p99 < 5ms":                           "capacity is not a time",
		"check: capacity >= 300, objective: response-p99 < 5ms, tolerance: 0.1":            "tolerance: is for counts",
		"check: znod capacity >= 300, objective: response-p99 < 5ms":                       `did you mean "znode"?`,
		"check: capcity >= 300, objective: response-p99 < 5ms":                             "objective, by: are for the metric capacity only",
		"check: requests/op <= 3, by: rate":                                                "objective, by: are for the metric capacity only",
		"check: capacity >= 300, objective: response-p99 < 5ms, objectives: acquire < 5ms": `did you mean "objective"?`,
	} {
		_, err := ParseRules("r.yaml", []byte("- {scenario: lock-drain, "+fields+"}"), names)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", fields, err, want)
		}
	}
}

// Without any rule, no trial may have broken the promise, each variant must have a capacity, and a capacity does not replace a
// result.
func TestBuiltInRulesOfCapacities(t *testing.T) {
	found, broken := syntheticCapacity(400), syntheticCapacity(400)
	broken.Breaches = 1
	beyond, violated := syntheticClosed(1), syntheticClosed(1)
	beyond.Invalid = []string{"one of many trials"}
	violated.Violations = []results.Violation{{Text: "two holders"}}
	docs := func(d ...*results.Document) []*results.Document { return d }
	for _, tt := range []struct {
		name string
		e    Evidence
		r    Rules
		want int
		why  string
	}{
		{"found", Evidence{Capacities: []capacity.Report{found}}, Rules{}, outcome.CodePass, ""},
		{"invalid trials", Evidence{Capacities: []capacity.Report{found}, Trials: docs(beyond)}, Rules{}, outcome.CodePass, ""},
		{"a variant without a capacity", Evidence{Capacities: []capacity.Report{twoCapacities()}}, Rules{}, outcome.CodeInvalid, "endless has no capacity: the objective holds"},
		{"a broken promise in a trial", Evidence{Capacities: []capacity.Report{found}, Trials: docs(beyond, violated)}, Rules{}, outcome.CodeBroken, "two holders"},
		{"a broken promise in a replaced trial", Evidence{Capacities: []capacity.Report{broken}}, Rules{}, outcome.CodeBroken, "1 breach of the promise"},
		{"a broken promise beside an unreadable file", Evidence{Trials: docs(violated), Unreadable: []error{errors.New("cut")}}, Rules{}, outcome.CodeBroken, ""},
		{"a required scenario", Evidence{Capacities: []capacity.Report{found}}, Rules{Required: []string{"self-test"}}, outcome.CodeInvalid, "only a capacity"},
		{"a rule about a run", Evidence{Capacities: []capacity.Report{found}}, Rules{Assertions: []Assertion{assertion(t, "synthetic violations == 0")}}, outcome.CodeInvalid, "only a capacity"},
	} {
		r := Evaluate(tt.e, tt.r)
		if r.Code != tt.want || !strings.Contains(r.Checks[0].Why, tt.why) {
			t.Errorf("%s: exit code %d (%s), want %d with %q", tt.name, r.Code, r.Checks[0].Why, tt.want, tt.why)
		}
	}
	r := Evaluate(Evidence{Capacities: []capacity.Report{found}}, Rules{})
	if !slices.ContainsFunc(r.Notes, func(note string) bool { return strings.HasPrefix(note, "no rule is about the capacities of self-test") }) {
		t.Errorf("notes %q about a capacity that no rule is about", r.Notes)
	}
}

// All outputs name the capacity, its objective and the reason.
func TestOutputsOfCapacities(t *testing.T) {
	rules := Rules{Assertions: []Assertion{capacityRule(t, "scenario: self-test, check: synthetic capacity >= 410, objective: response-p99 < 50ms"),
		capacityRule(t, "scenario: self-test, check: synthetic capacity >= 395, objective: response-p99 < 50ms"),
		capacityRule(t, "scenario: self-test, check: slow capacity >= 2, objective: response-p99 < 10ms")}}
	r := Evaluate(Evidence{Capacities: []capacity.Report{twoCapacities()}}, rules)
	var b bytes.Buffer
	r.WriteText(&b, 120, false)
	golden.Compare(t, filepath.Join("testdata", "capacities.txt"), b.Bytes())
	golden.Compare(t, filepath.Join("testdata", "capacities.md"), write(t, r.WriteMarkdown))
	golden.Compare(t, filepath.Join("testdata", "capacities.json"), write(t, r.WriteJSON))
	for _, want := range []string{`errors="2"`, `failures="1"`, `name="self-test, synthetic, 50 clients: synthetic capacity &gt;= 410 where response-p99 &lt; 50ms (rules file)"`} {
		if junit := write(t, r.WriteJUnit); !strings.Contains(string(junit), want) {
			t.Errorf("JUnit without %s:\n%s", want, junit)
		}
	}
}

// searched returns a folder with a search by clients, in which the objective holds for up to most clients.
func searched(t *testing.T, most int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, capacity.ConfirmFolder), 0o755))
	s := capacity.NewSearch(60, 100)
	for trial, more := s.Next(); more; trial, more = s.Next() {
		to := dir
		if trial.Purpose == capacity.Confirm {
			to = filepath.Join(dir, capacity.ConfirmFolder)
		}
		d := withClients(trial.Load, most)
		trial.Outcome, trial.Why = objectiveOfSearched(t).Judge(d, trial.Purpose)
		must.Do(t, store.Write(d, to))
		s.Report(trial)
	}
	r := capacity.Report{Schema: capacity.Schema, Scenario: "self-test", Engine: "container", By: capacity.ByClients, Objective: objectiveOfSearched(t).String(), Repeats: 1, First: 60, Most: 100}
	r.Add(synthetic, s)
	must.Do(t, store.WriteSealed(filepath.Join(dir, capacity.File), r))
	return dir
}

func objectiveOfSearched(t *testing.T) capacity.Objective {
	t.Helper()
	o := must.Get(capacity.ParseObjective("wait-p50 < 5ms"))(t)
	return o
}

// withClients returns a document of a closed load that is slow if it has more than most clients.
func withClients(clients, most int) *results.Document {
	took := 1.0
	if clients > most {
		took = 10
	}
	d := syntheticClosed(took)
	d.Clients, d.Scenario.Clients = clients, []int{clients}
	return d
}

func TestReadOfASearch(t *testing.T) {
	const rule = "scenario: self-test, by: clients, objective: wait-p50 < 5ms, check: synthetic capacity >= "
	edit := func(name string, change func(text string) string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			files, err := store.Matching(filepath.Join(dir, filepath.Dir(name)), filepath.Base(name))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %v, %v", name, files, err)
			}
			text, err := os.ReadFile(files[0])
			if err == nil {
				err = os.WriteFile(files[0], []byte(change(string(text))), 0o644)
			}
			must.Do(t, err)
		}
	}
	breach := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			files, err := store.Files(filepath.Join(dir, name))
			if err != nil || len(files) == 0 {
				t.Fatal(err)
			}
			d := must.Get(store.Read(files[0]))(t)
			d.Violations = []results.Violation{{At: time.Millisecond, Text: "two holders"}}
			d.Metrics = metric.Compute(d)
			must.Do(t, store.WriteSealed(files[0], d))
		}
	}
	cut := func(text string) string { return text[:len(text)/2] }
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, dir string)
		want   int
		why    string
	}{
		{"nothing", func(*testing.T, string) {}, outcome.CodePass, ""},
		{"a cut report", edit(capacity.File, cut), outcome.CodeInvalid, "is not complete JSON"},
		{"an edited report", edit(capacity.File, func(s string) string { return strings.Replace(s, `"capacity": `, `"capacity": 1`, 1) }), outcome.CodeInvalid, "was changed after"},
		{"a report of another engine", edit(capacity.File, func(s string) string { return strings.Replace(s, "container", "process", 1) }), outcome.CodeInvalid, "was changed after"},
		{"a cut trial", edit("*_r1.json", cut), outcome.CodeInvalid, "truncated"},
		{"a cut confirmation", edit("confirm/*_r1.json", cut), outcome.CodeInvalid, "truncated"},
		{"a broken promise in a trial", breach(""), outcome.CodeBroken, "two holders"},
		{"a broken promise in a confirmation", breach(capacity.ConfirmFolder), outcome.CodeBroken, "two holders"},
		{"a broken promise, and a cut report", func(t *testing.T, dir string) { breach("")(t, dir); edit(capacity.File, cut)(t, dir) }, outcome.CodeBroken, "two holders"},
		{"no confirmation", func(t *testing.T, dir string) {
			must.Do(t, os.RemoveAll(filepath.Join(dir, capacity.ConfirmFolder)))
		}, outcome.CodeInvalid, "(confirm): 1 repeat of a trial"},
		{"no trials", func(t *testing.T, dir string) {
			files, err := store.Files(dir)
			for _, file := range files {
				err = errors.Join(err, os.Remove(file))
			}
			must.Do(t, err)
		}, outcome.CodeInvalid, "holds no results"},
		{"a run beside it", func(t *testing.T, dir string) {
			must.Do(t, store.Write(syntheticLockstep(1), dir))
		}, outcome.CodeInvalid, "is of no trial"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := searched(t, 70)
			tt.change(t, dir)
			if e := Read([]string{dir}); len(e.Capacities)+len(e.Unreadable) == 0 {
				t.Error("the search was left out")
			}
			r := Evaluate(Read([]string{dir}), Rules{Assertions: []Assertion{capacityRule(t, rule+"60")}})
			if r.Code != tt.want || !slices.ContainsFunc(r.Checks, func(c Check) bool { return strings.Contains(c.Why, tt.why) }) {
				t.Errorf("exit code %d, want %d with %q: %+v", r.Code, tt.want, tt.why, r.Checks[0])
			}
		})
	}
}

// A report may be given by its folder, by its name, by a copy under another name, or by several of these.
func TestWaysToNameAReport(t *testing.T) {
	dir := searched(t, 70)
	file, other := filepath.Join(dir, capacity.File), filepath.Join(t.TempDir(), "c.json")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(other, text, 0o644)
	}
	must.Do(t, err)
	for _, paths := range [][]string{{dir}, {dir, dir}, {file}, {other}, {dir, file, other}, {other, dir}} {
		e := Read(paths)
		if len(e.Capacities) != 1 || len(e.Documents) > 0 || len(e.Unreadable) > 0 {
			t.Errorf("%v: %d capacities, %d results, unreadable %v", paths, len(e.Capacities), len(e.Documents), e.Unreadable)
		}
		if hasTrials := slices.Contains(paths, dir); (len(e.Trials) > 0) != hasTrials {
			t.Errorf("%v: %d trials", paths, len(e.Trials))
		}
	}
	if files := Files(dir); !slices.Contains(files, file) || len(files) != 1+len(Read([]string{dir}).Trials) {
		t.Errorf("the files of the folder are %v", files)
	}
}
