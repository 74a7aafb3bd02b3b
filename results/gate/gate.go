// Package gate decides whether results may pass: it holds them to rules, to baselines of counts and to another build, and
// gives its reasons.
//
// It takes one position: a gate fails closed. A measurement that is missing, unreadable or indistinguishable from noise is
// inconclusive, and so is a gate without any evidence. [SelfTest] shows that the gate can fail.
package gate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/table"
)

// Schema is the version of a report's JSON.
const Schema = 1

// Source says where a check comes from.
type Source string

// The sources.
const (
	FromScenario Source = "expect"
	FromFile     Source = "rules file"
	FromBaseline Source = "baseline"
	BuiltIn      Source = "built-in"
	FromPairs    Source = "pairs"
)

// Check is one rule, applied to one variant with one number of clients.
type Check struct {
	Rule     string          `json:"rule"`
	Source   Source          `json:"source"`
	Scenario string          `json:"scenario,omitempty"`
	Variant  string          `json:"variant,omitempty"`
	Clients  int             `json:"clients,omitempty"`
	Rate     int             `json:"rate,omitempty"` // of an open load, in operations per second
	Metric   string          `json:"metric,omitempty"`
	Value    *table.Number   `json:"value"` // null if there is none
	Limit    *table.Number   `json:"limit"`
	Outcome  outcome.Outcome `json:"outcome"`
	Why      string          `json:"why"`
	Screen   *Stage          `json:"screen,omitempty"` // of pairs
	Confirm  *Stage          `json:"confirmation,omitempty"`

	better bool // better than the baseline, which can be saved
	narrow bool // a capacity so near its limit that another search may decide otherwise
}

// Report is the verdict of a gate. Checks that fail come first.
type Report struct {
	Schema  int             `json:"schema"`
	Verdict outcome.Outcome `json:"verdict"`
	Code    int             `json:"exit_code"`
	Checks  []Check         `json:"checks"`
	Notes   []string        `json:"notes"` // facts that a reader should know and that do not fail the gate
}

// Evidence is the input of a gate.
type Evidence struct {
	Documents  []*results.Document
	Capacities []capacity.Report
	Trials     []*results.Document // in the folders of Capacities; they have many loads, and are no run
	Unreadable []error             // one for each file that is not a result, or folder without results
	Pairs      *Pairs              // nil if no other build was measured
}

// scenarios returns the names of the scenarios that were measured.
func (e Evidence) scenarios() []string {
	return append(list.Map(e.Head(), func(d *results.Document) string { return d.Scenario.Name }),
		list.Map(e.Capacities, func(r capacity.Report) string { return r.Scenario })...)
}

// Head returns the documents that assertions are about. With pairs alone, these are the documents of their head.
func (e Evidence) Head() []*results.Document {
	if len(e.Documents) > 0 || e.Pairs == nil {
		return e.Documents
	}
	return e.Pairs.side(1)
}

// Rules are the rules of a gate, besides the built-in ones that hold for every result.
type Rules struct {
	Assertions []Assertion
	Baselines  map[string]Baseline // by scenario; nil if there are none to compare with
	Paired     PairRules
	Required   []string // scenarios that must have a result
	Names      Names    // known names, for hints about misspelt ones

	// VariantsOf returns the variants that the scenario of a document runs if it names none; none if they are unknown.
	VariantsOf func(d *results.Document) []string
}

// Evaluate applies the rules to the evidence.
func Evaluate(e Evidence, r Rules) Report {
	checks := list.Map(e.Unreadable, func(err error) Check {
		return Check{Rule: "readable", Source: BuiltIn, Outcome: outcome.Inconclusive, Why: err.Error()}
	})
	checks = slices.Concat(checks, builtIn(e.Documents), complete(e.Documents, r.VariantsOf), builtInOfSearches(e),
		required(e, r.Required, r.Names), checkAssertions(e, r.Assertions, r.Names))
	var notes []string
	add := func(found []Check, noted []string) {
		checks, notes = append(checks, found...), append(notes, noted...)
	}
	add(checkCapacities(e, r.Assertions, r.Names))
	if r.Baselines != nil {
		add(checkBaselines(e.Documents, r.Baselines))
	}
	if e.Pairs != nil {
		add(checkPairs(*e.Pairs, r.Paired))
	}
	return NewReport(checks, notes)
}

// NewReport sorts checks and derives the verdict from them. Without any check, the verdict is inconclusive.
func NewReport(checks []Check, notes []string) Report {
	if len(checks) == 0 {
		checks = []Check{{Rule: "evidence", Source: BuiltIn, Outcome: outcome.Inconclusive, Why: "there was nothing to check"}}
	}
	checks = slices.SortedStableFunc(slices.Values(checks), func(a, b Check) int { return outcome.Compare(a.Outcome, b.Outcome) })
	return Report{Schema: Schema, Verdict: checks[0].Outcome, Code: ExitCode(checks), Checks: checks, Notes: append([]string{}, notes...)}
}

// ExitCode returns the exit code that decides among those of the checks; that of an inconclusive check if there are none.
func ExitCode(checks []Check) int {
	if len(checks) == 0 {
		return outcome.Inconclusive.Code()
	}
	return outcome.Deciding(list.Map(checks, func(c Check) int { return c.Outcome.Code() })...)
}

