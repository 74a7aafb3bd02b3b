package page

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/plots"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

type grid struct {
	Caption string
	Numbers bool // all cells but the first one of each row are aligned as numbers
	Columns []table.Column
	Rows    []row
}

type row struct {
	Void  bool
	Cells []cell
}

// cell is a text, the value by which its column is sorted (empty for the text itself), and a longer form of the text.
type cell struct{ Text, Value, Long string }

// add appends a row. Values that are not cells are shown and sorted as they are.
func (g *grid) add(void bool, values ...any) {
	g.Rows = append(g.Rows, row{void, list.Map(values, func(v any) cell {
		if c, is := v.(cell); is {
			return c
		}
		return cell{Text: fmt.Sprint(v)}
	})})
}

// number returns a cell that is sorted by a number. It needs no Value if its text is a number.
func number(shown string, value float64) cell {
	c := cell{Text: shown}
	if _, err := strconv.ParseFloat(shown, 64); err != nil {
		c.Value = strconv.FormatFloat(value, 'g', 5, 64)
	}
	return c
}

func tables(d *results.Document, rows []summary.Row) (main, more *grid) {
	shown := mainMetrics(d, rows)
	others := slices.DeleteFunc(report.Metrics(rows), func(metric string) bool { return slices.Contains(shown, metric) })
	repeats := list.Largest(list.Map(rows, func(r summary.Row) int { return len(r.Repeats) }))
	caption := fmt.Sprintf("%s, median of %d %s", d.Scenario.Name, repeats, table.Plural(repeats, "repeat"))
	main = metricTable(caption, rows, shown)
	if len(others) > 0 {
		more = otherMetrics(d, rows, others)
	}
	return main, more
}

// otherMetrics returns a line for each metric, with the values of all variants under the largest number of clients and the largest rate.
func otherMetrics(d *results.Document, rows []summary.Row, metrics []string) *grid {
	clients, rate := summary.MostClients(rows), summary.HighestRate(rows)
	own := list.Where(rows, func(r summary.Row) bool { return r.Clients == clients && r.Rate == rate })
	t := &grid{
		Caption: fmt.Sprintf("%s, all other metrics with %d %s", d.Scenario.Name, clients, table.Plural(clients, "client")), Numbers: true,
		Columns: append(table.Left("metric"), table.Right(list.Map(own, marked)...)...),
	}
	for _, name := range metrics {
		t.add(false, append([]any{named(name)}, list.Map(own, func(r summary.Row) any { return report.Show(r, name) })...)...)
	}
	return t
}

// named returns a metric's name as in the terminal's tables. Multiples of floors have the full name, as they share one head.
func named(name string) cell {
	m := metric.Named(name)
	c := cell{Text: m.Head, Long: strings.TrimSuffix(m.Name+": "+m.Help, ": ")}
	if m.OfFloor() {
		c.Text = m.Name
	}
	return c
}

func head(name string) string { return metric.Named(name).Head }

func marked(r summary.Row) string { return strings.TrimSpace(r.Variant + " " + r.Mark) }

func mainMetrics(d *results.Document, rows []summary.Row) []string {
	wanted := append(slices.Clone(d.Scenario.Asks), metric.OpsPerSecond)
	for i, phase := range d.Phases[:min(len(d.Phases), 2)] {
		if wanted = append(wanted, metric.Quantile(phase, 50)); i == 0 {
			wanted = append(wanted, metric.FloorMultiple(phase))
		}
		wanted = append(wanted, metric.Quantile(phase, 99))
	}
	wanted = append(wanted, metric.RequestsPerOp, metric.WritesPerOp, metric.FailedWritesPerOp, metric.NotificationsPerOp, metric.HerdMax,
		metric.Quantile(results.BystanderPhase, 99))
	have := report.Metrics(rows)
	return list.AppendNew(nil, list.Where(wanted, func(metric string) bool { return slices.Contains(have, metric) })...)
}

func metricTable(caption string, rows []summary.Row, metrics []string) *grid {
	t := &grid{Caption: caption, Numbers: true, Columns: append(table.Left("variant"), table.Right("kind", "clients")...)}
	open := slices.ContainsFunc(rows, func(r summary.Row) bool { return r.Rate > 0 })
	if open {
		t.Columns = append(t.Columns, table.Right("rate")...)
	}
	t.Columns = append(t.Columns, table.Right(list.Map(metrics, head)...)...)
	for _, r := range rows {
		cells := []any{marked(r), r.Kind, r.Clients}
		if open {
			cells = append(cells, r.Rate)
		}
		t.add(r.Void(), append(cells, list.Map(metrics, func(name string) any { return metricCell(r, name) })...)...)
	}
	return t
}

