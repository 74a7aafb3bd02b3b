package simulation

import (
	"fmt"
	"slices"

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
