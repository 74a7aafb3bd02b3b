package paired

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// Rule decides in two blocks. The screen has few pairs and a lenient level, so that it misses little. If it is flagged, a confirmation with
// more, fresh pairs and a strict level follows. So a false alarm has to occur twice, and most changes cost no more than the screen.
type Rule struct {
	ScreenPairs  int
	ScreenAlpha  float64 // p below it flags
	ConfirmPairs int
	ConfirmAlpha float64
	MinEffect    float64 // ratio up to which a slowdown does not matter, however certain it is
	Resolution   float64 // run-to-run noise of the machine, from Resolution; 1 if it was not calibrated
	Margin       float64 // ratio that must be ruled out for a PASS
}

// DefaultRule is for medians and throughputs on a machine without a calibration. A p99 varies more: it needs more MinEffect and Margin.
func DefaultRule() Rule {
	return Rule{
		ScreenPairs: 10, ScreenAlpha: 0.05,
		ConfirmPairs: 20, ConfirmAlpha: 0.01,
		MinEffect: 1.10, Resolution: 1, Margin: 1.25,
	}
}

// Validate returns all reasons why a rule can never fail or never pass.
func (r Rule) Validate() error {
	var errs []error
	if err := CanReject(r.ScreenPairs, r.ScreenAlpha); err != nil {
		errs = append(errs, fmt.Errorf("screen: %w", err))
	}
	if err := CanReject(r.ConfirmPairs, r.ConfirmAlpha); err != nil {
		errs = append(errs, fmt.Errorf("confirmation: %w", err))
	}
	errs = append(errs, ratioFromOne("minimum effect", r.MinEffect),
		ratioFromOne("resolution", r.Resolution), ratioFromOne("margin", r.Margin))
	if r.Margin < r.MinEffect {
		errs = append(errs, fmt.Errorf("margin %g is below the minimum effect %g: a slowdown between them could neither fail nor pass",
			r.Margin, r.MinEffect))
	}
	if r.Margin == 1 {
		errs = append(errs, errors.New("margin 1: no measurement rules out every slowdown"))
	}
	return errors.Join(errs...)
}

func ratioFromOne(what string, ratio float64) error {
	if !(ratio >= 1) || math.IsInf(ratio, 1) {
		return fmt.Errorf("%s %g: wants a ratio from 1 upwards", what, ratio)
	}
	return nil
}

// Block is the result of one block of pairs.
type Block struct {
	Estimate
	P       float64 `json:"p"`
	Flagged bool    `json:"flagged"` // only if it has as many pairs as the rule asks for
	Why     string  `json:"-"`       // with the numbers
}

func (r Rule) block(logRatios []float64, pairs int, alpha float64) (s Block) {
	s.P = Greater(logRatios)
	if len(logRatios) > 0 {
		s.Estimate = estimate(logRatios)
	}
	if len(logRatios) != pairs {
		s.Why = fmt.Sprintf("%d %s instead of the %d decided on", len(logRatios), table.Plural(len(logRatios), "pair"), pairs)
		return s
	}
	s.Flagged = s.P < alpha && float64(s.Median) > r.threshold()
	chance, side, what := "not below", "within", "minimum effect"
	if s.P < alpha {
		chance = "below"
	}
	if float64(s.Median) > r.threshold() {
		side = "above"
	}
	if r.Resolution > r.MinEffect {
		what = "machine's resolution"
	}
	s.Why = fmt.Sprintf("p = %.2g, %s %g; median ratio %.3f, %s the %s %.3g", s.P, chance, alpha, s.Median, side, what, r.threshold())
	return s
}

// threshold returns the ratio that a median must exceed to be flagged.
func (r Rule) threshold() float64 { return max(r.MinEffect, r.Resolution) }

// Verdict is the decision of a rule. The zero value is none of the verdicts, and passes nothing.
type Verdict string

// The verdicts.
const (
	Regression   Verdict = "REGRESSION"   // slower in the screen, and again in the confirmation
	Noise        Verdict = "NOISE"        // the screen was flagged and the confirmation was not
	Pass         Verdict = "PASS"         // not flagged, and a slowdown beyond the margin is ruled out
	Inconclusive Verdict = "INCONCLUSIVE" // neither shown nor ruled out, or pairs are missing
)

