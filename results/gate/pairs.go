package gate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/paired"
)

// Pairs is what two builds did, side by side: of each pair first the base's documents, then the head's. No pair of the
// confirmation was in the screen; there is none where the screen flagged nothing.
type Pairs struct {
	Screen, Confirm [][2][]*results.Document
}

// Sides names the two sides of a pair, in their order.
func Sides() [2]string { return [2]string{"base", "head"} }

// PairRules is how pairs are judged.
type PairRules struct {
	Metrics     []string    // empty: throughput, and the median and p90 of the recipe's first phase
	Rule        paired.Rule // for these
	TailEffect  float64     // minimum effect for percentiles in the tail, which cannot be seen as sharply
	TailMargin  float64
	Calibration *Calibration // nil if the machine's own resolution is unknown
	Now         time.Time    // by which a calibration is too old
}

// DefaultPairRules is paired.DefaultRule, and 1.5 for tails.
func DefaultPairRules(now time.Time) PairRules {
	return PairRules{Rule: paired.DefaultRule(), TailEffect: 1.5, TailMargin: 2, Now: now}
}

// Validate refuses, with all reasons, rules that can never fire or never pass, and metrics that pairs cannot decide.
func (r PairRules) Validate() error {
	errs := []error{r.Rule.Validate()}
	if errs[0] == nil {
		errs = append(errs, r.forMetric("x-p99-ns").Validate())
	}
	for _, name := range r.Metrics {
		claim := results.Claim{Metric: name}
		switch {
		case !claim.IsTime():
			errs = append(errs, fmt.Errorf("%s is no time or rate: counts need no pairs; hold them to a baseline", name))
		case results.IsFloor(name):
			errs = append(errs, fmt.Errorf("%s describes the ensemble and not the build: use %s", name, results.FloorMultiple("PHASE")))
		case results.IsMaximum(name):
			errs = append(errs, fmt.Errorf("%s: a maximum is one operation, and says nothing about the others", name))
		}
	}
	return errors.Join(errs...)
}

func (r PairRules) forMetric(name string) paired.Rule {
	rule := r.Rule
	if isTail(name) {
		rule.MinEffect, rule.Margin = max(rule.MinEffect, r.TailEffect), max(rule.Margin, r.TailMargin)
	}
	return rule
}

// Stage is what one block of pairs said, for readers of a report.
type Stage struct {
	Pairs   int            `json:"pairs"`
	Median  results.Number `json:"median_ratio"` // more than 1 is worse
	Low     results.Number `json:"low"`          // of the 95 % interval
	High    results.Number `json:"high"`
	Upper   results.Number `json:"upper_bound"` // "no slower than", with 95 % confidence
	P       float64        `json:"p"`
	Flagged bool           `json:"flagged"`
}

func stageOf(s paired.Stage) *Stage {
	if s.Pairs == 0 {
		return nil
	}
	return &Stage{s.Pairs, results.Number(s.Median), results.Number(s.Low), results.Number(s.High), results.Number(s.Upper), s.P, s.Flagged}
}

// place is what a pair's two sides are compared at.
type place struct {
	scenario, variant string
	clients           int
}

func placeOf(d *results.Document) place {
	return place{d.Scenario.Name, d.Variant, d.Clients}
}

func at(docs []*results.Document, p place) *results.Document {
	for _, d := range docs {
		if placeOf(d) == p {
			return d
		}
	}
	return nil
}

// documents returns those of both sides.
func (p Pairs) documents() []*results.Document {
	var all []*results.Document
	for _, pair := range slices.Concat(p.Screen, p.Confirm) {
		all = append(all, slices.Concat(pair[0], pair[1])...)
	}
	return all
}

// places returns everything that any side of any pair measured, in the order of tables.
func (p Pairs) places() []place {
	var out []place
	for _, group := range results.GroupRepeats(p.documents()) {
		if where := placeOf(group[0]); !slices.Contains(out, where) {
			out = append(out, where)
		}
	}
	return out
}

// Flagged returns the variants and the numbers of clients of which the screen flags something, so that a confirmation of
// those is due.
func (p Pairs) Flagged(r PairRules) (variants []string, clients []int) {
	checks, _ := judgePairs(Pairs{Screen: p.Screen}, r)
	for _, c := range checks {
		if c.Screen == nil || !c.Screen.Flagged {
			continue
		}
		if !slices.Contains(variants, c.Variant) {
			variants = append(variants, c.Variant)
		}
		if !slices.Contains(clients, c.Clients) {
			clients = append(clients, c.Clients)
		}
	}
	return variants, clients
}

