package gate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/paired"
)

// Stage is the outcome of one block of pairs (screen or confirmation) in a report.
type Stage struct {
	Pairs   int            `json:"pairs"`
	Median  results.Number `json:"median_ratio"` // the slowdown of the head; more than 1 is slower
	Low     results.Number `json:"low"`          // the lower end of the 95 % interval
	High    results.Number `json:"high"`         // its upper end
	Upper   results.Number `json:"upper_bound"`  // with 95 % confidence, the ratio is at most this
	P       float64        `json:"p"`
	Flagged bool           `json:"flagged"`
}

func stageOf(s paired.Stage) *Stage {
	if s.Pairs == 0 {
		return nil
	}
	return &Stage{s.Pairs, results.Number(s.Median), results.Number(s.Low), results.Number(s.High), results.Number(s.Upper), s.P, s.Flagged}
}

// checkPairs compares the head with the base, metric by metric, and applies the built-in rules to the documents of
// both.
func checkPairs(p Pairs, r PairRules) (checks []Check, notes []string) {
	if err := r.Validate(); err != nil {
		return []Check{{Rule: "valid pair rules", Source: FromPairs, Outcome: outcome.Error, Why: err.Error()}}, nil
	}
	head := p.side(1)
	checks = append(builtIn(head), unsoundBase(p.side(0))...)
	keys := p.keys()
	if len(keys) == 0 {
		return append(checks, Check{Rule: "pairs", Source: FromPairs, Outcome: outcome.Inconclusive, Why: "no pair has any result"}), nil
	}
	if slices.ContainsFunc(head, func(d *results.Document) bool { return d.Environment.Engine == results.Embedded }) {
		notes = append(notes, "measured on embedded servers, which are in memory: their times are not those of an ensemble")
	}
	for _, key := range keys {
		if name := p.knownBroken(key); name != "" {
			notes = append(notes, name+" is known to be broken, and its times are not compared")
			continue
		}
		found, noted := p.check(key, r)
		checks, notes = append(checks, found...), append(notes, noted...)
	}
	return checks, slices.Compact(notes)
}

// knownBroken returns the name of a variant that is known to be broken on one of the sides, or "".
func (p Pairs) knownBroken(key results.GroupKey) string {
	for _, pair := range slices.Concat(p.Screen, p.Confirm) {
		for _, docs := range pair {
			if d := find(docs, key); d != nil && d.KnownBroken != "" {
				return d.Key().Name()
			}
		}
	}
	return ""
}

// unsoundBase returns the failed checks of the base, with the outcome Inconclusive: a broken base is not a violation of
// the head.
func unsoundBase(docs []*results.Document) []Check {
	var checks []Check
	for _, c := range builtIn(docs) {
		if c.failed() {
			c.Rule, c.Source, c.Outcome = "base: "+c.Rule, FromPairs, outcome.Inconclusive
			checks = append(checks, c)
		}
	}
	return checks
}

// check compares the two sides of one variant and number of clients.
func (p Pairs) check(key results.GroupKey, r PairRules) (checks []Check, notes []string) {
	base := Check{Rule: "no slower than base", Source: FromPairs, Scenario: key.Scenario, Variant: key.Variant, Clients: key.Clients, Rate: key.Rate}
	if why := p.incomparable(key); why != "" {
		base.Outcome, base.Why = outcome.Inconclusive, why
		return []Check{base}, nil
	}
	first := find(p.Screen[0][1], key)
	for _, metric := range r.metrics(first) {
		c := base
		c.Metric = metric + " ratio"
		rule := r.forMetric(metric)
		resolution, note := r.resolution(first, metric)
		rule.Resolution = resolution
		if note != "" {
			notes = append(notes, note)
		}
		p.compare(&c, key, metric, rule)
		checks = append(checks, c)
	}
	return checks, notes
}

// incomparable returns the reason why the two sides of one variant and number of clients must not be compared, or "".
func (p Pairs) incomparable(key results.GroupKey) string {
	if len(p.Screen) == 0 {
		return "there are no pairs before the confirmation"
	}
	var first *results.Document
	for i, pair := range slices.Concat(p.Screen, p.Confirm) {
		base, head := find(pair[0], key), find(pair[1], key)
		if base == nil && head == nil && i >= len(p.Screen) {
			continue // the screen did not flag this variant, so that the confirmation left it out
		}
		for side, d := range [2]*results.Document{base, head} {
			if d == nil {
				return fmt.Sprintf("pair %d has no result of the %s", i+1, Sides()[side])
			}
			if first == nil {
				first = d
			}
			if difference := differs(first, d); difference != "" {
				return fmt.Sprintf("pair %d, %s: %s", i+1, Sides()[side], difference)
			}
			if why := incomplete(d); why != "" {
				return fmt.Sprintf("pair %d, %s: %s", i+1, Sides()[side], why)
			}
			if reasons := d.Saturated(); len(reasons) > 0 {
				return fmt.Sprintf("pair %d, %s: %s", i+1, Sides()[side], strings.Join(reasons, "; "))
			}
		}
	}
	return ""
}

