package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
)

func about(d *results.Document, source Source, rule string) Check {
	return Check{Rule: rule, Source: source, Outcome: outcome.Pass,
		Scenario: d.Scenario.Name, Recipe: d.Recipe, Variant: d.Variant, Clients: d.Clients, Rate: d.Rate}
}

// builtInRule is a rule that holds for every result. find returns the reason why a document breaks it, or "".
type builtInRule struct {
	name  string
	worst outcome.Outcome
	find  func(d *results.Document) string
}

// promiseKept is the only built-in rule that also holds for trials beyond the capacity.
func promiseKept() builtInRule {
	return builtInRule{"promise kept", outcome.Violation, func(d *results.Document) string {
		switch {
		case !d.Broken():
			return ""
		case len(d.Violations) == 0:
			return breaches(d.Breaches())
		default:
			return fmt.Sprintf("%s, the first at %s: %s", breaches(d.Breaches()), d.Violations[0].At.Round(time.Millisecond), d.Violations[0].Text)
		}
	}}
}

// naming returns the name of a document in messages, such as "repeat 2" or, among pairs, "pair 4, head".
type naming = func(d *results.Document) string

func builtIn(docs []*results.Document, called naming) []Check {
	var checks []Check
	for _, group := range grouping.Repeats(docs) {
		for _, rule := range []builtInRule{
			promiseKept(),
			{"valid", outcome.Invalid, func(d *results.Document) string { return strings.Join(d.Invalid, "; ") }},
			{"schema", outcome.Inconclusive, func(d *results.Document) string { // of callers that make documents themselves
				if d.Schema == results.Schema {
					return ""
				}
				return fmt.Sprintf("schema %d instead of %d", d.Schema, results.Schema)
			}},
			{"load as asked for", outcome.Inconclusive, starvedGenerator},
			{"metrics present", outcome.Inconclusive, missingAmong(group)},
		} {
			checks = append(checks, rule.check(group, called))
		}
		checks = append(checks, byFormula(group, called)...)
	}
	return checks
}

// byFormula returns a check for each count that deviates from its formula in a repeat, or one that passes.
func byFormula(group []*results.Document, called naming) []Check {
	var checks []Check
	passes := about(group[0], BuiltIn, "counts by formula")
	for _, d := range group {
		for _, v := range doubts.Deviations(d) {
			if slices.ContainsFunc(checks, func(c Check) bool { return c.Metric == v.Metric }) {
				continue
			}
			c := passes
			c.Metric, c.Value, c.Limit = v.Metric, number(v.Got), number(v.Want)
			c.deviate(group, d, v.Exact, "the formula "+v.Formula, called)
			checks = append(checks, c)
		}
	}
	if len(checks) == 0 {
		return []Check{passes}
	}
	return checks
}

// deviate makes a check of a count fail: a regression in either direction, or inconclusive if the count is not certain.
func (c *Check) deviate(group []*results.Document, d *results.Document, exact bool, from string, called naming) {
	c.bound, c.Outcome = !exact, outcome.Regression
	c.Why = fmt.Sprintf("%s: it is %.6g, against %.6g by %s", called(d), *c.Value, *c.Limit, from)
	if why := doubts.Disturbed(group, c.Metric, exact, called); why != "" {
		c.Outcome, c.Why = outcome.Inconclusive, c.Why+"; "+why
	} else if *c.Value < *c.Limit {
		c.Why += ": fewer; update formula and baseline if this is meant"
	}
}

func (r builtInRule) check(group []*results.Document, called naming) Check {
	c := about(group[0], BuiltIn, r.name)
	for _, d := range group {
		if text := r.find(d); text != "" {
			c.Outcome, c.Why = r.worst, strings.TrimPrefix(fmt.Sprintf("%s; %s: %s", c.Why, called(d), text), "; ")
		}
	}
	return c
}

func breaches(n int64) string {
	if n == 1 {
		return "1 breach of the promise"
	}
	return fmt.Sprintf("%d breaches of the promise", n)
}

func partOf(d *results.Document) string {
	if d.Partial {
		return fmt.Sprintf("interrupted after %s of %s", d.Window.Length().Round(time.Second), d.Scenario.Duration)
	}
	return ""
}

// starvedGenerator returns why clients looped more slowly than the load demands: less contention makes smaller counts, too.
// Lockstep has no such pace, because its steps wait for each other.
func starvedGenerator(d *results.Document) string {
	if d.CountsExactly() {
		return ""
	}
	return strings.Join(doubts.Saturated(d), "; ")
}

