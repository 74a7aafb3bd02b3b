package results

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/table"
)

// Pair names two variants of a recipe that the overview compares, the metrics that compare them, and what is different about the
// first one, as in "predecessor-watch against children-watch by ops/s and herd-max, each waiter watches the one before it".
type Pair struct {
	Optimized string
	Naive     string // or the better known one, where both are optimized
	Metrics   []string
	Change    string // a clause, which may be missing
}

// ParsePair reads a pair.
func ParsePair(text string) (Pair, error) {
	head, change, _ := strings.Cut(text, ",")
	f := strings.Fields(head)
	if len(f) < 5 || len(f)%2 == 0 || f[1] != "against" || f[3] != "by" {
		return Pair{}, fmt.Errorf(`wants "VARIANT against VARIANT by METRIC and METRIC, what changes", not %q`, text)
	}
	pair := Pair{Optimized: f[0], Naive: f[2], Change: strings.TrimSpace(change)}
	if pair.Optimized == pair.Naive {
		return Pair{}, fmt.Errorf("compares %s with itself", pair.Naive)
	}
	for i := 4; i < len(f); i += 2 {
		if i > 4 && f[i-1] != "and" {
			return Pair{}, fmt.Errorf("wants \"and\" between two metrics, not %q", f[i-1])
		}
		metric := f[i]
		if slices.Contains(pair.Metrics, metric) {
			return Pair{}, fmt.Errorf("names %s twice", metric)
		}
		pair.Metrics = append(pair.Metrics, metric)
	}
	return pair, nil
}

// Pairing compares both variants of a scenario's [Pair] at the largest number of clients for which both were measured.
type Pairing struct {
	Naive, Optimized Row
	Change           string
	Gains            []Gain // for each metric of the pair
}

// Gain is how a metric differs between the variants of a pairing.
type Gain struct {
	Metric string
	Factor float64 // by which the metric is better in the second variant; 0 if there is no factor, such as between shares
	Text   string  // the factor, or both values, and the metric
}

// WriteOverview prints two lines for each scenario that names a pair: the costs of the first and of the second variant, and the
// gains. What changes from one to the other stands below, in lines of this width. Without such scenarios it prints nothing.
func (s Summary) WriteOverview(w io.Writer, width int) error {
	pairings := s.Pairings()
	if len(pairings) == 0 {
		return nil
	}
	t := table.New(append(table.Left("variant"), table.Right("clients", "req/op", "notif/op", "herd", "gain")...)...)
	var changes []string
	for i, p := range pairings {
		if i > 0 {
			t.Rule()
		}
		for line, r := range []Row{p.Naive, p.Optimized} {
			t.Row(r.label(), r.Clients, r.Show(RequestsPerOp), r.Show(NotificationsPerOp), r.Show(HerdMax), p.gain(line))
		}
		for line := 2; p.gain(line) != ""; line++ {
			t.Row("", "", "", "", "", p.gain(line))
		}
		if p.Change != "" {
			changes = append(changes, fmt.Sprintf("%s, %s against %s: %s", p.Naive.Scenario, p.Optimized.label(), p.Naive.Variant, p.Change))
		}
	}
	text, _ := t.Text(width)
	_, err := fmt.Fprintln(w, text)
	if err == nil && len(changes) > 0 {
		_, err = fmt.Fprintln(w, "\n"+table.Wrap(strings.Join(changes, "\n"), width))
	}
	return err
}

// gain returns the gain that stands in a line of the pairing: a single one in the second line, others from the first line on.
func (p Pairing) gain(line int) string {
	if first := max(0, 2-len(p.Gains)); line >= first && line-first < len(p.Gains) {
		return p.Gains[line-first].Text
	}
	return ""
}

// WriteOverviewMarkdown prints the overview as a Markdown table with one line for each scenario that names a pair.
func (s Summary) WriteOverviewMarkdown(w io.Writer) error {
	t := table.New(append(table.Left("scenario", "from", "to", "what changes"), table.Right("clients", "req/op", "notif/op", "herd max", "gain")...)...)
	for _, p := range s.Pairings() {
		both := func(metric string) string { return p.Naive.Show(metric) + " → " + p.Optimized.Show(metric) }
		t.Row("`"+p.Naive.Scenario+"`", "`"+p.Naive.Variant+"`"+p.Naive.mark(), "`"+p.Optimized.Variant+"`"+p.Optimized.mark(), p.Change, p.Naive.Clients,
			both(RequestsPerOp), both(NotificationsPerOp), both(HerdMax), p.GainsText("; "))
	}
	_, err := fmt.Fprintln(w, t.Markdown())
	return err
}

// Pairings returns a pairing for each scenario that names a pair whose variants were measured together.
func (s Summary) Pairings() []Pairing {
	var out []Pairing
	for _, rows := range s.byScenario() {
		pair, err := ParsePair(rows[0].Pair)
		if err != nil {
			continue
		}
		if naive, optimized, found := pair.largest(rows); found {
			p := Pairing{Naive: naive, Optimized: optimized, Change: pair.Change}
			for _, metric := range pair.Metrics {
				p.Gains = append(p.Gains, gain(metric, naive, optimized))
			}
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Pairing) int { return cmp.Compare(a.place(), b.place()) })
	return out
}

// place returns where the pairing stands: first those of the two questions with which the README begins, then others of the same
// recipes, then the rest.
func (p Pairing) place() int {
	first := []string{"lock/children-watch/predecessor-watch", "queue/list-and-delete/lock-and-claim", "lock", "queue"}
	i := slices.Index(first, strings.Join([]string{p.Naive.Recipe, p.Naive.Variant, p.Optimized.Variant}, "/"))
	if i < 0 {
		i = slices.Index(first, p.Naive.Recipe)
	}
	if i < 0 {
		return len(first)
	}
	return i
}

func (p Pair) largest(rows []Row) (naive, optimized Row, found bool) {
	for _, n := range rows {
		i := slices.IndexFunc(rows, func(o Row) bool { return o.Variant == p.Optimized && o.Clients == n.Clients && o.Rate == n.Rate })
		if n.Variant == p.Naive && i >= 0 && cmp.Or(cmp.Compare(n.Clients, naive.Clients), cmp.Compare(n.Rate, naive.Rate)) > 0 {
			naive, optimized, found = n, rows[i], true
		}
	}
	return naive, optimized, found
}

// GainsText returns the texts of all gains in one line.
func (p Pairing) GainsText(separator string) string {
	return strings.Join(Map(p.Gains, func(g Gain) string { return g.Text }), separator)
}

// gain returns the gain of a metric from the first row to the second.
func gain(metric string, naive, optimized Row) Gain {
	a, measured := naive.Metrics[metric]
	b, also := optimized.Metrics[metric]
	m := MetricNamed(metric)
	name := m.Short()
	g := Gain{Metric: metric, Text: table.Missing}
	switch {
	case !measured || !also:
		return g
	case slices.ContainsFunc(shares(naive.Phases), func(s Share) bool { return s.metric() == metric }):
		g.Text = fmt.Sprintf("%s → %s %s", table.Percentage(a.Value), table.Percentage(b.Value), metric)
		return g
	case a.Value == 0 || b.Value == 0:
		g.Text = fmt.Sprintf("%s → %s %s", m.Format(a.Value), m.Format(b.Value), name)
		return g
	case m.MoreIsBetter():
		g.Factor = b.Value / a.Value
	default:
		g.Factor = a.Value / b.Value
	}
	g.Text = fmt.Sprintf("%s× %s", table.Count(g.Factor), name)
	return g
}
