// Package gate decides whether results may pass: it holds them to rules, to baselines of counts and to another build, and
// gives its reasons.
//
// It takes one position: a gate fails closed. A measurement that is missing, unreadable or indistinguishable from noise is
// inconclusive, and so is a gate without any evidence. [SelfTest] shows that the gate can fail.
package gate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/paired"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/table"
)

// Schema is the version of a report's JSON.
const Schema = 1

// Source says where the rule of a check comes from.
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
	Recipe   string          `json:"recipe,omitempty"`
	Variant  string          `json:"variant,omitempty"`
	Clients  int             `json:"clients,omitempty"`
	Rate     results.Rate    `json:"rate,omitempty"` // of an open load, in operations per second
	Metric   string          `json:"metric,omitempty"`
	Value    *table.Number   `json:"value"` // null if there is none
	Limit    *table.Number   `json:"limit"`
	Outcome  outcome.Outcome `json:"outcome"`
	Why      string          `json:"why"`
	Screen   paired.Block    `json:"screen,omitzero"` // of pairs
	Confirm  paired.Block    `json:"confirmation,omitzero"`

	plain  string // why a ratio is not decided, without the statistics; empty if Why has none
	bound  bool   // the limit of a count is an upper bound
	narrow bool   // a capacity so near its limit that another search may decide otherwise
}

// Report is the verdict of a gate. Checks that fail come first.
type Report struct {
	Schema   int             `json:"schema"`
	Verdict  outcome.Outcome `json:"verdict"`
	Code     int             `json:"exit_code"`
	Findings []Finding       `json:"findings"` // the checks that failed, in words
	Checks   []Check         `json:"checks"`
	Notes    []string        `json:"notes"` // facts that a reader should know and that do not fail the gate
}

// Evidence is the input of a gate.
type Evidence struct {
	Documents  []*results.Document
	Capacities []capacity.Report
	Trials     []*results.Document // in the folders of Capacities; they have many loads, and do not form a run
	Unreadable []error             // one for each file that is not a result, or folder without results
	Pairs      *Pairs              // nil if no other build was measured
}

func (e Evidence) scenarios() []string {
	return append(list.Map(e.Head(), func(d *results.Document) string { return d.Scenario.Name }),
		list.Map(e.Capacities, func(r capacity.Report) string { return r.Scenario })...)
}

// Head returns the documents that assertions are about: Documents, or the head's documents if there are only pairs.
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
	Verbose    bool     // note scenarios that have a baseline and no result, too
	Names      Names    // known names, for hints about misspelt ones

	// VariantsOf returns the variants that the scenario of a document runs if it names none; none if they are unknown.
	VariantsOf func(d *results.Document) []string
}

// Evaluate applies the rules to the evidence.
func Evaluate(e Evidence, r Rules) Report {
	checks := list.Map(e.Unreadable, func(err error) Check {
		worst := outcome.Inconclusive
		if errors.Is(err, store.ErrMissing) { // probably a mistake in the call, as for all commands that read results
			worst = outcome.Error
		}
		return ofScenario("readable", "", worst, err.Error())
	})
	checks = slices.Concat(checks, builtIn(e.Documents, doubts.Repeat), complete(e.Documents, r.VariantsOf), builtInOfSearches(e),
		required(e, r.Required, r.Names), checkAssertions(e, r.Assertions, r.Names))
	var notes []string
	add := func(found []Check, noted []string) {
		checks, notes = append(checks, found...), append(notes, noted...)
	}
	add(checkCapacities(e, r.Assertions, r.Names))
	if r.Baselines != nil {
		add(checkBaselines(e.Documents, r.Baselines, r.Verbose))
	}
	if e.Pairs != nil {
		add(checkPairs(*e.Pairs, r.Paired))
	}
	return NewReport(checks, notes)
}

// NewReport sorts checks and derives the verdict from them. Without any check, the verdict is inconclusive.
func NewReport(checks []Check, notes []string) Report {
	if len(checks) == 0 {
		checks = []Check{ofScenario("evidence", "", outcome.Inconclusive, "there was nothing to check")}
	}
	checks = slices.SortedStableFunc(slices.Values(checks), func(a, b Check) int { return outcome.Compare(a.Outcome, b.Outcome) })
	worst := checks[0].Outcome
	return Report{Schema: Schema, Verdict: worst, Code: worst.Code(), Findings: append([]Finding{}, findings(checks)...), Checks: checks,
		Notes: append([]string{}, notes...)}
}

