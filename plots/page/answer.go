package page

import (
	"fmt"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/outcome"
)

// claim is a statement of the scenario and what became of it.
type claim struct {
	Text, Outcome, Why string
}

// answer returns the answer to the scenario's question, in sentences from its overview and its claims, and the claims one by one.
func answer(d *results.Document, rows []results.Row) (sentences []string, claims []claim) {
	for _, p := range (results.Summary{Rows: rows}).Pairings() {
		sentences = append(sentences, pairSentence(p))
	}
	held, open := 0, 0
	for _, text := range d.Scenario.Expect {
		c, err := results.ParseClaim(text)
		if err != nil {
			continue
		}
		one := evaluate(c, rows)
		switch one.Outcome {
		case holds:
			held++
		case undecided:
			open++
		}
		claims = append(claims, one)
	}
	switch {
	case len(claims) > 0 && held == len(claims):
		sentences = append(sentences, fmt.Sprintf("All %d claims of the scenario hold.", held))
	case len(claims) > 0:
		sentences = append(sentences, fmt.Sprintf("%d of %d claims of the scenario hold, %d do not, and %d are not decided.", held, len(claims), len(claims)-held-open, open))
	case len(d.Scenario.Asks) > 0:
		sentences = append(sentences, "Its claims are not decided: they are about the whole scenario, and flags have changed the load.")
	}
	return sentences, claims
}

// The outcomes of claims.
const (
	holds     = "holds"
	fails     = "does not hold"
	undecided = "not decided"
)

func evaluate(c results.Claim, rows []results.Row) claim {
	out := claim{Text: c.String(), Outcome: undecided}
	if !c.DecidableOn(rows[0].Engine, rows[0].Guessed) {
		out.Why = "these servers cannot decide it"
		return out
	}
	e := c.Evaluate(rows, results.MostClients(rows))
	out.Why = e.Why
	switch {
	case e.Outcome == outcome.Pass:
		out.Outcome = holds
	case e.Unfinished || e.Outcome == outcome.Inconclusive:
	default:
		out.Outcome = fails
	}
	return out
}

// pairSentence says what the second variant of the scenario's pair gains.
func pairSentence(p results.Pairing) string {
	text := fmt.Sprintf("With %d %s, %s against %s: %s", p.Naive.Clients, results.Plural(p.Naive.Clients, "client"),
		p.Optimized.Variant, p.Naive.Variant, p.GainsText(" and "))
	if p.Change != "" {
		text += " (" + p.Change + ")"
	}
	for _, r := range []results.Row{p.Naive, p.Optimized} {
		if mark := r.Mark(); mark != "" {
			text += fmt.Sprintf(". But %s is %s", r.Variant, mark)
		}
	}
	return text + "."
}