// Decision is a verdict with its reasons.
type Decision struct {
	Verdict      Verdict
	Complete     bool // the block that decides has as many pairs as the rule asks for
	Passed       bool // PASS, or NOISE whose confirmation rules out a slowdown beyond the margin
	Why          string
	Screen       Block
	Confirmation Block // zero if the screen was not flagged
}

// Decide returns the verdict for a screen and, if that is flagged, a confirmation, which is ignored otherwise. A block with
// fewer or more pairs than the rule asks for is INCONCLUSIVE.
func (r Rule) Decide(screen, confirmation []float64) (Decision, error) {
	if err := r.Validate(); err != nil {
		return Decision{}, err
	}
	if err := usable(screen); err != nil {
		return Decision{}, fmt.Errorf("screen: %w", err)
	}
	first := r.block(screen, r.ScreenPairs, r.ScreenAlpha)
	d := Decision{Verdict: Inconclusive, Why: "screen: " + first.Why, Screen: first}
	last, unflagged := first, Pass // the block that decides, and its verdict if it is not flagged
	d.Complete = len(screen) == r.ScreenPairs
	if first.Flagged {
		if err := usable(confirmation); err != nil {
			return Decision{}, fmt.Errorf("confirmation: %w", err)
		}
		last = r.block(confirmation, r.ConfirmPairs, r.ConfirmAlpha)
		d.Confirmation, d.Why, unflagged = last, "screen flagged; confirmation: "+last.Why, Noise
		d.Complete = len(confirmation) == r.ConfirmPairs
	}
	switch {
	case !d.Complete:
	case last.Flagged:
		d.Verdict = Regression
	default:
		side := "beyond"
		if d.Passed = float64(last.Upper) <= r.Margin; d.Passed {
			side = "within"
		}
		if d.Passed || unflagged == Noise {
			d.Verdict = unflagged
		}
		d.Why += fmt.Sprintf("; at most %.3f times with 95 %% confidence, %s the margin %.3g", last.Upper, side, r.Margin)
	}
	return d, nil
}

const (
	power       = 0.8
	simulations = 1000
)

// Detectable returns the smallest slowdown, as a ratio, that the rule would call a REGRESSION in four of five trials if pairs
// spread as the given ones do around any median. It is infinite if there are too few pairs to show how much they vary. Rule and
// log-ratios must be those of a decision.
//
// It is a simulation with a fixed seed. It draws screens and confirmations from the distances of the given log-ratios to
// their median, to both sides alike, and computes for each the slowdown at which it would be flagged. It knows only the given
// spread: ten pairs without an outlier make the result a little too small.
func (r Rule) Detectable(logRatios []float64) float64 {
	if len(logRatios) < PairsNeeded(0.05) {
		return math.Inf(1)
	}
	middle := Median(slices.Sorted(slices.Values(logRatios)))
	distances := list.Map(logRatios, func(d float64) float64 { return math.Abs(d - middle) })
	random := rand.New(rand.NewPCG(1, 1))
	screen := r.flaggedFrom(r.ScreenPairs, r.ScreenAlpha)
	confirm := r.flaggedFrom(r.ConfirmPairs, r.ConfirmAlpha)
	slowdowns := make([]float64, simulations)
	for i := range slowdowns {
		slowdowns[i] = max(screen(random, distances), confirm(random, distances))
	}
	slices.Sort(slowdowns)
	return math.Exp(slowdowns[int(math.Ceil(power*simulations))-1])
}

// flaggedFrom returns a function that draws a block without a slowdown. The function returns the log-ratio that, added to every pair, would
// flag the block: the lower confidence bound then exceeds zero, so that p is below alpha, and the median exceeds the threshold.
func (r Rule) flaggedFrom(pairs int, alpha float64) func(*rand.Rand, []float64) float64 {
	outside := cut(untiedNull(pairs), alpha)
	sample := make([]float64, pairs)
	return func(random *rand.Rand, distances []float64) float64 {
		for i := range sample {
			sample[i] = distances[random.IntN(len(distances))] * float64(1-2*random.IntN(2))
		}
		low, _ := bounds(walshAverages(sample), outside)
		slices.Sort(sample)
		return max(-low, math.Log(r.threshold())-Median(sample))
	}
}
