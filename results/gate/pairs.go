package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/paired"
)

// Pairs holds the documents of two builds. Each pair has first the documents of the base, then those of the head. The
// confirmation has fresh pairs, and none if the screen flagged nothing.
type Pairs struct {
	Screen, Confirm [][2][]*results.Document
}

// Sides returns the names of the two sides of a pair.
func Sides() [2]string { return [2]string{"base", "head"} }

// PairRules says how pairs are compared.
type PairRules struct {
	Metrics     []string    // empty: throughput, and the median and p90 of the recipe's first phase
	Rule        paired.Rule // for these
	TailEffect  float64     // minimum effect for percentiles in the tail, which vary more
	TailMargin  float64
	Calibration *Calibration // nil if the resolution of the machine is unknown
	Now         time.Time    // a calibration has an age
}

// DefaultPairRules is paired.DefaultRule, and 1.5 for tails.
func DefaultPairRules(now time.Time) PairRules {
	return PairRules{Rule: paired.DefaultRule(), TailEffect: 1.5, TailMargin: 2, Now: now}
}

// Validate returns all reasons why the rules can never fail or never pass, and the metrics that pairs cannot decide.
func (r PairRules) Validate() error {
	errs := []error{r.Rule.Validate()}
	if errs[0] == nil {
		errs = append(errs, r.forMetric("x-p99-ns").Validate())
	}
	for _, name := range r.Metrics {
		switch m := results.MetricNamed(name); {
		case !m.Timed():
			errs = append(errs, fmt.Errorf("%s is not a time or a rate: counts need no pairs; hold them to a baseline", name))
		case m.Ensemble:
			errs = append(errs, fmt.Errorf("%s describes the ensemble and not the build: use %s", name, results.FloorMultiple("PHASE")))
		case !m.HasDirection():
			errs = append(errs, fmt.Errorf("%s is neither better nor worse with another build", name))
		case m.Extreme:
			errs = append(errs, fmt.Errorf("%s: a maximum is one operation and says nothing about the others", name))
		}
	}
	return errors.Join(errs...)
}

func (r PairRules) forMetric(name string) paired.Rule {
	rule := r.Rule
	if results.MetricNamed(name).Samples() > 1 {
		rule.MinEffect, rule.Margin = max(rule.MinEffect, r.TailEffect), max(rule.Margin, r.TailMargin)
	}
	return rule
}

// metrics returns the metrics of a document that are compared.
func (r PairRules) metrics(d *results.Document) []string {
	if len(r.Metrics) > 0 {
		return r.Metrics
	}
	if d.Rate > 0 { // the throughput of an open load is its rate
		return []string{results.Quantile(results.ResponsePhase, 50), results.Quantile(results.ResponsePhase, 90)}
	}
	metrics := []string{results.OpsPerSecond}
	if len(d.Phases) > 0 {
		metrics = append(metrics, results.Quantile(d.Phases[0], 50), results.Quantile(d.Phases[0], 90))
	}
	return metrics
}

// resolution returns the resolution of the machine for a metric. Without a calibration, it is 1 and comes with a note.
func (r PairRules) resolution(d *results.Document, metric string) (resolution float64, note string) {
	if r.Calibration != nil {
		if entry, ok := r.Calibration.Find(d, metric, r.Now); ok {
			return entry.Resolution, ""
		}
	}
	return 1, fmt.Sprintf("not calibrated for %s on this machine, or not within %d days: a slowdown has to exceed only the minimum effect; "+
		"`zkbench calibrate %s` measures the machine's run-to-run noise, within which no slowdown is flagged", d.Scenario.Name, CalibrationDays, d.Scenario.Name)
}

// CheckPair returns why no further pair could decide anything: a side has no result, or lacks a metric to be compared.
func (r PairRules) CheckPair(pair [2][]*results.Document) error {
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
	return strings.Join(slices.DeleteFunc(sortedKeys(d.Metrics), func(name string) bool {
		_, err := valueOf(d, name)
		return err != nil || PairRules{Rule: paired.DefaultRule(), Metrics: []string{name}}.Validate() != nil
	}), ", ")
}

// pairKey identifies the documents of a pair that are compared with each other. Differences in their load are reported.
func pairKey(d *results.Document) results.GroupKey {
	return results.GroupKey{Scenario: d.Scenario.Name, Variant: d.Variant, Clients: d.Clients, Rate: d.Rate}
}

// find returns the document with a key; nil if there is none.
func find(docs []*results.Document, key results.GroupKey) *results.Document {
	if i := slices.IndexFunc(docs, func(d *results.Document) bool { return pairKey(d) == key }); i >= 0 {
		return docs[i]
	}
	return nil
}

// side returns the documents of one side of all pairs.
func (p Pairs) side(side int) []*results.Document {
	var docs []*results.Document
	for _, pair := range slices.Concat(p.Screen, p.Confirm) {
		docs = append(docs, pair[side]...)
	}
	return docs
}

// documents returns the documents of both sides.
func (p Pairs) documents() []*results.Document { return slices.Concat(p.side(0), p.side(1)) }

// keys returns the keys of all documents, in the order of tables.
func (p Pairs) keys() []results.GroupKey {
	var out []results.GroupKey
	for _, group := range results.GroupRepeats(p.documents()) {
		if key := pairKey(group[0]); !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}

// Flagged returns the variants and the numbers of clients of which the screen flags a metric. They need a confirmation.
func (p Pairs) Flagged(r PairRules) (variants []string, clients []int) {
	checks, _ := checkPairs(Pairs{Screen: p.Screen}, r)
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
