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

// ParsePair reads a pair. A metric may have a former name.
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
		metric, _ := CurrentMetric(f[i])
		if slices.Contains(pair.Metrics, metric) {
			return Pair{}, fmt.Errorf("names %s twice", metric)
		}
		pair.Metrics = append(pair.Metrics, metric)
	}
	return pair, nil
}

// pairing compares both variants of a pair at the largest number of clients for which both were measured.
type pairing struct {
	naive, optimized Row
	change           string
	gains            []string // for each metric, the factor between the two, or both values, and the metric
}

// WriteOverview prints two lines for each scenario that names a pair: the costs of the first and of the second variant, and the
// gains. What changes from one to the other stands below, in lines of this width. Without such scenarios it prints nothing.
func (s Summary) WriteOverview(w io.Writer, width int) error {
	pairings := s.pairings()
	if len(pairings) == 0 {
		return nil
	}
	t := table.New(append(table.Left("variant"), table.Right("clients", "req/op", "notif/op", "herd", "gain")...)...)
	var changes []string
	for i, p := range pairings {
		if i > 0 {
			t.Rule()
		}
		for line, r := range []Row{p.naive, p.optimized} {
			t.Row(r.label(), r.Clients, r.show(RequestsPerOp, table.Count), r.show(NotificationsPerOp, table.Count), r.show(HerdMax, table.Whole), p.gain(line))
		}
		for line := 2; p.gain(line) != ""; line++ {
			t.Row("", "", "", "", "", p.gain(line))
		}
		if p.change != "" {
			changes = append(changes, fmt.Sprintf("%s, %s against %s: %s", p.naive.Scenario, p.optimized.label(), p.naive.Variant, p.change))
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
func (p pairing) gain(line int) string {
	if first := max(0, 2-len(p.gains)); line >= first && line-first < len(p.gains) {
		return p.gains[line-first]
	}
	return ""
}

// WriteOverviewMarkdown prints the overview as a Markdown table with one line for each scenario that names a pair.
func (s Summary) WriteOverviewMarkdown(w io.Writer) error {
	t := table.New(append(table.Left("scenario", "from", "to", "what changes"), table.Right("clients", "req/op", "notif/op", "herd max", "gain")...)...)
	for _, p := range s.pairings() {
		both := func(metric string, format func(float64) string) string {
			return p.naive.show(metric, format) + " → " + p.optimized.show(metric, format)
		}
		t.Row("`"+p.naive.Scenario+"`", "`"+p.naive.Variant+"`"+p.naive.mark(), "`"+p.optimized.Variant+"`"+p.optimized.mark(), p.change, p.naive.Clients,
			both(RequestsPerOp, table.Count), both(NotificationsPerOp, table.Count), both(HerdMax, table.Whole), strings.Join(p.gains, "; "))
	}
	_, err := fmt.Fprintln(w, t.Markdown())
	return err
}

// pairings returns a pairing for each scenario that names a pair whose variants were measured together.
func (s Summary) pairings() []pairing {
	var out []pairing
	for _, rows := range s.byScenario() {
		pair, err := ParsePair(rows[0].Pair)
		if err != nil {
			continue
		}
		if naive, optimized, found := pair.largest(rows); found {
			p := pairing{naive: naive, optimized: optimized, change: pair.Change}
			for _, metric := range pair.Metrics {
				p.gains = append(p.gains, gain(metric, naive, optimized))
			}
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b pairing) int { return cmp.Compare(a.place(), b.place()) })
	return out
}

// place returns where the pairing stands: first those of the two questions with which the README begins, then others of the same
// recipes, then the rest.
func (p pairing) place() int {
	first := []string{"lock/children-watch/predecessor-watch", "queue/list-and-delete/lock-and-claim", "lock", "queue"}
	i := slices.Index(first, strings.Join([]string{p.naive.Recipe, p.naive.Variant, p.optimized.Variant}, "/"))
	if i < 0 {
		i = slices.Index(first, p.naive.Recipe)
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

// gain returns the factor by which a metric is better in the second row, or both values if there is no factor.
func gain(metric string, naive, optimized Row) string {
	a, measured := naive.Metrics[metric]
	b, also := optimized.Metrics[metric]
	name := strings.TrimSuffix(metric, "-ns")
	switch {
	case !measured || !also:
		return table.Missing
	case slices.ContainsFunc(shares(naive.Phases), func(s Share) bool { return s.metric() == metric }):
		return fmt.Sprintf("%s → %s %s", table.Percentage(a.Value), table.Percentage(b.Value), metric)
	case a.Value == 0 || b.Value == 0:
		return fmt.Sprintf("%s → %s %s", FormatMetric(metric, a.Value), FormatMetric(metric, b.Value), name)
	case MoreIsBetter(metric):
		return fmt.Sprintf("%s× %s", table.Count(b.Value/a.Value), name)
	default:
		return fmt.Sprintf("%s× %s", table.Count(a.Value/b.Value), name)
	}
}
