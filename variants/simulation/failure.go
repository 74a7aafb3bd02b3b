package simulation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// Class is a kind of finding. A loss that the variant does not forgo is a class of its own name.
type Class string

// The other classes.
const (
	Violation Class = "violation" // the recipe's observer has found a breach
	Orphaned  Class = "orphaned"  // znodes are left that no client will remove
	Hang      Class = "hang"      // clients wait for ever
	Livelock  Class = "livelock"  // clients make requests for ever
	Failed    Class = "failed"    // a step failed although the client's session lives
	Leak      Class = "leak"      // a goroutine is left when all has ended
	Panic     Class = "panic"
	Broken    Class = "broken" // the run could not be made
)

// Finding is something that must not happen.
type Finding struct {
	Class Class    `json:"class"`
	At    Duration `json:"at"` // since the run began
	Text  string   `json:"text"`
}

// String returns the class, the time and the text in one line.
func (f Finding) String() string { return fmt.Sprintf("%s at %s: %s", f.Class, f.At, f.Text) }

// Outcome is the result of a run.
type Outcome struct {
	Findings    []Finding               `json:"findings,omitempty"`
	Met         map[string]int          `json:"met,omitempty"`  // how often a kind of fault met a client in a state, as "cut/waiting"
	Lost        map[variants.Loss]int64 `json:"lost,omitempty"` // losses that the variant forgoes
	Longest     Duration                `json:"longest"`        // step
	Void        bool                    `json:"void,omitempty"` // no result: a session was lost, and no client can join again
	Fingerprint uint64                  `json:"fingerprint"`    // of the history
}

// Fails reports whether there is a finding.
func (o Outcome) Fails() bool { return len(o.Findings) > 0 }

func (o Outcome) has(class Class) bool {
	return slices.ContainsFunc(o.Findings, func(f Finding) bool { return f.Class == class || class == "" })
}

// Failure is a plan whose run has failed.
type Failure struct {
	Class Class  `json:"class"`
	Plan  Plan   `json:"plan"`
	Story string `json:"story"`
	// Repeated is the number of Repeats further runs that failed in the same way. Runs differ by the Go scheduler.
	Repeated int `json:"repeated"`
}

// Repeats is how often a plan is run again to find out how certainly it fails.
const Repeats = 10

// confirmations is the number of runs in which a smaller plan must fail to replace a larger one.
const confirmations = 3

// Investigate looks for the smallest plan that fails in the same way, for as long as budget, and tells its story. An empty class means any.
func Investigate(t *testing.T, recipe func() variants.Recipe, plan Plan, class Class, budget time.Duration) Failure {
	t.Helper()
	deadline := time.Now().Add(budget)
	f := Failure{Class: class}
	f.Plan = Shrink(plan, func(p Plan) bool {
		for range confirmations {
			if time.Now().After(deadline) || !Play(t, recipe, p).has(class) {
				return false
			}
		}
		return true
	})
	for range Repeats {
		r := &run{plan: f.Plan, telling: true}
		if r.play(t, recipe); r.out.has(class) {
			f.Repeated++
			f.Class = cmp.Or(class, r.out.Findings[0].Class)
			f.Story = tellAll(f.Plan, r.lines, r.out)
		}
	}
	return f
}

// longestStory is how many lines of a story are printed at most: the middle is left out.
const longestStory = 160

func tellAll(p Plan, lines []string, out Outcome) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s/%s, clients: %d, steps of each: %d, session timeout: %s\n", p.Recipe, p.Variant, p.Clients, p.Steps, p.Session)
	if len(p.Lag) > 1 {
		fmt.Fprintf(&s, "  %d servers, which lag by %v\n", len(p.Lag), p.Lag)
	}
	for _, f := range p.Faults {
		fmt.Fprintf(&s, "  %s\n", f)
	}
	if skipped := len(lines) - longestStory; skipped > 0 {
		lines = slices.Replace(lines, longestStory/4, longestStory/4+skipped, fmt.Sprintf("%14s  (%d lines)\n", "…", skipped))
	}
	s.WriteString(strings.Join(lines, ""))
	for _, f := range out.Findings[:min(3, len(out.Findings))] {
		fmt.Fprintf(&s, "%14s  %s: %s\n", time.Duration(f.At).Round(time.Microsecond), strings.ToUpper(string(f.Class)), f.Text)
	}
	return s.String()
}

// String tells the story, how certainly it repeats, and the plan.
func (f Failure) String() string {
	plan, _ := json.Marshal(f.Plan) // nothing in a plan can fail
	return fmt.Sprintf("%sThe plan fails again in %d of %d runs:\n%s", f.Story, f.Repeated, Repeats, plan)
}

// Options say which runs [Run] makes.
type Options struct {
	Seeds int // of each variant; zero means 100
}

// Run runs all variants of a recipe under faults, and fails with the story of each variant's first failure. It is for
// tests of an application's own recipes. The recipe is made anew for each run: it must not use anything that was made
// outside, such as channels and goroutines. The test must not be parallel.
func Run(t *testing.T, recipe func() variants.Recipe, o Options) {
	t.Helper()
	const shrinking = 30 * time.Second
	r := recipe()
	for _, v := range r.Variants {
		t.Run(v.Name, func(t *testing.T) {
			for seed := range uint64(cmp.Or(o.Seeds, 100)) {
				plan := NewPlan(r, v, seed)
				if out := Play(t, recipe, plan); out.Fails() {
					t.Fatalf("seed %d:\n%s", seed, Investigate(t, recipe, plan, out.Findings[0].Class, shrinking))
				}
			}
		})
	}
}
