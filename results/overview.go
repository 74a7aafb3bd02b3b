package results

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Pair is the two variants by which a recipe stands in the overview, and the metric that says how much is gained:
// "predecessor-watch against children-watch by ops/s".
type Pair struct {
	Optimized string
	Naive     string
	Metric    string
}

// ParsePair reads a pair.
func ParsePair(text string) (Pair, error) {
	f := strings.Fields(text)
	if len(f) != 5 || f[1] != "against" || f[3] != "by" {
		return Pair{}, fmt.Errorf(`wants "VARIANT against VARIANT by METRIC", not %q`, text)
	}
	return Pair{Optimized: f[0], Naive: f[2], Metric: f[4]}, nil
}

// pairing is one line of the overview: both variants at the largest number of clients at which both were measured.
type pairing struct {
	naive, optimized Row
	gain             string // how many times better the optimized one does, or both shares, and the metric
}

// WriteOverview prints two lines per scenario that names a pair: what the naive and the optimized variant cost, and what
// is gained. It prints nothing if no scenario does.
func (s Summary) WriteOverview(w io.Writer) error {
	pairings := s.pairings()
	if len(pairings) == 0 {
		return nil
	}
	t := NewTable()
	t.AppendHeader(table.Row{"variant", "clients", "notif/op", "herd", "gain"})
	alignRight(t, 2, 5)
	for i, p := range pairings {
		if i > 0 {
			t.AppendSeparator()
		}
		for _, r := range []Row{p.naive, p.optimized} {
			gain := ""
			if r.Variant == p.optimized.Variant {
				gain = p.gain
			}
			t.AppendRow(table.Row{r.label(), r.Clients, r.show(NotificationsPerOp, count), r.show(HerdMax, whole), gain})
		}
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// WriteOverviewMarkdown prints the overview as a Markdown table, one line per recipe.
func (s Summary) WriteOverviewMarkdown(w io.Writer) error {
	t := NewTable()
	t.AppendHeader(table.Row{"recipe", "naive", "optimized", "clients", "notif/op", "herd max", "gain"})
	alignRight(t, 4, 7)
	for _, p := range s.pairings() {
		both := func(metric string, format func(float64) string) string {
			return p.naive.show(metric, format) + " → " + p.optimized.show(metric, format)
		}
		t.AppendRow(table.Row{
			p.naive.Recipe, "`" + p.naive.Variant + "`" + p.naive.mark(), "`" + p.optimized.Variant + "`" + p.optimized.mark(),
			p.naive.Clients, both(NotificationsPerOp, count), both(HerdMax, whole), p.gain,
		})
	}
	_, err := fmt.Fprintln(w, t.RenderMarkdown())
	return err
}

// alignRight aligns the columns from the first to the last.
func alignRight(t table.Writer, first, last int) {
	var align []table.ColumnConfig
	for i := first; i <= last; i++ {
		align = append(align, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(align)
}

// pairings leaves out the scenarios that name no pair, or whose pair was not measured together.
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
		i := slices.IndexFunc(rows, func(o Row) bool { return o.Variant == p.Optimized && o.Clients == n.Clients })
		if n.Variant == p.Naive && i >= 0 && n.Clients > naive.Clients {
			naive, optimized, found = n, rows[i], true
		}
	}
	return naive, optimized, found
}

func (p Pair) gain(naive, optimized Row) string {
	a, measured := naive.Metrics[p.Metric]
	b, also := optimized.Metrics[p.Metric]
	if p.Metric == OpsPerSecond {
		a, b = b, a // the more, the better
	}
	switch {
	case !measured || !also:
		return dash
	case slices.ContainsFunc(shares(naive.Phases), func(s Share) bool { return s.metric() == p.Metric }):
		return fmt.Sprintf("%s → %s %s", percentage(a.Value), percentage(b.Value), p.Metric)
	case b.Value == 0:
		return dash
	default:
		return fmt.Sprintf("%s× %s", count(a.Value/b.Value), strings.TrimSuffix(p.Metric, "-ns"))
	}
}
