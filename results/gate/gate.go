// Package gate decides whether results may pass: it holds them to rules, to baselines of counts and to another build, and
// gives its reasons.
//
// It takes one position: a gate fails closed. A measurement that is missing, unreadable or indistinguishable from noise is
// inconclusive, and so is a gate without any evidence. [SelfTest] shows that the gate can fail.
package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/outcome"
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
	Value    *results.Number `json:"value"` // null if there is none
	Limit    *results.Number `json:"limit"`
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
	var names []string
	for _, d := range e.Head() {
		names = append(names, d.Scenario.Name)
	}
	for _, r := range e.Capacities {
		names = append(names, r.Scenario)
	}
	return names
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
	var checks []Check
	var notes []string
	add := func(found []Check, noted []string) {
		checks, notes = append(checks, found...), append(notes, noted...)
	}
	for _, err := range e.Unreadable {
		checks = append(checks, Check{Rule: "readable", Source: BuiltIn, Outcome: outcome.Inconclusive, Why: err.Error()})
	}
	add(builtIn(e.Documents), nil)
	add(complete(e.Documents, r.VariantsOf), nil)
	add(builtInOfSearches(e), nil)
	add(required(e, r.Required, r.Names), nil)
	add(checkAssertions(e, r.Assertions, r.Names), nil)
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
	var codes []int
	for _, c := range checks {
		codes = append(codes, c.Outcome.Code())
	}
	return outcome.Deciding(codes...)
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

func number(v float64) *results.Number { return new(results.Number(v)) }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// byScenario returns the documents of each scenario, in the order of their names.
func byScenario(docs []*results.Document) [][]*results.Document {
	return slices.SortedFunc(slices.Values(results.GroupBy(docs, func(d *results.Document) string { return d.Scenario.Name })),
		func(a, b []*results.Document) int { return strings.Compare(a[0].Scenario.Name, b[0].Scenario.Name) })
}
