package gate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/strict"
)

// Assertion is a claim with the scenario that it is about and its source.
type Assertion struct {
	claim.Claim
	Source   Source
	Scenario string // a pattern of path.Match

	// For claims about [metric.Capacity] only: they select one of the capacities of a scenario.
	Objective capacity.Objective
	By        string // capacity.ByRate or capacity.ByClients
}

func (a Assertion) isCapacity() bool { return a.Metric == metric.Capacity }

func matches(pattern, scenario string) bool {
	match, err := path.Match(pattern, scenario)
	return match && err == nil
}

// rule is an assertion with the texts of its fields in a file.
type rule struct {
	Assertion
	text, objective string
	clients         *int
}

// RuleFields returns the fields of a rule in a file.
func RuleFields() []strict.Field { return new(rule).fields() }

func (r *rule) fields() []strict.Field {
	return []strict.Field{
		{Name: "scenario", Wants: "the name of a scenario, or a pattern such as lock-*", Value: &r.Scenario, Required: true},
		{Name: "check", Wants: "a claim, such as predecessor-watch acquire-p99 < 250ms", Value: &r.text, Required: true},
		{Name: "clients", Wants: "a whole number of at least 1", Value: &r.clients},
		{Name: "tolerance", Wants: "a share of the limit, such as 0.05", Value: &r.Tolerance},
		{Name: "objective", Wants: "that of a capacity, such as response-p99 < 50ms", Value: &r.objective},
		{Name: "by", Wants: "the load of a capacity: rate or clients", Value: &r.By},
	}
}

// ParseRules reads a rules file; file is its name in messages. A rule without a variant is about all of them. A variant or a
// metric that names does not list is an error.
func ParseRules(file string, text []byte, names Names) ([]Assertion, error) {
	var rules []Assertion
	err := strict.ReadList(file, text, func() ([]strict.Field, func() []string) {
		r := rule{Assertion: Assertion{Source: FromFile}}
		return r.fields(), func() []string {
			problems := r.parse(r.text)
			if r.clients != nil { // 0 may come from an unset variable
				if r.Clients = *r.clients; r.Clients < 1 {
					problems = append(problems, fmt.Sprintf("clients: wants at least 1, not %d", r.Clients))
				}
			}
			problems = append(problems, r.setSearch(r.objective)...)
			if len(problems) == 0 {
				problems = names.unknownIn(r.Assertion)
			}
			rules = append(rules, r.Assertion)
			return problems
		}
	})
	if err == nil && len(rules) == 0 {
		err = fmt.Errorf("%s: has no rule", file)
	}
	return rules, err
}

// parse reads the claim of a rule, and returns the mistakes in the whole rule.
func (a *Assertion) parse(check string) []string {
	var problems []string
	parsed, err := claim.ParseForEvery(check)
	parsed.Tolerance = a.Tolerance
	a.Claim = parsed
	if err != nil {
		problems = append(problems, "check: "+err.Error())
	} else if why := a.Unfailing(); why != "" {
		problems = append(problems, "check: "+why)
	}
	if _, err := path.Match(a.Scenario, ""); err != nil || a.Scenario == "" {
		problems = append(problems, fmt.Sprintf("scenario: %q is not a pattern", a.Scenario))
	}
	if !(a.Tolerance >= 0 && a.Tolerance < 1) {
		problems = append(problems, fmt.Sprintf("tolerance: wants a share from 0 to below 1, not %g", a.Tolerance))
	}
	if a.Tolerance > 0 && a.IsTime() {
		problems = append(problems, "tolerance: is for counts; for a time, a rate or a capacity, choose the limit")
	}
	if a.isCapacity() && !strings.HasPrefix(a.Op, ">") {
		problems = append(problems, fmt.Sprintf("check: of a capacity, wants >= or >, not %s", a.Op))
	}
	return problems
}