// judgePairs holds the head to the base, metric by metric; and the head's documents to what holds for every result.
func judgePairs(p Pairs, r PairRules) (checks []Check, notes []string) {
	if err := r.Validate(); err != nil {
		return []Check{{Rule: "can reject", Source: FromPairs, Outcome: Error, Why: err.Error()}}, nil
	}
	var base, head []*results.Document
	for _, pair := range slices.Concat(p.Screen, p.Confirm) {
		base, head = append(base, pair[0]...), append(head, pair[1]...)
	}
	checks = append(checks, builtIn(head)...)
	checks = append(checks, unsoundBase(base)...)
	places := p.places()
	if len(places) == 0 {
		return append(checks, Check{Rule: "pairs", Source: FromPairs, Outcome: Inconclusive, Why: "no pair has any result"}), nil
	}
	if slices.ContainsFunc(head, func(d *results.Document) bool { return d.Environment.Engine == results.Embedded }) {
		notes = append(notes, "measured on the embedded server: what is compared are times of a server in memory, and of no ensemble")
	}
	for _, where := range places {
		found, told := p.judge(where, r)
		checks, notes = append(checks, found...), append(notes, told...)
	}
	return checks, slices.Compact(notes)
}

// unsoundBase tells of numbers that nothing must be compared with. A broken base is no violation of the head's.
func unsoundBase(docs []*results.Document) []Check {
	var checks []Check
	for _, c := range builtIn(docs) {
		if c.failed() {
			c.Rule, c.Source, c.Outcome = "base: "+c.Rule, FromPairs, Inconclusive
			checks = append(checks, c)
		}
	}
	return checks
}

// judge compares the two sides at one place.
func (p Pairs) judge(where place, r PairRules) (checks []Check, notes []string) {
	base := Check{Rule: "no slower than base", Source: FromPairs, Scenario: where.scenario, Variant: where.variant, Clients: where.clients}
	if why := p.incomparable(where); why != "" {
		base.Outcome, base.Why = Inconclusive, why
		return []Check{base}, nil
	}
	first := at(p.Screen[0][1], where)
	for _, metric := range r.metrics(first) {
		c := base
		c.Metric = metric + ratioSuffix // not the metric itself: a waiver's ceiling for the one would let the other through
		rule := r.forMetric(metric)
		resolution, told := r.resolution(first, metric)
		rule.Resolution = resolution
		if told != "" {
			notes = append(notes, told)
		}
		p.compare(&c, where, metric, rule)
		checks = append(checks, c)
	}
	return checks, notes
}

// metrics returns what is compared of a document.
func (r PairRules) metrics(d *results.Document) []string {
	if len(r.Metrics) > 0 {
		return r.Metrics
	}
	metrics := []string{results.OpsPerSecond}
	if len(d.Phases) > 0 {
		metrics = append(metrics, d.Phases[0]+"-p50-ns", d.Phases[0]+"-p90-ns")
	}
	return metrics
}

// Judgeable returns why a pair could not be judged, however many followed it: a side without any result, or without what
// is to be compared.
func (r PairRules) Judgeable(pair [2][]*results.Document) error {
	for i, docs := range pair {
		side := Sides()[i]
		if len(docs) == 0 {
			return fmt.Errorf("the first pair's %s has no result: see its log", side)
		}
		for _, d := range docs {
			for _, metric := range r.metrics(d) {
				if _, err := valueOf(d, metric); err != nil {
					return fmt.Errorf("the first pair's %s, %s: %w; choose with --metrics among: %s", side, d.Variant, err, decidable(d))
				}
			}
		}
	}
	return nil
}

