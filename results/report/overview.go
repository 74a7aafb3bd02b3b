package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/grouping"
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
	Label  string  // the factor or both values, and the metric as tables name it; a dash if nothing is shown

	metric, reason string // the reason says why no difference is known
	interval       string // of the factor, in brackets after a space
	verb, clause   string // how the second variant differs, such as "has " and "5.00 req/op instead of 62.0"; empty if this is not known
}

// noDifference is the verb of variants that do not differ, as far as the measurements show.
const noDifference = "shows no difference in "

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
			return o.Variant == p.Optimized && o.Clients == n.Clients && o.Rate == n.Rate &&
				grouping.Setup(o.Repeats[0]) == grouping.Setup(n.Repeats[0])
		})
		if n.Variant == p.Naive && i >= 0 && cmp.Or(cmp.Compare(n.Clients, naive.Clients), cmp.Compare(n.Rate, naive.Rate)) > 0 {
			naive, optimized, found = n, rows[i], true
		}
	}
	return naive, optimized, found
}

// GainsText returns the gains in metrics that have no column of their own, with intervals; a dash without any.
func (p Pairing) GainsText() string {
	shown := list.Where(p.Gains, func(g Gain) bool { return g.Label != table.Missing && !slices.Contains(countsOfTables(), g.metric) })
	return cmp.Or(strings.Join(list.Map(shown, func(g Gain) string { return g.Label + g.interval }), "; "), table.Missing)
}

func gain(name string, naive, optimized summary.Row) Gain {
	m, r := metric.Named(name), compare.Of(naive.Repeats, optimized.Repeats, name)
	g := Gain{Label: table.Missing, metric: name, reason: r.Reason}
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
	isSpeed := m.Timed() && m.Loss == "" && m.HasDirection() && m.Kind != metric.KindBacklog && !m.Extreme // so that a ratio means "as fast"
	equal := r.Verdict == compare.NotShown || !isSpeed && from == to
	switch {
	case !isSpeed:
		g.Label, g.verb, g.clause = fmt.Sprintf("%s → %s %s", from, to, m.Head), "has ", valued(m, to)+" instead of "+from
	case equal:
		g.Label = string(compare.NotShown) + " in " + m.Head
	case g.Factor > 0:
		times, interval := r.Speed()
		g.Label, g.interval, g.verb = times+" in "+m.Head, " ("+interval+")", "is "
		g.clause = g.Label + g.interval
	}
	if equal {
		g.verb, g.clause = noDifference, m.Head
	}
	return g
}