// setSearch reads the objective, and returns the mistakes in fields that are for capacities. Fields that were not given are empty.
func (a *Assertion) setSearch(objective string) []string {
	switch {
	case !a.isCapacity() && objective+a.By != "":
		return []string{"objective, by: are for the metric " + metric.Capacity + " only"}
	case !a.isCapacity():
		return nil
	case objective == "":
		return []string{"objective is missing: a capacity is the largest load at which something holds, such as response-p99 < 50ms"}
	}
	var err error
	a.By = cmp.Or(a.By, capacity.ByRate)
	a.Objective, err = capacity.ParseObjective(objective)
	switch {
	case a.By != capacity.ByRate && a.By != capacity.ByClients:
		return []string{fmt.Sprintf("by: wants %s or %s, not %q", capacity.ByRate, capacity.ByClients, a.By)}
	case a.By == capacity.ByClients && a.Clients > 0:
		return []string{"clients: is for a capacity by rate; by clients, the capacity is their number"}
	case err == nil:
		err = a.Objective.Check(a.By)
	}
	if err != nil {
		return []string{"objective: " + err.Error()}
	}
	return nil
}

// checkAssertions evaluates the assertions about the results of each scenario. An assertion about a scenario without results
// is inconclusive. A scenario's own claims that its servers cannot decide are left out.
func checkAssertions(e Evidence, assertions []Assertion, names Names) []Check {
	measured := list.Map(byScenario(e.Head()), claim.Of)
	var checks []Check
	for _, a := range list.Where(assertions, func(a Assertion) bool { return !a.isCapacity() }) {
		subjects := list.Where(measured, func(m claim.Measured) bool { return matches(a.Scenario, m.Docs[0].Scenario.Name) })
		if len(subjects) == 0 {
			checks = append(checks, a.undecided(a.Scenario, e.noResult(a.Scenario, names)))
		}
		for _, m := range subjects {
			for _, c := range m.Check(a.Claim) {
				if a.Source != FromScenario || !c.Undecidable {
					checks = append(checks, a.check(m.Docs[0].Scenario.Name, c))
				}
			}
		}
	}
	return checks
}

func (a Assertion) undecided(scenario, why string) Check {
	return a.check(scenario, claim.Check{Claim: a.Claim, Outcome: outcome.Inconclusive, Why: why})
}

func (a Assertion) check(scenario string, c claim.Check) Check {
	a.Claim = c.Claim
	out := Check{Rule: a.String(), Source: a.Source, Scenario: scenario, Clients: c.Clients, Rate: c.Rate, Metric: c.Metric,
		Value: c.Got, Limit: c.Limit, Outcome: c.Outcome, Why: c.Why}
	if c.Variant != claim.Every {
		out.Variant = c.Variant
	}
	return out
}

// Names lists the names that rules may use. With the zero value, they may use any name.
type Names struct {
	Scenarios map[string]Subject // that come with zkbench; a result may be of another scenario, from a file
	Any       Subject            // of all recipes together
}

// Subject lists the variants and metrics that the results of a scenario can have.
type Subject struct {
	Variants []string
	Metrics  []string
}

// of returns the subject of the scenarios that match a pattern, or the subject of all recipes if none matches.
func (n Names) of(scenario string) Subject {
	var out Subject
	for name, s := range n.Scenarios {
		if matches(scenario, name) {
			out.Variants = append(out.Variants, s.Variants...)
			out.Metrics = append(out.Metrics, s.Metrics...)
		}
	}
	if len(out.Variants) == 0 {
		return n.Any
	}
	return out
}

func (n Names) unknownIn(a Assertion) []string {
	if len(n.Any.Metrics) == 0 {
		return nil
	}
	var problems []string
	check := func(kind, name string, known []string) {
		if !slices.Contains(known, name) {
			problems = append(problems, fmt.Sprintf("there is no %s %q%s", kind, name, strict.Nearest(name, list.Distinct(known))))
		}
	}
	subject := n.of(a.Scenario)
	check("metric", a.Metric, subject.Metrics)
	for _, variant := range []string{a.Variant, a.Of} {
		if variant != "" && variant != claim.Every {
			check("variant", variant, subject.Variants)
		}
	}
	if a.isCapacity() {
		check("metric", a.Objective.Metric, subject.Metrics)
	}
	return problems
}

// hint returns the name that is nearest to the name of a scenario without results; empty if the scenario exists.
func (n Names) hint(scenario string, measured []string) string {
	known := append(sortedKeys(n.Scenarios), measured...)
	if len(n.Scenarios) == 0 || slices.ContainsFunc(known, func(name string) bool { return matches(scenario, name) }) {
		return ""
	}
	return strict.Nearest(scenario, known)
}
