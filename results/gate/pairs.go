package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/paired"
	"github.com/zkbench/zkbench/results/turns"
)

// Pairs holds the documents of two builds. Each pair has first the documents of the base, then the documents of the head. The
// confirmation has fresh pairs, and none if the screen flagged nothing.
type Pairs struct {
	Screen, Confirm [][2][]*results.Document
}

// Sides returns the names of the two sides of a pair.
func Sides() [2]string { return [2]string{"base", "head"} }

// PairRules says how pairs are compared.
type PairRules struct {
	Metrics     []string     // empty: requests, notifications, throughput, and the median and p90 of the recipe's first phase
	Rule        paired.Rule  // see forMetric
	Calibration *Calibration // nil if the resolution of the machine is unknown
	Now         time.Time    // a calibration has an age
}

// The minimum effect and the margin of percentiles in the tail, which vary more than medians, and of counts, which vary less. A count
// below leastCount is taken as leastCount, so that one of 0 has a ratio, and one that is rare on both sides does not matter.
const (
	tailEffect  = 1.5
	tailMargin  = 2
	countEffect = 1.02
	countMargin = 1.1
	leastCount  = 0.01
)

// DefaultPairRules returns rules with paired.DefaultRule and without a calibration.
func DefaultPairRules(now time.Time) PairRules {
	return PairRules{Rule: paired.DefaultRule(), Now: now}
}

// Validate returns all reasons why the rules can never fail or never pass, and the metrics that pairs cannot decide.
func (r PairRules) Validate() error {
	errs := []error{r.Rule.Validate()}
	if errs[0] == nil {
		errs = append(errs, r.forMetric("x-p99-ns").Validate())
	}
	for _, name := range r.Metrics {
		switch m := metric.Named(name); {
		case !m.Timed() && !isCount(name):
			errs = append(errs, fmt.Errorf("%s is neither a time, nor a rate, nor a count of an operation: hold it to a rule", name))
		case m.Ensemble:
			errs = append(errs, fmt.Errorf("%s describes the ensemble and not the build: use %s", name, metric.FloorMultiple("PHASE")))
		case !m.HasDirection():
			errs = append(errs, fmt.Errorf("%s is neither better nor worse with another build", name))
		case m.Extreme:
			errs = append(errs, fmt.Errorf("%s: a maximum is one operation and says nothing about the others", name))
		}
	}
	return errors.Join(errs...)
}

// isCount reports whether a metric is a number of requests, watches or notifications for each operation of the recipe.
func isCount(name string) bool {
	m := metric.Named(name)
	return m.Exact && strings.HasSuffix(name, "/op")
}

func isTime(name string) bool { return !isCount(name) }

// Timed reports whether the rules name a time or a rate.
func (r PairRules) Timed() bool { return slices.ContainsFunc(r.Metrics, isTime) }

func (r PairRules) forMetric(name string) paired.Rule {
	rule := r.Rule
	switch {
	case isCount(name):
		rule.MinEffect, rule.Margin = countEffect, countMargin
	case metric.Named(name).Samples() > 1:
		rule.MinEffect, rule.Margin = max(rule.MinEffect, tailEffect), max(rule.Margin, tailMargin)
	}
	return rule
}

// metrics returns the metrics of a document to which the paired rule applies. Times of embedded servers have to be named.
func (r PairRules) metrics(d *results.Document) []string {
	metrics, phases := r.Metrics, []string(nil)
	switch {
	case len(metrics) > 0 || d.Lockstep():
	case d.Rate > 0: // the throughput of an open load is its rate
		phases = []string{results.ResponsePhase}
	default:
		timed := list.Where(d.Phases, func(phase string) bool { // a single client waits for no other
			_, measured := d.Metrics[metric.Quantile(phase, 50)]
			return measured || d.Clients > 1
		})
		metrics, phases = []string{metric.OpsPerSecond}, timed[:min(len(timed), 1)]
		if !d.Scenario.Faulty() { // a recovery has a cost, too
			metrics = []string{metric.RequestsPerOp, metric.NotificationsPerOp, metric.OpsPerSecond}
		}
	}
	for _, phase := range phases {
		metrics = append(metrics, metric.Quantile(phase, 50), metric.Quantile(phase, 90))
	}
	timed := r.Timed() || d.Environment.Engine != results.Embedded // exact counts need no statistics
	return list.Where(metrics, func(name string) bool { return isTime(name) && timed || isCount(name) && !d.CountsExactly() })
}

