package paired_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/paired"
)

func TestValidateRefusesWhatCannotFire(t *testing.T) {
	for want, change := range map[string]func(*paired.Rule){
		"screen: 4 pairs can reach p = 0.062 at best, which is not below 0.05: take at least 5":       func(r *paired.Rule) { r.ScreenPairs = 4 },
		"confirmation: 6 pairs can reach p = 0.016 at best, which is not below 0.01: take at least 7": func(r *paired.Rule) { r.ConfirmPairs = 6 },
		"confirmation: 0 pairs can reach p = 1 at best":                                               func(r *paired.Rule) { r.ConfirmPairs = 0 },
		"screen: 1 pair can reach p = 0.5 at best":                                                    func(r *paired.Rule) { r.ScreenPairs = 1 },
		"screen: alpha 0":                             func(r *paired.Rule) { r.ScreenAlpha = 0 },
		"confirmation: alpha NaN":                     func(r *paired.Rule) { r.ConfirmAlpha = math.NaN() },
		"minimum effect 0.1":                          func(r *paired.Rule) { r.MinEffect = 0.1 },
		"minimum effect +Inf":                         func(r *paired.Rule) { r.MinEffect = math.Inf(1) },
		"resolution 0":                                func(r *paired.Rule) { r.Resolution = 0 },
		"resolution +Inf":                             func(r *paired.Rule) { r.Resolution = math.Inf(1) },
		"resolution NaN":                              func(r *paired.Rule) { r.Resolution = math.NaN() },
		"margin 1.05 is below the minimum effect 1.1": func(r *paired.Rule) { r.Margin = 1.05 },
		"margin 1: no measurement":                    func(r *paired.Rule) { r.Margin, r.MinEffect = 1, 1 },
	} {
		r := paired.DefaultRule()
		change(&r)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wants %q, got %v", want, err)
		}
		if j, err := r.Decide(steady(10, 2), steady(20, 2)); err == nil || j.Verdict != "" || j.Passed {
			t.Errorf("%s: judges nevertheless: %+v", want, j)
		}
	}
	if err := (paired.Rule{}).Validate(); strings.Count(err.Error(), "\n") < 3 {
		t.Errorf("a rule that is wrong everywhere is told only %v", err)
	}
}

// steady are pairs that spread a little and evenly around a ratio.
func steady(n int, ratio float64) []float64 { return spread(n, ratio, 0.01) }

// spread are pairs at even distances from one another, around a ratio and up to so far from its logarithm.
func spread(n int, ratio, by float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Log(ratio) + by*(2*float64(i)/float64(n-1)-1)
	}
	return out
}

// verdicts are the cases that every implementation of the rule must decide like this.
func verdicts(judge func(paired.Rule, []float64, []float64) (paired.Decision, error)) error {
	calibrated := paired.DefaultRule()
	calibrated.Resolution = 1.4
	for name, c := range map[string]struct {
		rule                 paired.Rule
		screen, confirmation []float64
		want                 paired.Verdict
		passed               bool
	}{
		"slower twice":                      {paired.DefaultRule(), steady(10, 1.3), steady(20, 1.3), paired.Regression, false},
		"slower once":                       {paired.DefaultRule(), steady(10, 1.3), steady(20, 1), paired.Noise, true},
		"slower once, then too unsteady":    {paired.DefaultRule(), steady(10, 1.3), spread(20, 1.1, 0.9), paired.Noise, false},
		"as fast":                           {paired.DefaultRule(), steady(10, 1), nil, paired.Pass, true},
		"faster":                            {paired.DefaultRule(), steady(10, 0.5), nil, paired.Pass, true},
		"certainly slower, but by little":   {paired.DefaultRule(), steady(10, 1.05), nil, paired.Pass, true},
		"slower by little in the end":       {paired.DefaultRule(), steady(10, 1.3), steady(20, 1.05), paired.Noise, true},
		"too unsteady":                      {paired.DefaultRule(), spread(10, 1.1, 0.9), nil, paired.Inconclusive, false},
		"slower by chance, twice":           {paired.DefaultRule(), spread(10, 1.2, 0.9), steady(20, 1.3), paired.Inconclusive, false},
		"slower now and then":               {paired.DefaultRule(), logs(1.05, 1.05, 1.05, 1.05, 1.05, 1.05, 3, 3, 3, 3), steady(20, 1.3), paired.Inconclusive, false},
		"just within the margin":            {paired.DefaultRule(), steady(10, 1.3), spread(20, 1.05, 0.6), paired.Noise, true},
		"within the resolution":             {calibrated, steady(10, 1.3), steady(20, 1.3), paired.Inconclusive, false},
		"beyond the resolution":             {calibrated, steady(10, 1.5), steady(20, 1.5), paired.Regression, false},
		"beyond the resolution once":        {calibrated, steady(10, 1.5), steady(20, 1.3), paired.Noise, false},
		"nothing measured":                  {paired.DefaultRule(), nil, nil, paired.Inconclusive, false},
		"nothing but a confirmation":        {paired.DefaultRule(), nil, steady(20, 1), paired.Inconclusive, false},
		"a pair is missing":                 {paired.DefaultRule(), steady(9, 1), nil, paired.Inconclusive, false},
		"a pair is missing when it is slow": {paired.DefaultRule(), steady(9, 2), steady(20, 2), paired.Inconclusive, false},
		"measured until it fits":            {paired.DefaultRule(), steady(11, 1), nil, paired.Inconclusive, false},
		"not confirmed yet":                 {paired.DefaultRule(), steady(10, 1.3), nil, paired.Inconclusive, false},
		"confirmed by too few":              {paired.DefaultRule(), steady(10, 1.3), steady(19, 1.3), paired.Inconclusive, false},
		"confirmation not asked for":        {paired.DefaultRule(), steady(10, 1), steady(20, 2), paired.Pass, true},
	} {
		got, err := judge(c.rule, c.screen, c.confirmation)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if got.Verdict != c.want || got.Passed != c.passed {
			return fmt.Errorf("%s: %s, passed %t instead of %s, %t: %s", name, got.Verdict, got.Passed, c.want, c.passed, got.Why)
		}
	}
	return nil
}

