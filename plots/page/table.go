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

// compareSide is a run with its name.
type compareSide = compare.Side

// grid is a table that a reader can sort.
type grid struct {
	Caption string
	Numbers bool // all cells but the first one of each row are aligned as numbers
	Columns []column
	Rows    []row
}

// column is a column with its title. Numbers are aligned at the right.
type column struct {
	Title  string
	Number bool
}

// row is a line of a table. A row whose numbers must not be used says why.
type row struct {
	Void  bool
	Cells []cell
}

// cell is a text, with the value that a column is sorted by, and a longer form of the text.
type cell struct {
	Text, Value, Long string
	Number            bool
}

// text returns a cell that is sorted by its text.
func text(format string, args ...any) cell { return cell{Text: fmt.Sprintf(format, args...)} }

// number returns a cell that is sorted by a number. A text that is a number itself needs no value beside it.
func number(shown string, value float64) cell {
	c := cell{Text: shown, Number: true}
	if _, err := strconv.ParseFloat(shown, 64); err != nil {
		c.Value = strconv.FormatFloat(value, 'g', 5, 64)
	}
	return c
}

// tables returns the main table of rows, and one of all other metrics; nil if there are none.
func tables(d *results.Document, rows []summary.Row) (main, more *grid) {
	shown := mainMetrics(d, rows)
	others := slices.DeleteFunc(report.Metrics(rows), func(metric string) bool { return slices.Contains(shown, metric) })
	repeats := list.Largest(list.Map(rows, func(r summary.Row) int { return r.Repeats }))
	caption := fmt.Sprintf("%s, medians of up to %d %s", d.Scenario.Name, repeats, table.Plural(repeats, "repeat"))
	main = metricTable(caption, rows, shown)
	if len(others) > 0 {
		more = otherMetrics(d, rows, others)
	}
	return main, more
}

// otherMetrics returns a line for each metric, with the values of all variants under the largest number of clients and the largest rate.
func otherMetrics(d *results.Document, rows []summary.Row, metrics []string) *grid {
	clients, rate := summary.MostClients(rows), summary.HighestRate(rows)
	t := &grid{Caption: fmt.Sprintf("%s, all other metrics with %d %s", d.Scenario.Name, clients, table.Plural(clients, "client")), Numbers: true, Columns: []column{{"metric", false}}}
	lines := make([]row, len(metrics))
	for i, name := range metrics {
		lines[i].Cells = []cell{text("%s", metric.Named(name).Short())}
	}
	for _, r := range rows {
		if r.Clients != clients || r.Rate != rate {
			continue
		}
		t.Columns = append(t.Columns, column{strings.TrimSpace(r.Variant + " " + r.Mark), true})
		for i, metric := range metrics {
			lines[i].Cells = append(lines[i].Cells, cell{Text: report.Show(r, metric), Number: true})
		}
	}
	t.Rows = lines
	return t
}

// mainMetrics returns what the scenario asks about, and what tables of every scenario show.
func mainMetrics(d *results.Document, rows []summary.Row) []string {
	wanted := slices.Clone(d.Scenario.Asks)
	wanted = append(wanted, metric.OpsPerSecond)
	for _, phase := range d.Phases[:min(len(d.Phases), 2)] {
		wanted = append(wanted, metric.Quantile(phase, 50), metric.Quantile(phase, 99))
	}
	wanted = append(wanted, metric.RequestsPerOp, metric.WritesPerOp, metric.FailedWritesPerOp, metric.NotificationsPerOp, metric.HerdMax,
		metric.Quantile(results.BystanderPhase, 99))
	have := report.Metrics(rows)
	missing := func(metric string) bool { return !slices.Contains(have, metric) }
	return list.AppendNew(nil, slices.DeleteFunc(wanted, missing)...)
}

