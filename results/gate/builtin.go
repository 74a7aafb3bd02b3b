package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// about returns a check of one group of repeats.
func about(d *results.Document, source Source, rule string) Check {
	return Check{Rule: rule, Source: source, Scenario: d.Scenario.Name, Variant: d.Variant, Clients: d.Clients, Outcome: Pass}
}

// fault is what a built-in rule finds in one document; empty if nothing.
type fault func(d *results.Document) string

// builtInRules hold for every result. What speaks against the numbers stands in the document already, unless it was edited;
// so these look at the facts again.
func builtInRules() []struct {
	name  string
	worst Outcome
	find  fault
} {
	return []struct {
		name  string
		worst Outcome
		find  fault
	}{
		{"promise kept", Violation, violationsOf},
		{"valid", Invalid, func(d *results.Document) string { return strings.Join(d.Void(), "; ") }},
		{"schema", Inconclusive, otherSchema},
		{"load as asked for", Inconclusive, starvedGenerator},
	}
}

// builtIn applies what holds for every result, one check for each group of repeats.
func builtIn(docs []*results.Document) []Check {
	var checks []Check
	for _, group := range results.GroupRepeats(docs) {
		for _, rule := range builtInRules() {
			checks = append(checks, inGroup(group, rule.name, rule.worst, rule.find))
		}
		checks = append(checks, inGroup(group, "metrics present", Inconclusive, missingAmong(group)))
	}
	return checks
}

func inGroup(group []*results.Document, name string, worst Outcome, find fault) Check {
	c := about(group[0], BuiltIn, name)
	var found []string
	for _, d := range group {
		if text := find(d); text != "" {
			found = append(found, fmt.Sprintf("repeat %d: %s", d.Repeat, text))
		}
	}
	if len(found) > 0 {
		c.Outcome, c.Why = worst, strings.Join(found, "; ")
	}
	return c
}

func violationsOf(d *results.Document) string {
	n := max(len(d.Violations), int(d.Metrics[results.Violations].Value))
	switch {
	case n == 0:
		return ""
	case len(d.Violations) == 0:
		return times(n)
	default:
		return fmt.Sprintf("%s, the first at %s: %s", times(n), d.Violations[0].At, d.Violations[0].Text)
	}
}

func times(n int) string {
	if n == 1 {
		return "1 breach of the promise"
	}
	return fmt.Sprintf("%d breaches of the promise", n)
}

func otherSchema(d *results.Document) string {
	if d.Schema != results.Schema {
		return fmt.Sprintf("schema %d instead of %d", d.Schema, results.Schema)
	}
	return ""
}

// starvedGenerator tells of clients that looped more slowly than they should have: less contention makes smaller counts, too.
// The steps of a drain wait for each other.
func starvedGenerator(d *results.Document) string {
	if d.Expected.Exact {
		return ""
	}
	return strings.Join(d.Saturated(), "; ")
}

// missingAmong returns what finds metrics that another repeat of a measurement has, such as of a phase that did not occur: a
// rule about one must not pass by the other repeats alone. That a document has those of its own counts and histograms is
// checked when it is read. The floor is no part of the load, which is whole without it.
func missingAmong(group []*results.Document) fault {
	var names []string
	for _, d := range group {
		for name := range d.Metrics {
			if !results.IsFloor(name) && !results.IsFloorMultiple(name) {
				names = append(names, name)
			}
		}
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	return func(d *results.Document) string {
		var missing []string
		for _, name := range names {
			if _, ok := d.Metrics[name]; !ok {
				missing = append(missing, name)
			}
		}
		if len(missing) == 0 {
			return ""
		}
		return "without " + strings.Join(missing, ", ")
	}
}

// required checks that each scenario that had to be measured has a result: of one that is not there, nothing else speaks.
func required(docs []*results.Document, scenarios []string, names Names) []Check {
	var checks []Check
	for _, name := range scenarios {
		c := Check{Rule: "required", Source: BuiltIn, Scenario: name, Outcome: Pass}
		if !slices.ContainsFunc(docs, func(d *results.Document) bool { return d.Scenario.Name == name }) {
			c.Outcome, c.Why = Inconclusive, "no result is one of this scenario"+names.hint(name, docs)
		}
		checks = append(checks, c)
	}
	return checks
}

// complete checks that each run has every repeat that it asked for, of every variant and number of clients that it has, and
// that its documents agree on what they share: a run that was interrupted, picked from or edited is no whole one.
func complete(docs []*results.Document, variantsOf func(*results.Document) []string) []Check {
	type key struct{ scenario, run string }
	byRun := map[key][]*results.Document{}
	var order []key
	for _, d := range docs {
		k := key{d.Scenario.Name, d.Run}
		if byRun[k] == nil {
			order = append(order, k)
		}
		byRun[k] = append(byRun[k], d)
	}
	var checks []Check
	for _, k := range order {
		c := about(byRun[k][0], BuiltIn, "complete")
		c.Variant, c.Clients = "", 0
		if missing := absent(byRun[k], variantsOf); len(missing) > 0 {
			c.Outcome, c.Why = Inconclusive, "missing: "+strings.Join(missing, "; ")
		}
		one := c
		one.Rule, one.Outcome, one.Why = "one run", Pass, ""
		if why := contradiction(byRun[k]); why != "" {
			one.Outcome, one.Why = Inconclusive, why
		}
		checks = append(checks, c, one)
	}
	return checks
}

// absent returns which measurements of one run are not there.
func absent(docs []*results.Document, variantsOf func(*results.Document) []string) []string {
	asked := docs[0].Scenario
	var missing []string
	for _, variant := range askedFor(docs, variantsOf) {
		for _, clients := range strings.Fields(strings.Trim(asked.ClientCounts, "[]")) {
			have := map[int]bool{} // a result that was given twice is one
			for _, d := range docs {
				if d.Variant == variant && fmt.Sprint(d.Clients) == clients && d.Repeat > 0 {
					have[d.Repeat] = true
				}
			}
			if len(have) < asked.Repeats {
				missing = append(missing, fmt.Sprintf("%s with %s clients has %d of %d repeats", variant, clients, len(have), asked.Repeats))
			}
		}
	}
	return missing
}

// askedFor returns the variants that one run should have: those it has, and those that its scenario names, or else means.
func askedFor(docs []*results.Document, variantsOf func(*results.Document) []string) []string {
	var variants []string
	for _, d := range docs {
		variants = append(variants, d.Variant)
	}
	if named := docs[0].Scenario.Variants; named != "" {
		for _, name := range strings.Split(named, ",") {
			variants = append(variants, name[strings.LastIndex(name, "/")+1:])
		}
	} else if variantsOf != nil {
		variants = append(variants, variantsOf(docs[0])...)
	}
	return slices.Compact(slices.Sorted(slices.Values(variants)))
}