// CheckPair returns an error if further pairs would be useless: a side has no result, or lacks a metric to be compared.
func (r PairRules) CheckPair(pair [2][]*results.Document) error {
	for i, side := range Sides() {
		if len(pair[i]) == 0 {
			return fmt.Errorf("the first pair's %s has no result: see its log", side)
		}
		for _, d := range pair[i] {
			for _, metric := range r.metrics(d) {
				if _, why := turns.Value(d, metric); why != "" {
					return fmt.Errorf("the first pair's %s, %s: %s; choose other metrics with --metrics", side, d.Variant, why)
				}
			}
		}
	}
	return nil
}

// Documents returns the documents of the base and then those of the head.
func (p Pairs) Documents() []*results.Document { return slices.Concat(p.side(0), p.side(1)) }

// called names a document: each run of a pair has only a first repeat.
func (p Pairs) called(d *results.Document) string {
	for i, pair := range slices.Concat(p.Screen, p.Confirm) {
		for side, docs := range pair {
			if slices.Contains(docs, d) {
				return runOf(i, side)
			}
		}
	}
	return doubts.Repeat(d)
}

// runOf names a run of a pair as its folder does.
func runOf(pair, side int) string { return fmt.Sprintf("pair %d, %s", pair+1, Sides()[side]) }

func (p Pairs) side(side int) []*results.Document {
	of := func(pair [2][]*results.Document) []*results.Document { return pair[side] }
	return slices.Concat(list.Map(slices.Concat(p.Screen, p.Confirm), of)...)
}

type comparison struct {
	docs            []*results.Document
	screen, confirm turns.Pairs // no confirm if the screen did not flag this variant, so that the confirmation left it out
}

func (p Pairs) comparisons() []comparison {
	docs := slices.Concat(grouping.Repeats(p.Documents())...)
	return list.Map(list.GroupBy(docs, pairKey), func(docs []*results.Document) comparison {
		c := comparison{docs, pairsOf(p.Screen, pairKey(docs[0])), pairsOf(p.Confirm, pairKey(docs[0]))}
		if slices.Equal(c.confirm, make(turns.Pairs, len(c.confirm))) {
			c.confirm = nil
		}
		return c
	})
}

// pairKey identifies the documents of a pair that are compared with each other. Differences in their load are reported.
func pairKey(d *results.Document) grouping.Key {
	return grouping.Key{Scenario: d.Scenario.Name, Variant: d.Variant, Clients: d.Clients, Rate: d.Rate}
}

func pairsOf(pairs [][2][]*results.Document, key grouping.Key) turns.Pairs {
	return list.Map(pairs, func(pair [2][]*results.Document) (out turns.Pair) {
		for side, docs := range pair {
			if i := slices.IndexFunc(docs, func(d *results.Document) bool { return pairKey(d) == key }); i >= 0 {
				out[side] = docs[i]
			}
		}
		return out
	})
}

// Flagged returns the metrics that the screen flags, and for which variants and numbers of clients. They need a confirmation.
func (p Pairs) Flagged(r PairRules) (metrics, variants []string, clients []int) {
	checks, _ := checkPairs(Pairs{Screen: p.Screen}, r)
	for _, c := range checks {
		if c.Screen.Flagged {
			metrics = list.AppendNew(metrics, strings.TrimSuffix(c.Metric, ratioSuffix))
			variants, clients = list.AppendNew(variants, c.Variant), list.AppendNew(clients, c.Clients)
		}
	}
	return metrics, variants, clients
}

const (
	ofBase      = "base: " // before the rule of a check of the base alone
	ratioSuffix = " ratio" // after the metric of a check of pairs
)