// incomplete returns why the times of a document are not those of its whole load; empty if they are.
func incomplete(d *results.Document) string {
	switch {
	case d.Partial:
		return "the measurement was interrupted"
	case d.EndedByBreach():
		return "a breach of the promise ended the load"
	case d.Unfinished != nil:
		return "the load took too long and was ended"
	case d.BeyondCapacity():
		return "the rate is beyond the capacity, so that there are no response times"
	default:
		return ""
	}
}

// compare fills in the check of one metric.
func (p Pairs) compare(c *Check, key results.GroupKey, metric string, rule paired.Rule) {
	c.Limit = number(max(rule.MinEffect, rule.Resolution))
	screen, err := logRatios(p.Screen, 1, key, metric)
	if err != nil {
		c.Outcome, c.Why = outcome.Inconclusive, err.Error()
		return
	}
	first, err := rule.Screen(screen)
	if err != nil {
		c.Outcome, c.Why = outcome.Error, err.Error()
		return
	}
	var confirm []float64
	if first.Flagged { // otherwise a confirmation was measured for another metric
		if confirm, err = logRatios(p.Confirm, 1+len(p.Screen), key, metric); err != nil {
			c.Outcome, c.Why, c.Screen = outcome.Inconclusive, "confirmation: "+err.Error(), stageOf(first)
			return
		}
	}
	d, err := rule.Decide(screen, confirm)
	if err != nil {
		c.Outcome, c.Why = outcome.Error, err.Error()
		return
	}
	c.setDecision(d, rule, screen)
}

// setDecision fills in the outcome of a check, its value and its two stages from a decision about pairs.
func (c *Check) setDecision(d paired.Decision, rule paired.Rule, screen []float64) {
	c.Screen, c.Confirm = stageOf(d.Screen), stageOf(d.Confirmation)
	c.Value = number(d.Screen.Median)
	if c.Confirm != nil {
		c.Value = number(d.Confirmation.Median)
	}
	c.Why = d.Why
	switch {
	case d.Verdict == paired.Regression:
		c.Outcome = outcome.Regression
	case d.Passed && d.Verdict == paired.Noise:
		c.Outcome, c.Why = outcome.Pass, fmt.Sprintf("%s: %s", d.Verdict, d.Why)
	case d.Passed:
		c.Outcome = outcome.Pass
	default:
		c.Outcome = outcome.Inconclusive
		if least, err := rule.Detectable(screen); err == nil && !math.IsInf(least, 0) {
			c.Why += fmt.Sprintf("; pairs with this spread would show a slowdown of %.2f times", least)
		}
	}
}

// logRatios returns the logarithm of the head's slowdown for each pair. A pair without the metric, or with too few
// samples for it, is an error, because leaving out pairs would bias the result. from is the number of the first pair.
// Messages number the pairs of screen and confirmation in one sequence, like their folders.
func logRatios(pairs [][2][]*results.Document, from int, key results.GroupKey, metric string) ([]float64, error) {
	out := make([]float64, 0, len(pairs))
	for i, pair := range pairs {
		var values [2]float64
		for side, docs := range pair {
			var err error
			if values[side], err = valueOf(find(docs, key), metric); err != nil {
				return nil, fmt.Errorf("pair %d, %s: %w", from+i, Sides()[side], err)
			}
		}
		base, head := values[0], values[1]
		if results.MetricNamed(metric).MoreIsBetter() {
			base, head = head, base
		}
		ratio, err := paired.LogRatio(head, base)
		if err != nil {
			return nil, fmt.Errorf("pair %d: %w", from+i, err)
		}
		out = append(out, ratio)
	}
	return out, nil
}

// valueOf returns a metric of a document. It is an error if the document is nil, or lacks the metric or samples for it.
func valueOf(d *results.Document, metric string) (float64, error) {
	if d == nil {
		return 0, errors.New("there is no result")
	}
	if err := claim.Scarce(d, metric); err != nil {
		return 0, err
	}
	if d.AtLeast(metric) {
		return 0, fmt.Errorf("%s is only a lower bound: the load ended before a recovery", metric)
	}
	if p, ok := d.Percentile(metric); ok && p.Of == 99.9 { // a document does not list this metric
		decoded, err := p.Decode()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", metric, err)
		}
		return float64(decoded.ValueAtPercentile(p.Of)), nil
	}
	m, ok := d.Metrics[metric]
	if !ok {
		return 0, fmt.Errorf("%s was not measured", metric)
	}
	return m.Value, nil
}