// Passed reports whether the exit code is 0.
func (r Report) Passed() bool { return r.Code == outcome.CodePass }

// failed reports whether a check fails the gate.
func (c Check) failed() bool { return c.Outcome != outcome.Pass }

// subject names the scenario, the variant, the number of clients and the rate that a check is about.
func (c Check) subject() string {
	parts := []string{c.Scenario, c.Variant}
	if c.Clients > 0 {
		parts = append(parts, fmt.Sprintf("n=%d", c.Clients))
	}
	if c.Rate > 0 {
		parts = append(parts, fmt.Sprintf("rate=%d", c.Rate))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

func number(v float64) *table.Number { return new(table.Number(v)) }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// byScenario returns the documents of each scenario, in the order of their names.
func byScenario(docs []*results.Document) [][]*results.Document {
	return slices.SortedFunc(slices.Values(list.GroupBy(docs, func(d *results.Document) string { return d.Scenario.Name })),
		func(a, b []*results.Document) int { return strings.Compare(a[0].Scenario.Name, b[0].Scenario.Name) })
}

// Read returns the results and capacities in files and folders. A file that cannot be read is part of the evidence, too: it makes
// the verdict inconclusive, while the other files are still checked.
func Read(paths []string) Evidence {
	r := reader{seen: map[string]bool{}}
	for _, path := range paths {
		if isFolderOfSearch(path) {
			r.search(path)
			continue
		}
		for _, file := range filesIn(path) {
			switch {
			case r.isRepeated(file):
			case isCapacity(file):
				r.capacity(file, nil)
			default:
				r.Documents = append(r.Documents, r.documents(file)...)
			}
		}
	}
	return r.Evidence
}

// Files returns the files that [Read] reads of a path.
func Files(path string) []string {
	if !isFolderOfSearch(path) {
		return filesIn(path)
	}
	trials, confirmations := trialsIn(path)
	return slices.Concat([]string{filepath.Join(path, capacity.File)}, trials, confirmations)
}

// reader collects evidence.
type reader struct {
	Evidence
	seen map[string]bool // by absolute path
}

// isRepeated reports whether a file was given before, such as by its folder and by its name, so that it must not count again.
func (r *reader) isRepeated(file string) bool {
	whole, err := filepath.Abs(file)
	if err != nil {
		return false
	}
	repeated := r.seen[whole]
	r.seen[whole] = true
	return repeated
}

// documents reads results, without those that cannot be read.
func (r *reader) documents(files ...string) (all []*results.Document) {
	for _, file := range files {
		r.isRepeated(file)
		docs, err := store.ReadAll([]string{file})
		if err != nil {
			r.Unreadable = append(r.Unreadable, err)
		}
		all = append(all, docs...)
	}
	return all
}

// capacity reads a report, which must agree with the results beside it if check is not nil. One that is given twice, such as by the folder
// and by its copy, counts once.
func (r *reader) capacity(file string, check func(capacity.Report) error) {
	report, err := capacity.Read(file)
	if err == nil && check != nil {
		if err = check(report); err != nil {
			err = fmt.Errorf("%s does not belong to the results beside it: %w", file, err)
		}
	}
	switch {
	case err != nil:
		r.Unreadable = append(r.Unreadable, err)
	case !slices.ContainsFunc(r.Capacities, func(other capacity.Report) bool { return reflect.DeepEqual(report, other) }):
		r.Capacities = append(r.Capacities, report)
	}
}

// search reads the folder of a search: the report, and the results of its trials.
func (r *reader) search(dir string) {
	if r.isRepeated(dir) {
		return
	}
	trialFiles, confirmationFiles := trialsIn(dir)
	trials, confirmations := r.documents(trialFiles...), r.documents(confirmationFiles...)
	r.Trials = slices.Concat(r.Trials, trials, confirmations)
	r.capacity(filepath.Join(dir, capacity.File), func(report capacity.Report) error { return report.CheckTrials(trials, confirmations) })
}

// isFolderOfSearch reports whether a path is a folder with the report of a search.
func isFolderOfSearch(path string) bool {
	_, err := os.Lstat(filepath.Join(path, capacity.File)) // one that cannot be read is a report, too
	return err == nil
}

// trialsIn returns the files of the trials in the folder of a search.
func trialsIn(dir string) (trials, confirmations []string) {
	confirm := filepath.Join(dir, capacity.ConfirmFolder)
	if _, err := os.Lstat(confirm); err == nil {
		confirmations = filesIn(confirm)
	}
	return filesIn(dir), confirmations
}

// isCapacity reports whether a file is the report of a search, by its name or by its content, which may be defective otherwise.
func isCapacity(file string) bool {
	if filepath.Base(file) == capacity.File {
		return true
	}
	text, err := store.ReadFile(file)
	var parts struct {
		Objective *json.RawMessage `json:"objective"`
	}
	return err == nil && json.Unmarshal(text, &parts) == nil && parts.Objective != nil
}

// filesIn returns the results in a folder. For a path that has none, it returns the path itself, so that reading it gives the
// reason.
func filesIn(path string) []string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if files, err := store.Files(path); err == nil && len(files) > 0 {
			return files
		}
	}
	return []string{path}
}
