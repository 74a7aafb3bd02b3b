// Package gate decides whether results may pass: it holds them to rules, to baselines of counts and to another build, and
// says why.
//
// It takes one position: a gate fails closed. What was not measured, cannot be read, or could not have been told from
// noise is not a pass but inconclusive; and nothing at all is never a pass either. Whether it can fail is tested with
// what it must catch, by [SelfTest].
package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// Schema is the version of a report's JSON.
const Schema = 1

// Outcome is what became of one check. The zero value is none of them and lets nothing through.
type Outcome string

// The outcomes.
const (
	Pass         Outcome = "pass"
	Regression   Outcome = "regression"   // worse than the limit
	Violation    Outcome = "violation"    // the recipe broke its promise
	Inconclusive Outcome = "inconclusive" // neither shown nor ruled out
	Invalid      Outcome = "invalid"      // the numbers must not be used
	Error        Outcome = "error"        // could not be judged
	Waived       Outcome = "waived"       // a regression that somebody has taken the responsibility for
)

// Source is where a check comes from.
type Source string

// The sources.
const (
	FromScenario Source = "expect"
	FromFile     Source = "rules file"
	FromBaseline Source = "baseline"
	BuiltIn      Source = "built-in"
	FromPairs    Source = "pairs"
)

// Check is one rule, applied to one variant under one number of clients.
type Check struct {
	Rule     string          `json:"rule"`
	Source   Source          `json:"source"`
	Scenario string          `json:"scenario,omitempty"`
	Variant  string          `json:"variant,omitempty"`
	Clients  int             `json:"clients,omitempty"`
	Metric   string          `json:"metric,omitempty"`
	Value    *results.Number `json:"value"` // null where there is none
	Limit    *results.Number `json:"limit"`
	Outcome  Outcome         `json:"outcome"`
	Why      string          `json:"why"`
	Waiver   *Waiver         `json:"waiver,omitempty"`
	Screen   *Stage          `json:"screen,omitempty"` // of pairs
	Confirm  *Stage          `json:"confirmation,omitempty"`

	lessIsWorse bool // than Limit, so that a ceiling would let everything through
	better      bool // than it has to be, which can be kept
}

func number(v float64) *results.Number { n := results.Number(v); return &n }

// Report is what a gate says. Its checks stand in the order in which a reader needs them: what fails first.
type Report struct {
	Schema  int      `json:"schema"`
	Verdict Outcome  `json:"verdict"`
	Code    int      `json:"exit_code"`
	Checks  []Check  `json:"checks"`
	Notes   []string `json:"notes"` // what a reader should know, and what does not fail
}

// Evidence is what there is to judge.
type Evidence struct {
	Documents  []*results.Document
	Unreadable []error // files that are no results, or folders without any
	Pairs      *Pairs  // nil if no other build was measured
}

// Judged returns the documents that claims are about: those of the head, if there are but pairs.
func (e Evidence) Judged() []*results.Document {
	if len(e.Documents) > 0 || e.Pairs == nil {
		return e.Documents
	}
	var docs []*results.Document
	for _, pair := range slices.Concat(e.Pairs.Screen, e.Pairs.Confirm) {
		docs = append(docs, pair[1]...)
	}
	return docs
}

// Rules is what evidence is held to, besides what holds for every result.
type Rules struct {
	Claims    []Claim
	Baselines map[string]Baseline // by scenario; nil if there is nothing to compare with
	Waivers   []Waiver
	Paired    PairRules
	Required  []string // scenarios that must have a result
	Names     Names    // known names, for hints about misspelt ones

	// VariantsOf returns the variants that the scenario of a document runs if it names none, which the recipe knows and not
	// this package; none if nobody knows.
	VariantsOf func(d *results.Document) []string
}

// Judge holds evidence to the rules.
func Judge(e Evidence, r Rules) Report {
	var checks []Check
	var notes []string
	for _, err := range e.Unreadable {
		checks = append(checks, Check{Rule: "readable", Source: BuiltIn, Outcome: Inconclusive, Why: err.Error()})
	}
	checks = append(checks, builtIn(e.Documents)...)
	checks = append(checks, complete(e.Documents, r.VariantsOf)...)
	checks = append(checks, required(e.Documents, r.Required, r.Names)...)
	checks = append(checks, judgeClaims(e.Judged(), r.Claims, r.Names)...)
	if r.Baselines != nil {
		found, told := againstBaselines(e.Documents, r.Baselines)
		checks, notes = append(checks, found...), append(notes, told...)
	}
	if e.Pairs != nil {
		found, told := judgePairs(*e.Pairs, r.Paired)
		checks, notes = append(checks, found...), append(notes, told...)
	}
	for _, w := range waive(checks, r.Waivers) {
		notes = append(notes, w.unused()+r.Names.hint(w.Scenario, e.Judged()))
	}
	return NewReport(checks, notes)
}

// NewReport draws the verdict from checks. Without any, nothing was judged, which is not a pass.
func NewReport(checks []Check, notes []string) Report {
	if len(checks) == 0 {
		checks = []Check{{Rule: "evidence", Source: BuiltIn, Outcome: Inconclusive, Why: "nothing was judged"}}
	}
	checks = slices.SortedStableFunc(slices.Values(checks), func(a, b Check) int { return cmp.Compare(severity(a.Outcome), severity(b.Outcome)) })
	worst := checks[0].Outcome
	if worst == Waived {
		worst = Pass
	}
	return Report{Schema: Schema, Verdict: worst, Code: ExitCode(checks), Checks: checks, Notes: append([]string{}, notes...)}
}

// severity orders outcomes: a result that is wrong or void must not be reported as merely slow.
func severity(o Outcome) int {
	order := []Outcome{Violation, Error, Invalid, Inconclusive, Regression, Waived, Pass}
	if i := slices.Index(order, o); i >= 0 {
		return i
	}
	return slices.Index(order, Inconclusive) // what nobody knows is not known to be good
}

// ExitCode returns the exit code that checks deserve: 4 for a violation, else 1 for an error, else 5 for anything
// inconclusive or invalid, or no check at all, else 3 for a regression, else 0.
func ExitCode(checks []Check) int {
	if len(checks) == 0 {
		return 5
	}
	worst := len(checks)
	for i, c := range checks {
		if i == 0 || severity(c.Outcome) < worst {
			worst = severity(c.Outcome)
		}
	}
	return []int{4, 1, 5, 5, 3, 0, 0}[worst]
}

// Passed tells whether the exit code is 0.
func (r Report) Passed() bool { return r.Code == 0 }

// failed tells whether a check keeps the gate shut.
func (c Check) failed() bool { return c.Outcome != Pass && c.Outcome != Waived }

// where says what a check is about.
func (c Check) where() string {
	parts := []string{c.Scenario, c.Variant}
	if c.Clients > 0 {
		parts = append(parts, fmt.Sprintf("n=%d", c.Clients))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}