func (c Check) failed() bool { return c.Outcome != outcome.Pass }

func number(v float64) *table.Number { return new(table.Number(v)) }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func byScenario(docs []*results.Document) [][]*results.Document {
	return slices.SortedFunc(slices.Values(list.GroupBy(docs, func(d *results.Document) string { return d.Scenario.Name })),
		func(a, b []*results.Document) int { return strings.Compare(a[0].Scenario.Name, b[0].Scenario.Name) })
}

// Read returns the results and capacities in files and folders. A file that cannot be read makes the verdict inconclusive, while the others
// are still checked. One that is given twice, such as by its folder and by its name, counts once.
func Read(paths []string) Evidence {
	var e Evidence
	seen := map[string]bool{}
	isNew := func(path string) bool {
		whole, err := filepath.Abs(path)
		repeated := err == nil && seen[whole]
		seen[whole] = true
		return !repeated
	}
	for _, path := range paths {
		if isFolderOfSearch(path) {
			if isNew(path) { // before its files, which are the folder itself if there are none
				list.Where(Files(path), isNew)
				e.addSearch(path)
			}
			continue
		}
		for _, file := range list.Where(Files(path), isNew) {
			if text, err := store.ReadFile(file); err == nil && store.IsCapacity(text) {
				e.addCapacity(capacity.Read(file))
			} else {
				e.Documents = append(e.Documents, e.documents(file)...)
			}
		}
	}
	return e
}

// Files returns the files that [Read] reads of a path.
func Files(path string) []string {
	if !isFolderOfSearch(path) {
		return filesIn(path)
	}
	trials, confirmations := trialsIn(path)
	return slices.Concat([]string{filepath.Join(path, capacity.File)}, trials, confirmations)
}

func (e *Evidence) documents(files ...string) (all []*results.Document) {
	for _, file := range files {
		docs, err := store.ReadAll([]string{file})
		if err != nil {
			e.Unreadable = append(e.Unreadable, err)
		}
		all = append(all, docs...)
	}
	return all
}

// addSearch reads the folder of a search: the results of its trials, and the report, which must agree with them.
func (e *Evidence) addSearch(dir string) {
	trialFiles, confirmationFiles := trialsIn(dir)
	trials, confirmations := e.documents(trialFiles...), e.documents(confirmationFiles...)
	e.Trials = slices.Concat(e.Trials, trials, confirmations)
	report, err := capacity.Read(filepath.Join(dir, capacity.File))
	if err == nil {
		if err = report.CheckTrials(trials, confirmations); err != nil {
			err = fmt.Errorf("%s does not belong to the results beside it: %w", filepath.Join(dir, capacity.File), err)
		}
	}
	e.addCapacity(report, err)
}

// addCapacity adds a report. One that was given already, such as by a copy, counts once.
func (e *Evidence) addCapacity(report capacity.Report, err error) {
	if err != nil {
		e.Unreadable = append(e.Unreadable, err)
	} else if !slices.ContainsFunc(e.Capacities, func(other capacity.Report) bool { return reflect.DeepEqual(report, other) }) {
		e.Capacities = append(e.Capacities, report)
	}
}

func isFolderOfSearch(path string) bool {
	_, err := os.Lstat(filepath.Join(path, capacity.File)) // one that cannot be read is a report, too
	return err == nil
}

func trialsIn(dir string) (trials, confirmations []string) {
	confirm := filepath.Join(dir, capacity.ConfirmFolder)
	if _, err := os.Lstat(confirm); err == nil {
		confirmations = filesIn(confirm)
	}
	return filesIn(dir), confirmations
}

// filesIn returns the results in a folder, or the path itself if it has none, so that reading it gives the reason.
func filesIn(path string) []string {
	if files, err := store.Files(path); err == nil && len(files) > 0 {
		return files
	}
	return []string{path}
}
