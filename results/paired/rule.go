package paired

import (
	"errors"
	"fmt"
	"math"
)

// Rule decides in two stages. A screen of few pairs is lenient, so that it misses little; only if it flags something,
// a confirmation of more and fresh pairs is strict. A false alarm has to happen twice, and a change without any costs
// little more than the screen.
type Rule struct {
	ScreenPairs  int
	ScreenAlpha  float64 // p below it flags
	ConfirmPairs int
	ConfirmAlpha float64
	MinEffect    float64 // ratio up to which a slowdown is nobody's concern, however certain
	Resolution   float64 // ratio up to which the machine moves by itself, from Resolution; 1 if it was not calibrated
	Margin       float64 // ratio that must be ruled out for a PASS
}

// DefaultRule is for medians and throughputs on a machine that has not been calibrated. For a p99, MinEffect and Margin
// have to be larger: it cannot be seen as sharply.
func DefaultRule() Rule {
	return Rule{
		ScreenPairs: 10, ScreenAlpha: 0.05,
		ConfirmPairs: 20, ConfirmAlpha: 0.01,
		MinEffect: 1.10, Resolution: 1, Margin: 1.25,
	}
}

// Validate refuses, with all reasons, a rule that can never fire or never pass.
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

// Stage is what one block of pairs says.
type Stage struct {
	Estimate
	P        float64
	Complete bool // has as many pairs as the rule decided on beforehand; one that has not flags nothing
	Flagged  bool
	Why      string // with the numbers
}

// Screen judges the first stage. If it is flagged, a confirmation with fresh pairs is due.
func (r Rule) Screen(logRatios []float64) (Stage, error) {
	return r.stage(logRatios, r.ScreenPairs, r.ScreenAlpha)
}

// Confirm judges the second stage, from pairs of which none was in the screen.
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

// threshold is the ratio that a median must exceed to matter.
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

// Verdict is what a rule decides. The zero value is none of them and passes nothing.
type Verdict string

// What a rule can decide.
const (
	Regression   Verdict = "REGRESSION"   // slower in the screen, and again in the confirmation
	Noise        Verdict = "NOISE"        // the screen was flagged and the confirmation was not
	Pass         Verdict = "PASS"         // not flagged, and a slowdown beyond the margin is ruled out
	Inconclusive Verdict = "INCONCLUSIVE" // neither shown nor ruled out, or pairs are missing
)

// Judgement is a verdict with its reasons.
type Judgement struct {
	Verdict      Verdict
	Passed       bool // PASS, or NOISE whose confirmation rules out a slowdown beyond the margin
	Why          string
	Screen       Stage
	Confirmation Stage // zero if the screen was not flagged
}

// Judge decides from a screen and, if that is flagged, a confirmation, which is ignored otherwise. What is missing, or was
// measured more often than decided on beforehand, is INCONCLUSIVE; what cannot be computed is an error.
func (r Rule) Judge(screen, confirmation []float64) (Judgement, error) {
	first, err := r.Screen(screen)
	if err != nil {
		return Judgement{}, fmt.Errorf("judging the screen: %w", err)
	}
	if !first.Flagged {
		return r.unflagged(first), nil
	}
	second, err := r.Confirm(confirmation)
	if err != nil {
		return Judgement{}, fmt.Errorf("judging the confirmation: %w", err)
	}
	j := r.flagged(second)
	j.Screen, j.Confirmation = first, second
	return j, nil
}

func (r Rule) unflagged(screen Stage) Judgement {
	j := Judgement{Verdict: Inconclusive, Screen: screen, Why: "screen: " + screen.Why}
	if !screen.Complete {
		return j
	}
	j.Passed = screen.Upper <= r.Margin
	if j.Passed {
		j.Verdict = Pass
	}
	j.Why += "; " + r.ruledOut(screen)
	return j
}

func (r Rule) flagged(confirmation Stage) Judgement {
	j := Judgement{Verdict: Inconclusive, Why: "screen flagged; confirmation: " + confirmation.Why}
	switch {
	case !confirmation.Complete:
	case confirmation.Flagged:
		j.Verdict = Regression
	default:
		j.Verdict = Noise
		j.Passed = confirmation.Upper <= r.Margin
		j.Why += "; " + r.ruledOut(confirmation)
	}
	return j
}

func (r Rule) ruledOut(s Stage) string {
	side := "within"
	if s.Upper > r.Margin {
		side = "beyond"
	}
	return fmt.Sprintf("at most %.3f times with 95 %% confidence, %s the margin %.3g", s.Upper, side, r.Margin)
}
