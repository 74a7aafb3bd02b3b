package page

import (
	"fmt"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

func answer(d *results.Document, rows []summary.Row, claims []claim.Check) []string {
	sentences := list.Map(report.Pairings(rows), pairSentence)
	switch {
	case len(claims) > 0:
		sentences = append(sentences, claim.Tally(claims)+".")
	case len(d.Scenario.Asks) > 0:
		sentences = append(sentences, "Its claims are not decided: they are about the whole scenario, and flags have changed the load.")
	}
	return sentences
}

// checksOf checks the claims of a scenario against all of its measurements, including those under other conditions.
func checksOf(all []*results.Document, d *results.Document) []claim.Check {
	var claims []claim.Claim
	for _, text := range d.Scenario.Expect {
		if c, err := claim.Parse(text); err == nil {
			claims = append(claims, c)
		}
	}
	own := list.Where(all, func(o *results.Document) bool { return o.Scenario.Name == d.Scenario.Name })
	return claim.Of(own).Check(claims...)
}

func pairSentence(p report.Pairing) string {
	text := fmt.Sprintf("With %d %s, %s against %s: %s", p.Naive.Clients, table.Plural(p.Naive.Clients, "client"),
		p.Optimized.Variant, p.Naive.Variant, p.GainsText(" and "))
	if p.Change != "" {
		text += " (" + p.Change + ")"
	}
	for _, r := range []summary.Row{p.Naive, p.Optimized} {
		if mark := r.Mark; mark != "" {
			text += fmt.Sprintf(". But %s is marked %s", r.Variant, mark)
		}
	}
	return text + "."
}