// metricTable returns a table of metrics with a line for each row.
func metricTable(caption string, rows []summary.Row, metrics []string) *grid {
	t := &grid{Caption: caption, Numbers: true, Columns: []column{{"variant", false}, {"kind", true}, {"clients", true}}}
	open := slices.ContainsFunc(rows, func(r summary.Row) bool { return r.Rate > 0 })
	if open {
		t.Columns = append(t.Columns, column{"rate", true})
	}
	for _, metricName := range metrics {
		t.Columns = append(t.Columns, column{metric.Named(metricName).Short(), true})
	}
	for _, r := range rows {
		mark := r.Mark
		name := r.Variant
		if mark != "" {
			name += " " + mark
		}
		line := row{Void: mark != "", Cells: []cell{text("%s", name), text("%s", r.Kind), number(fmt.Sprint(r.Clients), float64(r.Clients))}}
		if open {
			line.Cells = append(line.Cells, number(fmt.Sprint(r.Rate), float64(r.Rate)))
		}
		for _, metric := range metrics {
			line.Cells = append(line.Cells, metricCell(r, metric))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// metricCell shows a metric, and its extremes in the long form.
func metricCell(r summary.Row, name string) cell {
	m, ok := r.Metrics[name]
	if !ok {
		return cell{Text: report.Show(r, name), Number: true}
	}
	c := number(report.Show(r, name), m.Value)
	if m.Max > m.Min {
		show := metric.Named(name).Format
		c.Long = fmt.Sprintf("%s to %s in %d repeats", show(m.Min), show(m.Max), r.Repeats)
	}
	return c
}

// formulas returns the formulas of a variant beside what was measured under the largest number of clients; nil if it states none.
func formulas(group []*results.Document) *grid {
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
		Columns: []column{{"metric", false}, {form, false}, {fmt.Sprintf("with %d", d.Clients), true}, {"measured", true}},
	}
	for _, name := range slices.Sorted(maps.Keys(d.Expected.Costs)) {
		cost := d.Expected.Costs[name]
		line := []cell{text("%s", name), text("%s", cost.Formula), number(metric.Named(name).Format(cost.Value), cost.Value)}
		m := d.Metrics[name]
		t.Rows = append(t.Rows, row{Cells: append(line, number(metric.Named(name).Format(m.Value), m.Value))})
	}
	return t
}

// overviewTable returns a line for each scenario that names a pair of variants; nil without one.
func overviewTable(docs []*results.Document) *grid {
	pairings := report.Pairings(summary.Of(docs))
	if len(pairings) == 0 {
		return nil
	}
	t := &grid{Caption: "One pair of variants per scenario", Columns: []column{
		{"scenario", false}, {"from", false}, {"to", false}, {"what changes", false}, {"clients", true}, {"requests/op", true}, {"notifications/op", true}, {"largest herd", true}, {"gain", false},
	}}
	for _, p := range pairings {
		both := func(metric string) cell {
			return number(report.Show(p.Naive, metric)+" → "+report.Show(p.Optimized, metric), p.Naive.Metrics[metric].Value)
		}
		void := p.Naive.Mark != "" || p.Optimized.Mark != ""
		t.Rows = append(t.Rows, row{Void: void, Cells: []cell{
			text("%s", p.Naive.Scenario), text("%s %s", p.Naive.Variant, p.Naive.Mark), text("%s %s", p.Optimized.Variant, p.Optimized.Mark), text("%s", p.Change), number(fmt.Sprint(p.Naive.Clients), float64(p.Naive.Clients)),
			both(metric.RequestsPerOp), both(metric.NotificationsPerOp), both(metric.HerdMax), text("%s", p.GainsText("; ")),
		}})
	}
	return t
}

// compared is the comparison of several runs.
type compared struct {
	Base    string
	Notes   []string
	Table   *grid
	Figures []figure
}

// compared returns the comparison; nil for a single run.
func (r Report) compared() *compared {
	if r.Comparison == nil {
		return nil
	}
	c := &compared{Base: r.Comparison.Sides[0], Notes: r.Comparison.Notes(), Table: comparisonTable(r.Comparison.Rows)}
	figures, notDrawn := plots.Compared(*r.Comparison, r.docs())
	for _, f := range figures {
		c.Figures = append(c.Figures, figureOf(f))
	}
	for _, n := range notDrawn {
		c.Notes = append(c.Notes, "not drawn of "+n.String())
	}
	return c
}

func comparisonTable(rows []compare.Row) *grid {
	t := &grid{Caption: "Each variant against itself in the base", Columns: []column{
		{"scenario", false}, {"variant", false}, {"clients", true}, {"metric", false}, {"base", true}, {"other", true}, {"ratio", true}, {"95 % interval", true}, {"pairs", true}, {"verdict", false}, {"reason", false},
	}}
	for _, r := range rows {
		ratio, interval := cell{Text: "–", Number: true}, cell{Text: "–", Number: true}
		if r.Ratio.Finite() {
			ratio = number(fmt.Sprintf("%.3g", float64(r.Ratio)), float64(r.Ratio))
		}
		if r.Pairs > 0 && r.Low.Finite() && r.High.Finite() {
			interval = number(fmt.Sprintf("%.3g to %.3g", float64(r.Low), float64(r.High)), float64(r.Low))
		}
		t.Rows = append(t.Rows, row{Void: !r.MayBeDrawn(), Cells: []cell{
			text("%s", r.Scenario), text("%s %s", r.Other.Variant, r.Other.Mark), number(fmt.Sprint(r.Clients), float64(r.Clients)), text("%s", r.Metric),
			sideCell(r.Metric, r.Base), sideCell(r.Metric, r.Other), ratio, interval, number(fmt.Sprint(r.Pairs), float64(r.Pairs)), text("%s", r.Verdict), text("%s", r.Reason),
		}})
	}
	return t
}

// sideCell shows the value of one side.
func sideCell(name string, p compare.Place) cell {
	if !p.Value.Finite() {
		return cell{Text: "–", Number: true}
	}
	return number(metric.Named(name).Format(float64(p.Value)), float64(p.Value))
}
