package gate

import (
	"fmt"
	"path"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/strict"
)

// ParseRules reads a rules file; file is its name in messages. A rule without a variant is about all of them. A variant or a
// metric that names does not list is a mistake.
func ParseRules(file string, text []byte, names Names) ([]Assertion, error) {
	var rules []Assertion
	err := strict.ReadList(file, text, func() ([]strict.Field, func() []string) {
		a := Assertion{Source: FromFile}
		var check string
		var clients *int
		var search searchFields
		return []strict.Field{
				{Name: "scenario", Wants: "the name of a scenario, or a pattern such as lock-*", Value: &a.Scenario, Required: true},
				{Name: "check", Wants: "a claim, such as predecessor-watch acquire-p99 < 250ms", Value: &check, Required: true},
				{Name: "clients", Wants: "a whole number of at least 1", Value: &clients},
				{Name: "tolerance", Wants: "a share of the limit, such as 0.05", Value: &a.Tolerance},
				{Name: "objective", Wants: "that of a capacity, such as response-p99 < 50ms", Value: &search.objective},
				{Name: "by", Wants: "the load of a capacity: rate or clients", Value: &search.by},
			}, func() []string {
				problems := append(a.parse(check), setClients(&a.Clients, clients)...)
				problems = append(problems, search.set(&a)...)
				if len(problems) == 0 {
					problems = names.unknownIn(a)
				}
				rules = append(rules, a)
				return problems
			}
	})
	if err == nil && len(rules) == 0 {
		err = fmt.Errorf("%s: has no rule", file)
	}
	return rules, err
}

// setClients stores a number of clients that was given. Zero is refused, because it may come from an unset variable.
func setClients(clients, given *int) []string {
	switch {
	case given == nil:
		return nil
	case *given < 1:
		return []string{fmt.Sprintf("clients: wants at least 1, not %d", *given)}
	}
	*clients = *given
	return nil
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

// searchFields are the fields of a rule about a capacity that say which one. A field that was not given is nil.
type searchFields struct{ objective, by *string }

// set stores the fields in a rule, and returns the mistakes in them.
func (f searchFields) set(a *Assertion) []string {
	switch {
	case !a.isCapacity() && (f.objective != nil || f.by != nil):
		return []string{"objective, by: are for the metric " + results.Capacity + " only"}
	case !a.isCapacity():
		return nil
	case f.objective == nil:
		return []string{"objective is missing: a capacity is the largest load at which something holds, such as response-p99 < 50ms"}
	}
	a.By = capacity.ByRate
	if f.by != nil {
		a.By = *f.by
	}
	o, err := capacity.ParseObjective(*f.objective)
	switch {
	case a.By != capacity.ByRate && a.By != capacity.ByClients:
		return []string{fmt.Sprintf("by: wants %s or %s, not %q", capacity.ByRate, capacity.ByClients, a.By)}
	case a.By == capacity.ByClients && a.Clients > 0:
		return []string{"clients: is for a capacity by rate; by clients, the capacity is their number"}
	case err == nil:
		err = o.Check(a.By)
	}
	if err != nil {
		return []string{"objective: " + err.Error()}
	}
	a.Objective = o
	return nil
}
