package gate

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
)

// Every is the variant of a claim about every one that was measured.
const Every = "*"

// Claim is a claim with what it is about, and who makes it.
type Claim struct {
	results.Claim
	Source    Source
	Scenario  string  // a pattern, as path.Match has it
	Clients   int     // 0 means the largest number
	Tolerance float64 // share of the limit by which it may be missed
}

// judgeClaims holds each scenario's results to the claims about it. A claim about something that is not there is
// inconclusive: what cannot be seen has not been shown.
func judgeClaims(docs []*results.Document, claims []Claim, names Names) []Check {
	rows := map[string][]*results.Document{}
	for _, d := range docs {
		rows[d.Scenario.Name] = append(rows[d.Scenario.Name], d)
	}
	var checks []Check
	for _, c := range claims {
		found := false
		for _, name := range sortedKeys(rows) {
			if match, err := path.Match(c.Scenario, name); match && err == nil {
				found = true
				checks = append(checks, c.judge(name, rows[name])...)
			}
		}
		if !found {
			checks = append(checks, Check{Rule: c.String(), Source: c.Source, Scenario: c.Scenario, Metric: c.Metric,
				Outcome: Inconclusive, Why: "no result is one of this scenario" + names.hint(c.Scenario, docs)})
		}
	}
	return checks
}

// judge holds one scenario's results to the claim, each variant by itself if it is about every one.
func (c Claim) judge(scenario string, docs []*results.Document) []Check {
	rows := results.Summarize(docs).Rows
	variants := []string{c.Variant}
	if c.Variant == Every {
		variants = nil
		for _, r := range rows {
			if r.Variant != c.Of && !slices.Contains(variants, r.Variant) {
				variants = append(variants, r.Variant)
			}
		}
	}
	clients := c.Clients
	if clients == 0 {
		clients = results.MostClients(rows)
	}
	if len(variants) == 0 {
		return []Check{{Rule: c.String(), Source: c.Source, Scenario: scenario, Clients: clients, Metric: c.Metric,
			Outcome: Inconclusive, Why: fmt.Sprintf("no variant but %s itself was measured", c.Of)}}
	}
	var checks []Check
	for _, variant := range variants {
		one := c
		one.Variant = variant
		checks = append(checks, one.check(scenario, clients, rows, docs))
	}
	return checks
}

func (c Claim) check(scenario string, clients int, rows []results.Row, docs []*results.Document) Check {
	out := Check{Rule: c.String(), Source: c.Source, Scenario: scenario, Variant: c.Variant, Clients: clients, Metric: c.Metric}
	if c.ambiguous(clients, rows) {
		out.Outcome, out.Why = Inconclusive, "measured under two conditions: judge one run at a time"
		return out
	}
	got, bound, err := c.Measure(rows, clients)
	if err != nil {
		out.Outcome, out.Why = Inconclusive, fmt.Sprintf("%s with %d clients", err, clients)
		return out
	}
	out.Value, out.Limit = number(got), number(bound)
	out.lessIsWorse = strings.HasPrefix(c.Op, ">") || c.Op == "==" && got < bound
	out.Outcome, out.Why = Regression, fmt.Sprintf("it is %s, against %s", c.show(got), c.show(bound))
	if c.holds(got, bound) {
		out.Outcome = Pass
	}
	if doubts := c.doubts(clients, docs); doubts != "" {
		out.Outcome, out.Why = Inconclusive, out.Why+"; "+doubts
	}
	return out
}

// ambiguous tells whether one of the variants was measured more than once, under conditions that differ: whichever was
// taken, the claim might fail on the other.
func (c Claim) ambiguous(clients int, rows []results.Row) bool {
	seen := map[string]bool{}
	for _, r := range rows {
		if r.Clients != clients || r.Variant != c.Variant && r.Variant != c.Of {
			continue
		}
		if seen[r.Variant] {
			return true
		}
		seen[r.Variant] = true
	}
	return false
}

// herdsAreGuessed is why the size of a herd can neither convict nor acquit anybody.
const herdsAreGuessed = "these servers do not tell which transaction caused a notification, so that herds are guessed"

// show writes a value of the claim's metric for people.
func (c Claim) show(value float64) string {
	if strings.HasSuffix(c.Metric, "-ns") {
		return time.Duration(value).Round(time.Microsecond).String()
	}
	return fmt.Sprintf("%.6g", value)
}

// holds applies the tolerance to whichever side lets more through.
func (c Claim) holds(got, bound float64) bool {
	slack := c.Tolerance * max(bound, -bound)
	switch {
	case c.Op == "==":
		return got >= bound-slack && got <= bound+slack
	case strings.HasPrefix(c.Op, ">"):
		return results.Compare(got, c.Op, bound-slack)
	default:
		return results.Compare(got, c.Op, bound+slack)
	}
}

// doubts returns why the numbers that the claim compares cannot decide it. Counts do not suffer from a busy machine.
func (c Claim) doubts(clients int, docs []*results.Document) string {
	for _, d := range docs {
		if d.Clients != clients || d.Variant != c.Variant && d.Variant != c.Of {
			continue
		}
		switch {
		case d.Guessed(c.Metric):
			return herdsAreGuessed
		case !c.IsTime():
			continue
		case d.Environment.Engine == results.Embedded:
			return "no time on the embedded server is an ensemble's"
		}
		reasons := d.Saturated()
		if c.Of == "" { // what delays both sides alike says little against their ratio
			reasons = d.Delayed()
		}
		if err := scarce(d, c.Metric); err != nil {
			reasons = append(reasons, err.Error())
		}
		if len(reasons) > 0 {
			return strings.Join(reasons, "; ")
		}
	}
	return ""
}
