package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

// Pairing compares both variants of a scenario's [claim.Pair] at the largest number of clients for which both were measured.
type Pairing struct {
	Naive, Optimized summary.Row
	Change           string
	Gains            []Gain // for each metric of the pair
}

// Gain says how a metric differs between the variants of a pairing. Speeds have a factor only where [compare.Of] shows a difference. Of
// other metrics, such as counts, both values are shown. Times of the embedded server are left out.
type Gain struct {
	Factor float64 // by which the metric is better in the second variant; 0 if there is none, such as between shares
	Text   string  // the factor or both values, and the metric as tables name it; a dash if nothing is shown

	metric, reason string // the reason says why no difference is known
	verb, clause   string // how the second variant differs, such as "has " and "5.00 req/op instead of 62.0"; empty if this is not known
}

// isVerb is the verb of variants whose speeds differ.
const isVerb = "is "

// noDifference is the verb of variants that do not differ, as far as the measurements show.
const noDifference = "shows no difference in "

// WriteOverview prints two lines for each scenario that names a pair: the costs of both variants, and the gains. Below, it describes the
// change from one to the other, in lines of this width. Without such scenarios it prints nothing.
func WriteOverview(w io.Writer, rows []summary.Row, width int) {
	pairings := Pairings(rows)
	if len(pairings) == 0 {
		return
	}
	t := table.New(append(table.Left("variant"), table.Right("clients", "req/op", "notif/op", "herd", "gain")...)...)
	var changes []string
	for i, p := range pairings {
		if i > 0 {
			t.Rule()
		}
		both := func(metric string) table.Lines { return table.Lines{Show(p.Naive, metric), Show(p.Optimized, metric)} }
		gains := p.gains("\n", func(g Gain) string { return g.Text })
		gains = strings.Repeat("\n", 1-min(1, strings.Count(gains, "\n"))) + gains // a single one in the second line
		clients := fmt.Sprint(p.Naive.Clients)
		t.Row(table.Lines{label(p.Naive), label(p.Optimized)}, table.Lines{clients, clients},
			both(metric.RequestsPerOp), both(metric.NotificationsPerOp), both(metric.HerdMax), table.Lines(strings.Split(gains, "\n")))
		if p.Change != "" {
			change := fmt.Sprintf("%s, %s against %s: %s", p.Naive.Scenario, label(p.Optimized), p.Naive.Variant, p.Change)
			changes = append(changes, table.Escaped(change))
		}
	}
	text, _ := t.Text(width)
	fmt.Fprintln(w, text)
	if len(changes) > 0 {
		fmt.Fprintln(w, "\n"+table.Wrap(strings.Join(changes, "\n"), width))
	}
}

// WriteOverviewMarkdown prints the overview as a Markdown table with one line for each scenario that names a pair.
func WriteOverviewMarkdown(w io.Writer, rows []summary.Row) {
	t := table.New(append(table.Left("scenario", "from", "to", "what changes"),
		table.Right("clients", "req/op", "notif/op", "herd max", "gain")...)...)
	for _, p := range Pairings(rows) {
		both := func(metric string) string { return Show(p.Naive, metric) + " → " + Show(p.Optimized, metric) }
		variant := func(r summary.Row) string { return strings.TrimSpace("`" + r.Variant + "` " + r.Mark) }
		t.Row("`"+p.Naive.Scenario+"`", variant(p.Naive), variant(p.Optimized), p.Change, p.Naive.Clients,
			both(metric.RequestsPerOp), both(metric.NotificationsPerOp), both(metric.HerdMax), p.GainsText())
	}
	fmt.Fprintln(w, t.Markdown())
}

// Pairings returns a pairing for each scenario that names a pair whose variants were measured together.
func Pairings(rows []summary.Row) []Pairing {
	var out []Pairing
	for _, rows := range byScenario(rows) {
		pair, _ := claim.ParsePair(rows[0].Repeats[0].Scenario.Overview) // empty if there is none
		if naive, optimized, found := largest(pair, rows); found {
			gains := list.Map(pair.Metrics, func(name string) Gain { return gain(name, naive, optimized) })
			out = append(out, Pairing{naive, optimized, pair.Change, gains})
		}
	}
	return out
}

func largest(p claim.Pair, rows []summary.Row) (naive, optimized summary.Row, found bool) {
	for _, n := range rows {
		i := slices.IndexFunc(rows, func(o summary.Row) bool {
			return o.Variant == p.Optimized && o.Clients == n.Clients && o.Rate == n.Rate
		})
		if n.Variant == p.Naive && i >= 0 && cmp.Or(cmp.Compare(n.Clients, naive.Clients), cmp.Compare(n.Rate, naive.Rate)) > 0 {
			naive, optimized, found = n, rows[i], true
		}
	}
	return naive, optimized, found
}

// GainsText returns the gains in metrics that have no column of their own, with intervals; a dash without any.
func (p Pairing) GainsText() string {
	return p.gains("; ", func(g Gain) string {
		if g.Factor > 0 && g.verb == isVerb {
			return g.clause
		}
		return g.Text
	})
}

func (p Pairing) gains(separator string, text func(Gain) string) string {
	shown := list.Where(p.Gains, func(g Gain) bool { return g.Text != table.Missing && !slices.Contains(countsOfTables(), g.metric) })
	return cmp.Or(strings.Join(list.Map(shown, text), separator), table.Missing)
}

func gain(name string, naive, optimized summary.Row) Gain {
	m, r := metric.Named(name), compare.Of(naive.Repeats, optimized.Repeats, name)
	g := Gain{Text: table.Missing, metric: name, reason: r.Reason}
	if m.Timed() && isEmbedded(naive) {
		g.reason = claim.EmbeddedTimes
		return g
	}
	_, measured := naive.Metrics[name]
	if _, also := optimized.Metrics[name]; !measured || !also {
		return g
	}
	if better := r.TimesBetter().Ratio; r.Verdict.Claimed() && better.Finite() && m.Kind != metric.KindShare {
		g.Factor = float64(better)
	}
	from, to := Show(naive, name), Show(optimized, name)
	equal := r.Verdict == compare.NotShown || !m.IsSpeed() && from == to
	switch {
	case !m.IsSpeed():
		g.Text, g.verb, g.clause = fmt.Sprintf("%s → %s %s", from, to, m.Head), "has ", valued(m, to)+" instead of "+from
	case equal:
		g.Text = string(compare.NotShown) + " in " + m.Head
	case g.Factor > 0:
		times, interval := r.Speed()
		g.Text, g.verb, g.clause = times+" in "+m.Head, isVerb, fmt.Sprintf("%s in %s (%s)", times, m.Head, interval)
	}
	if equal {
		g.verb, g.clause = noDifference, m.Head
	}
	return g
}
