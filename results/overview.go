package results

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/table"
)

// Pair names the two variants that represent a recipe in the overview, and the metric that compares them, as in
// "predecessor-watch against children-watch by ops/s".
type Pair struct {
	Optimized string
	Naive     string
	Metric    string
}

// ParsePair reads a pair. The metric may have a former name.
func ParsePair(text string) (Pair, error) {
	f := strings.Fields(text)
	if len(f) != 5 || f[1] != "against" || f[3] != "by" {
		return Pair{}, fmt.Errorf(`wants "VARIANT against VARIANT by METRIC", not %q`, text)
	}
	metric, _ := CurrentMetric(f[4])
	return Pair{Optimized: f[0], Naive: f[2], Metric: metric}, nil
}

// pairing compares both variants of a pair at the largest number of clients for which both were measured.
type pairing struct {
	naive, optimized Row
	gain             string // the factor between the two, or both shares, and the metric
}

// WriteOverview prints two lines for each scenario that names a pair: the costs of the naive and of the optimized variant,
// and the gain. Without such scenarios it prints nothing.
func (s Summary) WriteOverview(w io.Writer) error {
	pairings := s.pairings()
	if len(pairings) == 0 {
		return nil
	}
	t := table.New(append(table.Left("variant"), table.Right("clients", "notif/op", "herd", "gain")...)...)
	for i, p := range pairings {
		if i > 0 {
			t.Rule()
		}
		for _, r := range []Row{p.naive, p.optimized} {
			gain := ""
			if r.Variant == p.optimized.Variant {
				gain = p.gain
			}
			t.Row(r.label(), r.Clients, r.show(NotificationsPerOp, table.Count), r.show(HerdMax, table.Whole), gain)
		}
	}
	_, err := fmt.Fprintln(w, t)
	return err
}

// WriteOverviewMarkdown prints the overview as a Markdown table with one line per recipe.
func (s Summary) WriteOverviewMarkdown(w io.Writer) error {
	t := table.New(append(table.Left("recipe", "naive", "optimized"), table.Right("clients", "notif/op", "herd max", "gain")...)...)
	for _, p := range s.pairings() {
		both := func(metric string, format func(float64) string) string {
			return p.naive.show(metric, format) + " → " + p.optimized.show(metric, format)
		}
		t.Row(p.naive.Recipe, "`"+p.naive.Variant+"`"+p.naive.mark(), "`"+p.optimized.Variant+"`"+p.optimized.mark(),
			p.naive.Clients, both(NotificationsPerOp, table.Count), both(HerdMax, table.Whole), p.gain)
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
			out = append(out, pairing{naive, optimized, pair.gain(naive, optimized)})
		}
	}
	return out
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

func (p Pair) gain(naive, optimized Row) string {
	a, measured := naive.Metrics[p.Metric]
	b, also := optimized.Metrics[p.Metric]
	if MoreIsBetter(p.Metric) {
		a, b = b, a
	}
	switch {
	case !measured || !also:
		return table.Missing
	case slices.ContainsFunc(shares(naive.Phases), func(s Share) bool { return s.metric() == p.Metric }):
		return fmt.Sprintf("%s → %s %s", table.Percentage(a.Value), table.Percentage(b.Value), p.Metric)
	case b.Value == 0:
		return table.Missing
	default:
		return fmt.Sprintf("%s× %s", table.Count(a.Value/b.Value), strings.TrimSuffix(p.Metric, "-ns"))
	}
}