// missingAmong returns a function that finds the metrics that a document lacks and another repeat of its group has, such as those of a
// phase that did not occur. A rule about such a metric must not pass by the other repeats alone. Metrics of the floor are ignored, because
// a load is complete without them, and so are times of bystanders in a window of few of their periods, or of a whole load of exact counts,
// in which bystanders may not read at all. Slowdowns are ignored, because a repeat with too few requests has none, and no rule decides by
// so few. A repeat that lacks the requests of an operation sent none of them.
func missingAmong(group []*results.Document) func(*results.Document) string {
	names := list.Where(sortedKeys(metric.Aggregate(group)), func(name string) bool {
		m := metric.Named(name)
		return !m.Ensemble && m.Kind != metric.KindMultiple && m.Operation == ""
	})
	return func(d *results.Document) string {
		unread := d.CountsExactly() || d.Window.Length() < 10*time.Second/time.Duration(max(d.Scenario.BystanderRate, 1))
		missing := list.Where(names, func(name string) bool {
			_, measured := d.Metrics[name]
			ofBystander := slices.Contains([]string{results.BystanderPhase, results.BystanderService}, metric.Named(name).Phase)
			return !measured && (!unread || !ofBystander)
		})
		if len(missing) == 0 || d.Unfinished != nil && d.BreachExpected() { // its variant has no numbers at all
			return ""
		}
		return "without " + strings.Join(missing, ", ")
	}
}

func ofScenario(rule, scenario string, worst outcome.Outcome, why string) Check {
	c := Check{Rule: rule, Source: BuiltIn, Scenario: scenario, Outcome: outcome.Pass, Why: why}
	if why != "" {
		c.Outcome = worst
	}
	return c
}

// required checks that each required scenario has a result. No other check notices that a scenario is missing.
func required(e Evidence, scenarios []string, names Names) []Check {
	return list.Map(scenarios, func(name string) Check {
		why := ""
		if !slices.ContainsFunc(e.Documents, func(d *results.Document) bool { return d.Scenario.Name == name }) {
			why = e.noResult(name, names)
		}
		return ofScenario("required", name, outcome.Inconclusive, why)
	})
}

func (e Evidence) noResult(scenario string, names Names) string {
	why := "there is no result of this scenario"
	if slices.ContainsFunc(e.Capacities, func(r capacity.Report) bool { return matches(scenario, r.Scenario) }) {
		why += " by `zkbench run`, only a capacity"
	}
	return why + names.hint(scenario, e.scenarios())
}

// complete checks that each run has all repeats that its scenario asks for, of every variant and number of clients, and that its documents
// were measured under the same conditions. This is not so if a run was interrupted, mixed with another, or lacks a part.
func complete(docs []*results.Document, variantsOf func(*results.Document) []string) []Check {
	var checks []Check
	for _, run := range list.GroupBy(docs, func(d *results.Document) [2]string { return [2]string{d.Scenario.Name, d.Run} }) {
		name := run[0].Scenario.Name
		checks = append(checks, ofScenario("complete", name, outcome.Inconclusive, absent(run, variantsOf)),
			ofScenario("one run", name, outcome.Inconclusive, mixed(run)))
	}
	return checks
}

// mixed returns a condition in which documents of one run differ, although only the rate may; empty if there is none.
func mixed(run []*results.Document) string {
	for _, d := range run[1:] {
		for _, c := range grouping.Differing(run[:1], []*results.Document{d}) {
			if c.Name != grouping.RateCondition {
				return fmt.Sprintf("%s and %s differ in %s", run[0].Filename(), d.Filename(), c.Name)
			}
		}
	}
	return ""
}

func absent(docs []*results.Document, variantsOf func(*results.Document) []string) string {
	asked := docs[0].Scenario
	var missing []string
	variants := list.Map(docs, func(d *results.Document) string { return d.Variant })
	named := list.Map(asked.Variants, path.Base) // without the recipe
	if len(named) == 0 && variantsOf != nil {
		named = variantsOf(docs[0])
	}
	for _, variant := range list.Distinct(append(variants, named...)) {
		for _, load := range asked.Loads() {
			have := map[int]bool{} // a result that was given twice counts once
			part := ""
			for _, d := range docs {
				switch {
				case d.Variant != variant || d.Load() != load || d.Repeat == 0:
				case d.Partial:
					part = ", and one that was " + partOf(d)
				default:
					have[d.Repeat] = true
				}
			}
			if len(have) < asked.Repeats {
				missing = append(missing, fmt.Sprintf("%s with %s has %d of %d repeats%s", variant, load, len(have), asked.Repeats, part))
			}
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "missing: " + strings.Join(missing, "; ")
}