func checkPairs(p Pairs, r PairRules) (checks []Check, notes []string) {
	head := p.side(1)
	checks, notes = builtIn(head, p.called), r.noteEmbedded(head)
	for _, c := range list.Where(builtIn(p.side(0), p.called), Check.failed) { // a broken base is not a violation of the head
		c.Rule, c.Source, c.Outcome = ofBase+c.Rule, FromPairs, outcome.Inconclusive
		checks = append(checks, c)
	}
	before := len(checks)
	add := func(found []Check, noted []string) {
		checks, notes = append(checks, found...), append(notes, noted...)
	}
	sound, found, noted := p.exactCounts()
	add(found, noted)
	add(ratios(sound, r, isCount))
	switch decided := slices.ContainsFunc(checks, func(c Check) bool { return c.Outcome == outcome.Regression }); {
	case !decided:
		add(ratios(sound, r, isTime))
	case slices.ContainsFunc(sound, func(c comparison) bool { return slices.ContainsFunc(r.metrics(c.docs[0]), isTime) }):
		notes = append(notes, "times are not compared, because the counts decide") // and times may be too noisy to decide
	}
	if len(checks) == before {
		checks = append(checks, Check{Rule: "pairs", Source: FromPairs, Outcome: outcome.Inconclusive, Why: "no pair has results to compare"})
	}
	return checks, slices.Compact(notes)
}

func (r PairRules) noteEmbedded(docs []*results.Document) []string {
	switch embedded := list.Where(docs, func(d *results.Document) bool { return d.Environment.Engine == results.Embedded }); {
	case len(embedded) > 0 && r.Timed():
		return []string{"measured on embedded servers, which are in memory: their times are not those of an ensemble"}
	case slices.ContainsFunc(embedded, func(d *results.Document) bool { return !d.Lockstep() }):
		return []string{"times are not compared: embedded servers are in memory (name a time with --metrics to compare it)"}
	default:
		return nil
	}
}

// exactCounts compares the exact counts of all variants. It returns the comparisons whose ratios can be compared, too.
func (p Pairs) exactCounts() (sound []comparison, checks []Check, notes []string) {
	for _, c := range p.comparisons() {
		broken := slices.IndexFunc(c.docs, func(d *results.Document) bool { return d.KnownBroken != "" })
		if broken >= 0 {
			notes = append(notes, grouping.KeyOf(c.docs[broken]).Name()+" is known to be broken, and only its exact counts are compared")
		}
		switch why := c.incomparable(); {
		case broken >= 0 && !exact(c.docs): // such as one that its breach ended
			continue
		case why != "":
			check := about(c.docs[0], FromPairs, "no worse than base")
			check.Outcome, check.Why = outcome.Inconclusive, why
			checks = append(checks, check)
			continue
		case broken < 0:
			sound = append(sound, c)
		}
		checks = append(checks, c.exactCounts(p.called)...)
	}
	return sound, checks, notes
}

func exact(docs []*results.Document) bool {
	return !slices.ContainsFunc(docs, func(d *results.Document) bool { return !d.CountsExactly() })
}

// ratios compares those metrics of the comparisons that are wanted.
func ratios(comparisons []comparison, r PairRules, wanted func(metric string) bool) (checks []Check, notes []string) {
	for _, c := range comparisons {
		for _, metric := range list.Where(r.metrics(c.docs[0]), wanted) {
			check, rule := about(c.docs[0], FromPairs, "no worse than base"), r.forMetric(metric)
			check.Metric, check.Outcome = metric+ratioSuffix, outcome.Inconclusive
			resolution, note := r.resolution(c.docs[0], metric)
			if rule.Resolution = resolution; note != "" {
				notes = append(notes, note)
			}
			check.Limit = number(max(rule.MinEffect, rule.Resolution))
			c.decide(&check, metric, rule)
			checks = append(checks, check)
		}
	}
	return checks, notes
}

func (c comparison) incomparable() string {
	for i, pair := range slices.Concat(c.screen, c.confirm) {
		for side, d := range pair {
			if d == nil {
				return fmt.Sprintf("pair %d has no result of the %s", i+1, Sides()[side])
			}
			where := runOf(i, side)
			for _, o := range grouping.Differing(c.docs[:1], []*results.Document{d}) {
				if o.Aspect != grouping.BuildAspect { // a different build is the subject of the comparison
					return fmt.Sprintf("%s: measured under another %s (%s): %q, not %q", where, o.Name, o.Aspect, o.Other[0], o.Base[0])
				}
			}
			if why := turns.Unfit(d, ""); why != "" && (d.Partial || !d.CountsExactly()) { // exact counts do not depend on the CPU
				return where + ": " + why
			}
		}
	}
	return ""
}

