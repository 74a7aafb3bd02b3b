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

// Gain says how a metric differs between the variants of a pairing, as [compare.Of] does.
type Gain struct {
	Factor float64 // by which the metric is better in the second variant; 0 if there is none, such as between shares
	Text   string  // the factor or its range, or both values, and the metric
}

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
		gains := strings.Repeat("\n", max(0, 2-len(p.Gains))) + p.GainsText("\n") // a single one in the second line
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
			both(metric.RequestsPerOp), both(metric.NotificationsPerOp), both(metric.HerdMax), p.GainsText("; "))
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
	slices.SortStableFunc(out, func(a, b Pairing) int { return cmp.Compare(a.place(), b.place()) })
	return out
}

// place ranks the pairing: first the two questions with which the README begins, then others of the same recipes, then the rest.
func (p Pairing) place() int {
	first := []string{"lock/children-watch/predecessor-watch", "queue/list-and-delete/lock-and-claim", "lock", "queue"}
	pair := strings.Join([]string{p.Naive.Recipe, p.Naive.Variant, p.Optimized.Variant}, "/")
	i := slices.IndexFunc(first, func(name string) bool { return name == pair || name == p.Naive.Recipe })
	if i < 0 {
		return len(first)
	}
	return i
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

// GainsText returns the texts of all gains in one line.
func (p Pairing) GainsText(separator string) string {
	return strings.Join(list.Map(p.Gains, func(g Gain) string { return g.Text }), separator)
}

func gain(name string, naive, optimized summary.Row) Gain {
	a, measured := naive.Metrics[name]
	b, also := optimized.Metrics[name]
	m, r := metric.Named(name), compare.Of(naive.Repeats, optimized.Repeats, name)
	switch better := r.TimesBetter(); {
	case !measured || !also:
		return Gain{Text: table.Missing}
	case m.Kind == metric.KindShare || r.Ratio == 0 || !r.Ratio.Finite():
		return Gain{Text: fmt.Sprintf("%s → %s %s", m.Format(a.Value), m.Format(b.Value), m.Short())}
	case r.Verdict == compare.NotShown:
		return Gain{Text: string(r.Verdict) + " in " + m.Short()}
	default:
		return Gain{float64(better.Ratio), r.Text(better) + " " + m.Short()}
	}
}
