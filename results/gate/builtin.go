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

// builtInRules hold for every result. What speaks against the numbers stands in the document already, except where
// somebody has changed it since; so these look at the facts again.
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
		{"valid", Invalid, func(d *results.Document) string { return strings.Join(d.Invalid, "; ") }},
		{"schema", Inconclusive, otherSchema},
		{"oracles agree", Invalid, disagreement},
		{"nothing dropped", Invalid, dropped},
		{"sessions kept", Invalid, lostSessions},
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

func disagreement(d *results.Document) string {
	if o := d.Oracle; o.Checked && !o.Agrees() {
		return fmt.Sprintf("clients counted %d notifications and %d writes, servers %d and %d",
			o.ClientNotifications, o.ClientWrites, o.ServerNotifications, o.ServerTransactions)
	}
	return ""
}

func dropped(d *results.Document) string {
	var n int64
	for _, h := range d.Histograms {
		n += h.Dropped
	}
	if n > 0 {
		return fmt.Sprintf("%d latencies were too long for the histograms", n)
	}
	return ""
}

func lostSessions(d *results.Document) string {
	if d.Health.SessionsLost > 0 {
		return fmt.Sprintf("%d sessions were lost", d.Health.SessionsLost)
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

// missingAmong returns what finds metrics that a document should have: those that every measurement has, and those that
// another repeat of it has. A metric that is gone must not make a rule pass for want of numbers.
func missingAmong(group []*results.Document) fault {
	var names []string
	for _, d := range group {
		for name := range d.Metrics {
			names = append(names, name)
		}
	}
	return func(d *results.Document) string {
		var missing []string
		for _, name := range slices.Compact(slices.Sorted(slices.Values(append(due(d), names...)))) {
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

// due returns the metrics that a measurement cannot be without.
func due(d *results.Document) []string {
	names := []string{results.HerdMean, results.HerdP99, results.HerdMax, results.NotificationPeak10ms, results.Violations}
	if d.Window.Operations > 0 {
		names = append(names, results.NotificationsPerOp, results.RequestsPerOp, results.WritesPerOp,
			results.FailedWritesPerOp, results.UselessWakeupsPerOp, results.BytesPerOp)
	}
	if d.Window.Paced {
		return names // which of its phases have times depends on the recipe
	}
	if d.Window.Operations > 0 && d.Window.Length() > 0 {
		names = append(names, results.OpsPerSecond)
	}
	for phase, h := range d.Histograms {
		if h.Samples > 0 && !strings.HasPrefix(phase, "warm-up/") {
			names = append(names, phase+"-p50-ns", phase+"-p90-ns", phase+"-p99-ns", phase+"-max-ns")
		}
	}
	return names
}

// required checks that each scenario that had to be measured has a result: of one that is not there, nothing else speaks.
func required(docs []*results.Document, names []string) []Check {
	var checks []Check
	for _, name := range names {
		c := Check{Rule: "required", Source: BuiltIn, Scenario: name, Outcome: Pass}
		if !slices.ContainsFunc(docs, func(d *results.Document) bool { return d.Scenario.Name == name }) {
			c.Outcome, c.Why = Inconclusive, "no result is one of this scenario"
		}
		checks = append(checks, c)
	}
	return checks
}

// complete checks that each run has every repeat that it asked for, of every variant and number of clients that it has:
// an interrupted run, or one that somebody has picked from, is no whole one.
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
		checks = append(checks, c)
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
