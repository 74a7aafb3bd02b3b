// Package capacity finds the largest load at which an objective holds, by trials.
//
// It takes one position: a capacity is a claim about the next run, and not the best run so far. So a load that held once is run
// again, and a load that is a tenth larger must fail. Where the trials contradict each other, there is no number.
package capacity

import (
	"fmt"
	"math"
	"slices"

	"github.com/zkbench/zkbench/results/list"
)

// Outcome is the result of a trial of one load.
type Outcome string

// The outcomes.
const (
	Holds   Outcome = "holds"   // the objective held in all repeats
	Fails   Outcome = "fails"   // it failed in at least one repeat
	Unclear Outcome = "unclear" // the numbers of a repeat must not be used
)

// Purpose says why a trial is run.
type Purpose string

// The purposes, in the order of a search.
const (
	Bracket Purpose = "bracket" // to find one load that holds and one that fails
	Bisect  Purpose = "bisect"  // to narrow the distance between them
	Confirm Purpose = "confirm" // to run the largest load that held again
	Refute  Purpose = "refute"  // to see a larger load fail
)

// Trial is one load that was tried, or is to be tried.
type Trial struct {
	Load    int     `json:"load"`
	Purpose Purpose `json:"purpose"`
	Outcome Outcome `json:"outcome,omitempty"`
	// Why has the value: of the worst repeat if the objective holds, and otherwise of the repeat in which it does not.
	Why string `json:"why,omitempty"`
}

// Precision is the ratio to which the bracket narrows: the smallest load that fails, divided by the largest that holds.
const Precision = 1.05

const (
	mostUnclear = 2 // trials in a row whose numbers must not be used
	mostTurns   = 3 // trials that contradict an earlier one
)

// Search finds the capacity of one variant. The caller runs the trial that Next returns, and reports its outcome.
type Search struct {
	Trials []Trial

	first, most int
	low, high   int   // the largest load that holds and the smallest that fails; 0 if there is none yet
	held        []int // all loads that held
	confirmed   bool
	refuted     bool
	unclear     int
	turns       int
}

// NewSearch returns a search that begins with a load and tries none above the largest.
func NewSearch(first, most int) *Search { return &Search{first: min(max(first, 1), most), most: most} }

// Next returns the next trial. ok is false when the search is over; see [Search.Result].
func (s *Search) Next() (t Trial, ok bool) {
	switch {
	case s.Result().Why != interrupted:
		return Trial{}, false
	case s.low == 0 && s.high == 0:
		return Trial{Load: s.first, Purpose: Bracket}, true
	case s.low == 0:
		return Trial{Load: s.high / 2, Purpose: Bracket}, true
	case s.high == 0:
		return Trial{Load: min(2*s.low, s.most), Purpose: Bracket}, true
	case s.high-s.low > 1 && float64(s.high) > Precision*float64(s.low):
		middle := int(math.Round(math.Sqrt(float64(s.low) * float64(s.high))))
		return Trial{Load: min(max(middle, s.low+1), s.high-1), Purpose: Bisect}, true
	case !s.confirmed:
		return Trial{Load: s.low, Purpose: Confirm}, true
	default:
		return Trial{Load: beyond(s.low), Purpose: Refute}, true
	}
}

// beyond returns the load that must fail if a load is the capacity: a tenth more, rounded up. Floating point gives 111 for 100.
func beyond(load int) int { return max((11*load+9)/10, load+1) }

// Report records the outcome of a trial that Next has returned.
func (s *Search) Report(t Trial) {
	s.Trials = append(s.Trials, t)
	s.unclear++
	switch t.Outcome {
	case Holds:
		s.unclear = 0
		s.holds(t)
	case Fails:
		s.unclear = 0
		s.fails(t)
	}
}

func (s *Search) holds(t Trial) {
	switch t.Purpose {
	case Confirm:
		s.confirmed = true
		return
	case Refute: // the bracket was too low
		s.turns++
		s.confirmed = false
	}
	s.low = t.Load
	s.held = append(s.held, t.Load)
	if s.high <= s.low {
		s.high = 0
	}
}

func (s *Search) fails(t Trial) {
	if t.Purpose == Refute {
		s.refuted = true
		return
	}
	s.high = t.Load
	if t.Purpose == Confirm { // it had held by chance
		s.turns++
	}
	s.held = slices.DeleteFunc(s.held, func(load int) bool { return load >= t.Load })
	s.low = list.Largest(s.held)
}

// Times returns how many trials of a load were reported.
func (s *Search) Times(load int) int {
	return len(list.Where(s.Trials, func(t Trial) bool { return t.Load == load }))
}

// Result is the outcome of a search.
type Result struct {
	Capacity int    `json:"capacity,omitempty"` // the largest load at which the objective held, twice; 0 if it is not known
	Refuted  int    `json:"refuted,omitempty"`  // the load, a tenth larger, at which it failed
	Why      string `json:"why,omitempty"`      // why there is no capacity
}

// interrupted is why a search has no capacity before its end.
const interrupted = "the search was interrupted"

// Result returns the capacity, or why there is none. Before the end of a search, it returns no capacity.
func (s *Search) Result() Result {
	switch {
	case s.refuted:
		return Result{Capacity: s.low, Refuted: beyond(s.low)}
	case s.high == 1:
		return Result{Why: "the objective fails at the smallest load, 1: " + s.lastWhy()}
	case s.low == s.most:
		return Result{Why: fmt.Sprintf("the objective holds at the largest load that is tried, %d: %s", s.most, s.lastWhy())}
	case s.unclear > mostUnclear:
		return Result{Why: "the numbers must not be used: " + s.lastWhy()}
	case s.turns > mostTurns:
		return Result{Why: fmt.Sprintf("%d trials contradict earlier ones of the same load: "+
			"the machine or the ensemble changes its speed", s.turns)}
	default:
		return Result{Why: interrupted}
	}
}

func (s *Search) lastWhy() string { return s.Trials[len(s.Trials)-1].Why }