// exactCounts compares each count that is the same in all runs of a build: any difference is a deviation, in either direction.
func (c comparison) exactCounts(called naming) []Check {
	if !exact(c.docs) {
		return nil
	}
	var base, head []*results.Document
	for _, pair := range slices.Concat(c.screen, c.confirm) {
		base, head = append(base, pair[0]), append(head, pair[1])
	}
	names := list.Where(sortedKeys(metric.Aggregate(c.docs)), func(name string) bool {
		m := metric.Named(name)
		return m.Exact && m.Kind == metric.KindCount && !metric.Guessed(head[0], name)
	})
	return list.Map(names, func(name string) Check {
		check := about(head[0], FromPairs, "== base")
		check.Metric, check.Limit, check.Value = name, number(base[0].Metrics[name].Value), number(head[0].Metrics[name].Value)
		for i, d := range head {
			if before := base[i].Metrics[name].Value; check.Outcome == outcome.Pass && metric.AgainstCount(d, name, before) != 0 {
				check.Limit, check.Value = number(before), number(d.Metrics[name].Value)
				check.deviate(head, d, true, "the base", called)
				if why := doubts.Disturbed(base, name, true, called); why != "" {
					check.Outcome, check.Why = outcome.Inconclusive, check.Why+"; the base: "+why
				}
			}
		}
		return check
	})
}

// logRatios returns the log-ratios of pairs. An error names a pair as its folder does: the pairs of screen and confirmation
// are numbered in one sequence, and before is the number of pairs before these.
func logRatios(pairs turns.Pairs, before int, metric string) ([]float64, error) {
	least := 0.0
	if isCount(metric) {
		least = leastCount
	}
	ratios, doubt := pairs.LogRatios(metric, least)
	if doubt != nil {
		return nil, fmt.Errorf("%s: %s", runOf(before+doubt.Pair, doubt.Side), doubt.Why)
	}
	return ratios, nil
}

// decide fills in the check of one metric. It leaves the check inconclusive if the pairs cannot decide.
func (c comparison) decide(check *Check, metric string, rule paired.Rule) {
	screen, err := logRatios(c.screen, 0, metric)
	if err != nil {
		check.Why = err.Error()
		return
	}
	confirm, unconfirmed := logRatios(c.confirm, len(c.screen), metric)
	d, err := rule.Decide(screen, confirm)
	if err != nil {
		check.Outcome, check.Why = outcome.Error, err.Error()
		return
	}
	check.Screen, check.Value, check.Why = d.Screen, &d.Screen.Median, d.Why
	if unconfirmed != nil && d.Screen.Flagged { // otherwise the confirmation was measured for another metric
		check.Value, check.Why = nil, "confirmation: "+unconfirmed.Error()
		return
	}
	if d.Confirmation.Pairs > 0 {
		check.Confirm, check.Value = d.Confirmation, &d.Confirmation.Median
	}
	switch {
	case d.Verdict == paired.Regression:
		check.Outcome = outcome.Regression
	case d.Passed && d.Verdict == paired.Noise:
		check.Outcome, check.Why = outcome.Pass, fmt.Sprintf("%s: %s", d.Verdict, d.Why)
	case d.Passed:
		check.Outcome = outcome.Pass
	default:
		if b := cmp.Or(check.Confirm, check.Screen); d.Complete {
			from := "no worse than the base, or up to"
			if b.Low > 1 {
				from = fmt.Sprintf("%.3g to", b.Low)
			}
			check.plain = fmt.Sprintf("too noisy to decide: %s %.3g times worse; the gate must rule out %.3g: "+
				"lengthen --duration or measure more pairs", from, b.Upper, rule.Margin)
		}
		check.Why = "neither shown nor ruled out: " + check.Why
		if least := rule.Detectable(screen); !math.IsInf(least, 0) {
			check.Why += fmt.Sprintf("; pairs with this spread would show a slowdown of %.2f times", least)
		}
	}
}
