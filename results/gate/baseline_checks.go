package gate

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/outcome"
)

// checkBaselines compares each scenario's results with its baseline.
func checkBaselines(docs []*results.Document, baselines map[string]Baseline) (checks []Check, notes []string) {
	measured := map[string]bool{}
	for _, docs := range byScenario(docs) {
		name := docs[0].Scenario.Name
		measured[name] = true
		b, known := baselines[name]
		if !known {
			notes = append(notes, fmt.Sprintf("%s has no baseline: `zkbench baseline save` makes one", name))
			continue
		}
		found, noted := b.check(docs)
		checks, notes = append(checks, found...), append(notes, noted...)
	}
	var absent []string
	for _, name := range sortedKeys(baselines) {
		if !measured[name] && baselines[name].Load.Mode == results.LockstepMode { // closed loads take long, and are not run on every change
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		notes = append(notes, fmt.Sprintf("lockstep scenarios with a baseline and without a result: %s; --require demands one", strings.Join(absent, ", ")))
	}
	if len(checks) == 0 {
		checks = append(checks, Check{Rule: "baseline", Source: FromBaseline, Outcome: outcome.Inconclusive, Why: "no measured scenario has a baseline"})
	}
	return checks, notes
}

func (b Baseline) check(docs []*results.Document) (checks []Check, notes []string) {
	for _, d := range docs {
		if loadOf(d) != b.Load {
			c := about(d, FromBaseline, "same load")
			c.Outcome, c.Why = outcome.Inconclusive, fmt.Sprintf("the baseline is of another load: %s, not %s", b.Load, loadOf(d))
			return []Check{c}, nil
		}
	}
	groups := results.GroupRepeats(docs)
	for _, row := range b.Rows {
		found := false
		for _, group := range groups {
			if group[0].Variant == row.Variant && group[0].Clients == row.Clients {
				found = true
				checks = append(checks, row.check(group)...)
			}
		}
		if !found {
			checks = append(checks, Check{Rule: "measured", Source: FromBaseline, Scenario: b.Scenario, Variant: row.Variant, Clients: row.Clients,
				Outcome: outcome.Inconclusive, Why: fmt.Sprintf("the baseline has this, and the results have not: run it, or remove its row from %s.json (with the last row, the file)", b.Scenario)})
		}
	}
	for _, group := range groups {
		if d := group[0]; b.row(d.Variant, d.Clients) == nil && !d.BreachExpected() {
			notes = append(notes, fmt.Sprintf("%s: the baseline has no %s with %d clients: `zkbench baseline save` adds it", b.Scenario, d.Variant, d.Clients))
		}
	}
	return checks, notes
}

// check compares each repeat with the counts. The worst repeat decides: a median would hide one repeat of three.
func (r BaselineRow) check(group []*results.Document) []Check {
	var checks []Check
	for _, name := range sortedKeys(r.Counts) {
		c := about(group[0], FromBaseline, "== baseline")
		if !r.Exact {
			c.Rule = "<= bound"
		}
		c.Metric, c.Limit = name, number(r.Counts[name])
		for _, d := range group {
			r.addRepeat(&c, d)
		}
		checks = append(checks, c)
	}
	return checks
}

// addRepeat updates a check with one repeat, if that is worse than those before.
func (r BaselineRow) addRepeat(c *Check, d *results.Document) {
	limit := r.Counts[c.Metric]
	m, measured := d.Metrics[c.Metric]
	result, why := outcome.Pass, ""
	switch {
	case !measured:
		result, why = outcome.Inconclusive, fmt.Sprintf("repeat %d has no %s", d.Repeat, c.Metric)
	case d.Guessed(c.Metric):
		result = outcome.Inconclusive
		why = fmt.Sprintf("repeat %d: it is %.6g, against %.6g; %s", d.Repeat, m.Value, limit, claim.HerdsAreGuessed)
	case r.Exact && !d.Expected.Exact:
		result, why = outcome.Inconclusive, "the baseline is exact, and this load is not"
	case r.Exact && d.AgainstCount(c.Metric, limit) > 0, !r.Exact && d.Exceeds(c.Metric, limit):
		result, why = outcome.Regression, fmt.Sprintf("repeat %d: it is %.6g, against %.6g by the baseline", d.Repeat, m.Value, limit)
	case r.Exact && d.AgainstCount(c.Metric, limit) < 0:
		why, c.better = fmt.Sprintf("improved: it is %.6g, against %.6g by the baseline; `zkbench baseline save` keeps that", m.Value, limit), true
	}
	if measured && (c.Value == nil || m.Value > float64(*c.Value)) {
		c.Value = number(m.Value)
	}
	if outcome.Compare(result, c.Outcome) < 0 || c.Why == "" {
		c.Outcome, c.Why = result, why
	}
}
