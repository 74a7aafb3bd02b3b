package paired

import (
	"errors"
	"fmt"
	"math"
)

// Rule decides in two stages. The screen has few pairs and a lenient level, so that it misses little. If it is flagged, a
// confirmation with more, fresh pairs and a strict level follows. So a false alarm has to occur twice, and most changes cost
// no more than the screen.
type Rule struct {
	ScreenPairs  int
	ScreenAlpha  float64 // p below it flags
	ConfirmPairs int
	ConfirmAlpha float64
	MinEffect    float64 // ratio up to which a slowdown does not matter, however certain it is
	Resolution   float64 // run-to-run noise of the machine, from Resolution; 1 if it was not calibrated
	Margin       float64 // ratio that must be ruled out for a PASS
}

// DefaultRule is for medians and throughputs on a machine that has not been calibrated. A p99 varies more, and needs a larger
// MinEffect and Margin.
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

// Stage is the result of one block of pairs.
type Stage struct {
	Estimate
	P        float64
	Complete bool // has as many pairs as the rule asks for; otherwise it is not flagged
	Flagged  bool
	Why      string // with the numbers
}

// Screen evaluates the first stage. If it is flagged, it needs a confirmation with fresh pairs.
func (r Rule) Screen(logRatios []float64) (Stage, error) {
	return r.stage(logRatios, r.ScreenPairs, r.ScreenAlpha)
}

// Confirm evaluates the second stage, from pairs that were not in the screen.
func (r Rule) Confirm(logRatios []float64) (Stage, error) {
	return r.stage(logRatios, r.ConfirmPairs, r.ConfirmAlpha)
}

func (r Rule) stage(logRatios []float64, pairs int, alpha float64) (Stage, error) {
	if err := r.Validate(); err != nil {
		return Stage{}, fmt.Errorf("rule: %w", err)
	}
	p, err := Greater(logRatios)
	if err != nil {
		return Stage{}, err
	}
	s := Stage{P: p, Complete: len(logRatios) == pairs}
	if !s.Complete {
		s.Why = fmt.Sprintf("%d pairs instead of the %d decided on", len(logRatios), pairs)
	}
	if len(logRatios) == 0 {
		return s, nil
	}
	if s.Estimate, err = Summarize(logRatios); err != nil || !s.Complete {
		return s, err
	}
	s.Flagged = p < alpha && s.Median > r.threshold()
	s.Why = r.explain(s, alpha)
	return s, nil
}

// threshold returns the ratio that a median must exceed to be flagged.
func (r Rule) threshold() float64 { return max(r.MinEffect, r.Resolution) }

func (r Rule) explain(s Stage, alpha float64) string {
	chance := fmt.Sprintf("p = %.2g, not below %g", s.P, alpha)
	if s.P < alpha {
		chance = fmt.Sprintf("p = %.2g, below %g", s.P, alpha)
	}
	limit, what := r.MinEffect, "minimum effect"
	if r.Resolution > r.MinEffect {
		limit, what = r.Resolution, "machine's resolution"
	}
	side := "within"
	if s.Median > limit {
		side = "above"
	}
	return fmt.Sprintf("%s; median ratio %.3f, %s the %s %.3g", chance, s.Median, side, what, limit)
}

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
	Passed       bool // PASS, or NOISE whose confirmation rules out a slowdown beyond the margin
	Why          string
	Screen       Stage
	Confirmation Stage // zero if the screen was not flagged
}

// Decide returns the verdict for a screen and, if that is flagged, a confirmation, which is ignored otherwise. A stage with
// fewer or more pairs than the rule asks for is INCONCLUSIVE.
func (r Rule) Decide(screen, confirmation []float64) (Decision, error) {
	first, err := r.Screen(screen)
	if err != nil {
		return Decision{}, fmt.Errorf("screen: %w", err)
	}
	d := Decision{Verdict: Inconclusive, Why: "screen: ", Screen: first}
	last, unflagged := first, Pass // the stage that decides, and its verdict if it is not flagged
	if first.Flagged {
		if last, err = r.Confirm(confirmation); err != nil {
			return Decision{}, fmt.Errorf("confirmation: %w", err)
		}
		d.Confirmation, d.Why, unflagged = last, "screen flagged; confirmation: ", Noise
	}
	d.Why += last.Why
	switch {
	case !last.Complete:
	case last.Flagged:
		d.Verdict = Regression
	default:
		d.Passed = last.Upper <= r.Margin
		if d.Passed || unflagged == Noise {
			d.Verdict = unflagged
		}
		d.Why += "; " + r.ruledOut(last)
	}
	return d, nil
}

func (r Rule) ruledOut(s Stage) string {
	side := "within"
	if s.Upper > r.Margin {
		side = "beyond"
	}
	return fmt.Sprintf("at most %.3f times with 95 %% confidence, %s the margin %.3g", s.Upper, side, r.Margin)
}