// decidable lists the metrics of a document that pairs can decide.
func decidable(d *results.Document) string {
	var names []string
	for _, name := range sortedKeys(d.Metrics) {
		if _, err := valueOf(d, name); err == nil && (results.Claim{Metric: name}).IsTime() && !results.IsMaximum(name) && !results.IsFloor(name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// resolution returns what the machine itself moves by, 1 if nobody has measured it, and what to tell.
func (r PairRules) resolution(d *results.Document, metric string) (float64, string) {
	if r.Calibration != nil {
		if entry, ok := r.Calibration.Find(d, metric, r.Now); ok {
			return entry.Resolution, ""
		}
	}
	return 1, fmt.Sprintf("not calibrated for %s on this machine, or not within %d days: a slowdown has to exceed the minimum effect only; "+
		"`zkbench calibrate %s` measures what the machine moves by itself, which costs power where that is much", d.Scenario.Name, CalibrationDays, d.Scenario.Name)
}

// compare judges one metric at one place.
func (p Pairs) compare(c *Check, where place, metric string, rule paired.Rule) {
	c.Limit = number(max(rule.MinEffect, rule.Resolution))
	screen, err := logRatios(p.Screen, where, metric)
	if err != nil {
		c.Outcome, c.Why = Inconclusive, err.Error()
		return
	}
	first, err := rule.Screen(screen)
	if err != nil {
		c.Outcome, c.Why = Error, err.Error()
		return
	}
	var confirm []float64
	if first.Flagged { // what was measured for the sake of another metric is no concern of this one
		if confirm, err = logRatios(p.Confirm, where, metric); err != nil {
			c.Outcome, c.Why, c.Screen = Inconclusive, "confirmation: "+err.Error(), stageOf(first)
			return
		}
	}
	j, err := rule.Decide(screen, confirm)
	if err != nil {
		c.Outcome, c.Why = Error, err.Error()
		return
	}
	c.settle(j, rule, screen)
}

// settle turns a judgement into an outcome.
func (c *Check) settle(j paired.Decision, rule paired.Rule, screen []float64) {
	c.Screen, c.Confirm = stageOf(j.Screen), stageOf(j.Confirmation)
	c.Value = number(j.Screen.Median)
	if c.Confirm != nil {
		c.Value = number(j.Confirmation.Median)
	}
	c.Why = j.Why
	switch {
	case j.Verdict == paired.Regression:
		c.Outcome = Regression
	case j.Passed && j.Verdict == paired.Noise:
		c.Outcome, c.Why = Pass, fmt.Sprintf("%s: %s", j.Verdict, j.Why)
	case j.Passed:
		c.Outcome = Pass
	default:
		c.Outcome = Inconclusive
		if least, err := rule.Detectable(screen); err == nil && !math.IsInf(least, 0) {
			c.Why += fmt.Sprintf("; in pairs that spread like these, a slowdown of %.2f times would be seen", least)
		}
	}
}

// logRatios returns the datum of each pair. A pair without the metric, or with too few samples for it, spoils the test:
// to leave it out would be to choose among the pairs.
func logRatios(pairs [][2][]*results.Document, where place, metric string) ([]float64, error) {
	out := make([]float64, 0, len(pairs))
	for i, pair := range pairs {
		base, err := valueOf(at(pair[0], where), metric)
		if err != nil {
			return nil, fmt.Errorf("pair %d, base: %w", i+1, err)
		}
		head, err := valueOf(at(pair[1], where), metric)
		if err != nil {
			return nil, fmt.Errorf("pair %d, head: %w", i+1, err)
		}
		if results.MoreIsBetter(metric) {
			base, head = head, base
		}
		ratio, err := paired.LogRatio(head, base)
		if err != nil {
			return nil, fmt.Errorf("pair %d: %w", i+1, err)
		}
		out = append(out, ratio)
	}
	return out, nil
}

func valueOf(d *results.Document, metric string) (float64, error) {
	if d == nil {
		return 0, errors.New("there is no result")
	}
	if err := scarce(d, metric); err != nil {
		return 0, err
	}
	if h, ok := percentileOf(d, metric); ok && strings.HasSuffix(metric, "-p99.9-ns") { // is no metric of a document
		decoded, err := h.Decode()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", metric, err)
		}
		return float64(decoded.ValueAtPercentile(99.9)), nil
	}
	m, ok := d.Metrics[metric]
	if !ok {
		return 0, fmt.Errorf("%s was not measured", metric)
	}
	return m.Value, nil
}

// incomparable returns why the two sides must not be compared at one place; empty if they may.
func (p Pairs) incomparable(where place) string {
	if len(p.Screen) == 0 {
		return "there is no screen"
	}
	var first *results.Document
	for i, pair := range slices.Concat(p.Screen, p.Confirm) {
		base, head := at(pair[0], where), at(pair[1], where)
		if base == nil && head == nil && i >= len(p.Screen) {
			continue // only what was flagged is confirmed
		}
		if base == nil || head == nil {
			return fmt.Sprintf("pair %d lacks a side", i+1)
		}
		if first == nil {
			first = base
		}
		for side, d := range [2]*results.Document{base, head} {
			if difference := differs(first, d); difference != "" {
				return fmt.Sprintf("pair %d, %s: %s", i+1, Sides()[side], difference)
			}
			if reasons := d.Saturated(); len(reasons) > 0 {
				return fmt.Sprintf("pair %d, %s: %s", i+1, Sides()[side], strings.Join(reasons, "; "))
			}
		}
	}
	return ""
}