func metricCell(r summary.Row, name string) cell {
	m, ok := r.Metrics[name]
	if !ok {
		return cell{Text: report.Show(r, name)}
	}
	c := number(report.Show(r, name), m.Value)
	if m.Max > m.Min {
		show := metric.Named(name).Format
		c.Long = fmt.Sprintf("%s to %s in %d repeats", show(m.Min), show(m.Max), len(r.Repeats))
	}
	return c
}

// formulas returns a table of a variant's formulas beside the measurements under the largest number of clients; none without formulas.
func formulas(group []*results.Document) []*grid {
	if len(group) == 0 {
		return nil
	}
	d := slices.MaxFunc(group, func(a, b *results.Document) int { return a.Clients - b.Clients })
	if len(d.Expected.Costs) == 0 {
		return nil
	}
	form := "formula, an upper bound"
	if d.CountsExactly() {
		form = "formula, exact"
	}
	t := &grid{
		Caption: fmt.Sprintf("%s: costs of an operation of N clients, beside %s", d.Variant, d.Scenario.Name),
		Columns: append(table.Left("metric", form), table.Right(fmt.Sprintf("with %d", d.Clients), "measured")...),
	}
	for _, name := range slices.Sorted(maps.Keys(d.Expected.Costs)) {
		cost, show := d.Expected.Costs[name], metric.Named(name).Format
		measured := d.Metrics[name].Value
		t.add(false, named(name), cost.Formula, number(show(cost.Value), cost.Value), number(show(measured), measured))
	}
	return []*grid{t}
}

func overviewTable(docs []*results.Document) *grid {
	pairings := report.Pairings(summary.Of(docs))
	if len(pairings) < 2 { // the answer of the only section has everything
		return nil
	}
	t := &grid{Caption: "One pair of variants per scenario", Columns: slices.Concat(
		table.Left("scenario", "from", "to", "what changes"),
		table.Right("clients", head(metric.RequestsPerOp), head(metric.NotificationsPerOp), head(metric.HerdMax)), table.Left("gain"),
	)}
	for _, p := range pairings {
		both := func(metric string) cell {
			return number(report.Show(p.Naive, metric)+" → "+report.Show(p.Optimized, metric), p.Naive.Metrics[metric].Value)
		}
		t.add(p.Naive.Void() || p.Optimized.Void(), p.Naive.Scenario,
			p.Naive.Variant+" "+p.Naive.Mark, p.Optimized.Variant+" "+p.Optimized.Mark, p.Change, p.Naive.Clients,
			both(metric.RequestsPerOp), both(metric.NotificationsPerOp), both(metric.HerdMax), p.GainsText())
	}
	return t
}

type compared struct {
	Base    string
	Notes   []string
	Table   *grid
	Figures []plots.Figure
}

// compared returns nil for a single run.
func (r Report) compared() *compared {
	if r.Comparison == nil {
		return nil
	}
	c := &compared{Base: r.Comparison.Sides[0], Notes: r.Comparison.Notes(), Table: comparisonTable(r.Comparison.Rows)}
	figures, notDrawn := plots.Compared(*r.Comparison, r.docs())
	c.Figures = figures
	c.Notes = append(c.Notes, list.Map(notDrawn, func(n plots.NotDrawn) string { return "not drawn of " + n.String() })...)
	return c
}

func comparisonTable(rows []compare.Row) *grid {
	t := &grid{Caption: "Each variant against itself in the base", Columns: slices.Concat(
		table.Left("scenario", "variant"), table.Right("clients"), table.Left("metric"),
		table.Right("base", "other", "ratio [95 % interval]", "pairs"), table.Left("verdict", "reason"),
	)}
	for _, r := range rows {
		known := func(value table.Number, text string) cell {
			if !value.Finite() {
				return cell{Text: table.Missing}
			}
			return number(text, float64(value))
		}
		side := func(p compare.Place) cell { return known(p.Value, metric.Named(r.Metric).Format(float64(p.Value))) }
		t.add(!r.MayBeDrawn(), r.Scenario, r.Other.Variant+" "+r.Other.Mark, r.Clients, r.Metric,
			side(r.Base), side(r.Other), known(r.Ratio, r.RatioText()), r.Pairs, r.Verdict, r.Reason)
	}
	return t
}
