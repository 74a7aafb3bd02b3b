package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

// WriteAnswers prints the answer of each scenario in lines of this width. If there is only one, hint returns a line to add, for a
// measurement under the largest load; it may be empty.
func WriteAnswers(w io.Writer, rows []summary.Row, hint func(*results.Document) string, width int) {
	all := byScenario(rows)
	docs := slices.Concat(list.Map(rows, func(r summary.Row) []*results.Document { return r.Repeats })...)
	for _, rows := range all {
		text := table.Escaped(strings.Join(Answer(rows, Checks(docs, rows[0].Repeats[0])), " "))
		switch {
		case len(all) == 1:
			text += "\n" + hint(rows[len(rows)-1].Repeats[0])
		case text != "":
			text = table.Escaped(heading(rows)) + ": " + text
		}
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(w, "\n%s\n", table.Wrap(text, width))
		}
	}
}

// Checks checks the claims of a document's scenario against all of its measurements, unless those under the largest load are missing.
func Checks(all []*results.Document, d *results.Document) []claim.Check {
	own := claim.Of(list.Where(all, func(o *results.Document) bool { return o.Scenario.Name == d.Scenario.Name }))
	var claims []claim.Claim
	for _, text := range d.Scenario.Expect {
		if c, err := claim.Parse(text); err == nil && summary.MostClients(own.Rows) >= list.Largest(d.Scenario.Clients) {
			claims = append(claims, c)
		}
	}
	return own.Check(claims...)
}

// Answer answers a scenario's question in sentences: how the variants of its pair differ, or what a single variant costs. It first
// names the rows that must not be used, and last the claims that do not hold. A ratio is stated only with its interval.
func Answer(rows []summary.Row, checks []claim.Check) (out []string) {
	isVoid := func(r summary.Row) bool { return r.Void() && r.Mark != doubts.KnownBrokenMark }
	usable := list.Where(rows, func(r summary.Row) bool { return !isVoid(r) })
	if void := list.Where(rows, isVoid); len(void) > 0 {
		names := list.Map(void, func(r summary.Row) string { return marked(r) + " with " + r.Repeats[0].Load() })
		out = append(out, "Do not use the numbers of "+enumerated(names)+".")
	}
	pairings := Pairings(usable)
	if variants := list.Distinct(list.Map(usable, func(r summary.Row) string { return r.Variant })); len(variants) == 1 {
		out = append(out, costs(usable[len(usable)-1])) // under the largest load
	}
	out = append(out, slices.Concat(list.Map(pairings, Pairing.answer)...)...)
	out = append(out, standstill(usable)...)
	for _, c := range list.Where(checks, func(c claim.Check) bool { return c.Outcome == outcome.Regression }) {
		out = append(out, fmt.Sprintf("The claim %q does not hold: %s.", c.Claim, c.Why))
	}
	return out
}

// answer compares the variants in the metrics of the pair and in the counts of every table. It says what would decide about the others.
func (p Pairing) answer() (out []string) {
	asked := list.Map(p.Gains, func(g Gain) string { return g.metric })
	others := list.Where(countsOfTables(), func(name string) bool { return !slices.Contains(asked, name) })
	counts := list.Map(others, func(name string) Gain { return gain(name, p.Naive, p.Optimized) })
	counts = list.Where(counts, func(g Gain) bool { return g.verb != noDifference })
	known := list.Where(slices.Concat(p.Gains, counts), func(g Gain) bool { return g.verb != "" })
	open := list.Where(p.Gains, func(g Gain) bool { return g.verb == "" })
	clauses := list.Map(list.GroupBy(known, func(g Gain) string { return g.verb }), func(same []Gain) string {
		return same[0].verb + enumerated(list.Map(same, func(g Gain) string { return g.clause }))
	})
	if len(clauses) > 0 {
		out = append(out, fmt.Sprintf("With %s, compared with %s, %s %s.",
			p.Naive.Repeats[0].Load(), marked(p.Naive), marked(p.Optimized), strings.Join(clauses, ", ")))
	}
	for _, same := range list.GroupBy(open, func(g Gain) string { return g.reason }) {
		heads := list.Map(same, func(g Gain) string { return metric.Named(g.metric).Head })
		out = append(out, fmt.Sprintf("Not compared in %s: %s.", enumerated(heads), cmp.Or(same[0].reason, "not measured")))
	}
	if p.Change != "" {
		out = append(out, "The change: "+p.Change+".")
	}
	return out
}

func marked(r summary.Row) string {
	return strings.TrimSuffix(fmt.Sprintf("%s (%s)", r.Variant, r.Mark), " ()")
}

func costs(r summary.Row) string {
	names := countsOfTables()
	if !isEmbedded(r) {
		names = append([]string{metric.OpsPerSecond, metric.Quantile(r.Repeats[0].FirstPhase(), 50)}, names...)
	}
	names = list.Where(names, func(name string) bool { _, measured := r.Metrics[name]; return measured })
	values := list.Map(names, func(name string) string { return valued(metric.Named(name), Show(r, name)) })
	return fmt.Sprintf("With %s, %s has %s.", r.Repeats[0].Load(), marked(r), cmp.Or(enumerated(values), "no counts"))
}

// standstill names the variants that waited for half of the first repeat or longer until sessions of crashed clients timed out.
func standstill(rows []summary.Row) []string {
	var waits []string
	for _, r := range list.Where(rows, func(r summary.Row) bool { return r.Clients == summary.MostClients(rows) }) {
		if waited, window := crashed(r.Repeats[0]), r.Repeats[0].Window.Length(); waited > 0 && 2*waited >= window {
			waits = append(waits, fmt.Sprintf("%s of %s (%s)", table.Latency(float64(waited)), table.Latency(float64(window)), r.Variant))
		}
	}
	if len(waits) == 0 {
		return nil
	}
	return []string{enumerated(waits) + " are session timeouts of crashed clients: run with --fault none for the load alone."}
}

// crashed returns how long, in the window, other clients waited for those that had crashed.
func crashed(d *results.Document) (waited time.Duration) {
	if d.Failure == nil {
		return 0
	}
	until := d.Window.Start
	for _, f := range d.Failure.Faults {
		end := d.Window.End
		if f.Recovered() {
			end = min(end, f.At+f.Recovery)
		}
		if f.Kind == string(results.StopFault) && end > until {
			waited += end - max(f.At, until)
			until = end
		}
	}
	return waited
}

func countsOfTables() []string {
	return []string{metric.NotificationsPerOp, metric.RequestsPerOp, metric.HerdMax}
}

func isEmbedded(r summary.Row) bool { return r.Repeats[0].Environment.Engine == results.Embedded }

// valued names a value as tables do: "5.00 req/op", or "herd max 1".
func valued(m metric.Descriptor, value string) string {
	if strings.Contains(m.Head, "/") {
		return value + " " + m.Head
	}
	return m.Head + " " + value
}

// enumerated joins words: "a, b and c".
func enumerated(words []string) string {
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
	return strings.Join(words, "")
}