func TestVerdicts(t *testing.T) {
	if err := verdicts(paired.Rule.Decide); err != nil {
		t.Error(err)
	}
	for name, broken := range map[string]func(paired.Rule, []float64, []float64) (paired.Decision, error){
		"believes the screen": func(r paired.Rule, screen, confirmation []float64) (paired.Decision, error) {
			j, err := r.Decide(screen, confirmation)
			if j.Screen.Flagged {
				j.Verdict, j.Passed = paired.Regression, false
			}
			return j, err
		},
		"takes absence of proof for a pass": func(r paired.Rule, screen, confirmation []float64) (paired.Decision, error) {
			j, err := r.Decide(screen, confirmation)
			if j.Verdict == paired.Inconclusive {
				j.Verdict, j.Passed = paired.Pass, true
			}
			return j, err
		},
		"forgets the resolution": func(r paired.Rule, screen, confirmation []float64) (paired.Decision, error) {
			r.Resolution = 1
			return r.Decide(screen, confirmation)
		},
		"forgets the minimum effect": func(r paired.Rule, screen, confirmation []float64) (paired.Decision, error) {
			r.MinEffect = 1
			return r.Decide(screen, confirmation)
		},
		"has the ratio upside down": func(r paired.Rule, screen, confirmation []float64) (paired.Decision, error) {
			return r.Decide(negated(screen), negated(confirmation))
		},
		"lets all noise pass": func(r paired.Rule, screen, confirmation []float64) (paired.Decision, error) {
			j, err := r.Decide(screen, confirmation)
			j.Passed = j.Passed || j.Verdict == paired.Noise
			return j, err
		},
	} {
		if verdicts(broken) == nil {
			t.Errorf("a rule that %s is not noticed", name)
		}
	}
}

func TestReasonsHaveTheNumbers(t *testing.T) {
	rule := paired.DefaultRule()
	rule.Resolution = 1.2
	for want, c := range map[string][2][]float64{
		"screen flagged; confirmation: p = 9.5e-07, below 0.01; median ratio 1.300, above the machine's resolution 1.2": {steady(10, 1.3), steady(20, 1.3)},
		"screen: p = 0.00098, below 0.05; median ratio 1.100, within the machine's resolution 1.2; at most 1.105 times": {steady(10, 1.1), nil},
		"screen: 9 pairs instead of the 10 decided on":                                                                  {steady(9, 1), nil},
		"screen flagged; confirmation: 0 pairs instead of the 20 decided on":                                            {steady(10, 2), nil},
		"times with 95 % confidence, beyond the margin 1.25":                                                            {spread(10, 1.1, 0.9), nil},
	} {
		if j := judge(t, rule, c[0], c[1]); !strings.Contains(j.Why, want) {
			t.Errorf("wants %q, got %q", want, j.Why)
		}
	}
}

func TestDecideRefusesWhatIsNoNumber(t *testing.T) {
	bad := steady(10, 1.3)
	bad[3] = math.NaN()
	for _, blocks := range [][2][]float64{{bad, nil}, {steady(10, 1.3), append(bad, bad...)}} {
		if j, err := paired.DefaultRule().Decide(blocks[0], blocks[1]); err == nil || j.Verdict != "" || j.Passed {
			t.Errorf("NaN is judged %+v", j)
		}
	}
}

func judge(t *testing.T, rule paired.Rule, screen, confirmation []float64) paired.Decision {
	t.Helper()
	j := must.Get(rule.Decide(screen, confirmation))(t)
	return j
}
