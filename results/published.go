package results

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/table"
)

// Published holds figures that others have published about the same load: the times that numbers of operations took, from which
// rates are computed, or the values of one metric.
type Published struct {
	Source  string `json:"source"`           // author and publication
	Differs string `json:"differs"`          // known differences between their setup and that of zkbench
	Metric  string `json:"metric,omitempty"` // that the rows have values of; empty if they have times, whose rates are compared with ops/s
	Unit    string `json:"unit"`             // of the values, such as "reads per second"; of the rates without "per second", such as "barrier operations"
	// UnitsPerOperation converts an operation of the scenario to the unit of the published rates. It is zero with a Metric,
	// whose values are not converted.
	UnitsPerOperation float64        `json:"units_per_operation,omitempty"`
	Rows              []PublishedRow `json:"rows"`
}

// PublishedRow is one published run. It has either Operations and Seconds, or Values.
type PublishedRow struct {
	Name       string          `json:"name"`                 // as published, such as "200 barriers"
	Operations float64         `json:"operations,omitempty"` // operations of the scenario that each client performed
	Seconds    map[int]float64 `json:"seconds,omitempty"`    // duration by number of clients
	Values     map[int]float64 `json:"values,omitempty"`     // of the metric, by number of clients
}

// Value returns the units per second of a published run, or its value of the metric. ok is false if the run was not made with
// this number of clients.
func (p Published) Value(r PublishedRow, clients int) (value float64, ok bool) {
	if p.Metric != "" {
		value = r.Values[clients]
		return value, value > 0
	}
	seconds, ok := r.Seconds[clients]
	if !ok || seconds <= 0 {
		return 0, false
	}
	return float64(clients) * r.Operations * p.UnitsPerOperation / seconds, true
}

// clients returns the published numbers of clients in ascending order.
func (p Published) clients() []int {
	all := map[int]bool{}
	for _, r := range p.Rows {
		for _, byClients := range []map[int]float64{r.Seconds, r.Values} {
			for clients := range byClients {
				all[clients] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Measured returns the name of the metric with which the published values are compared, and the factor that converts it to
// their unit.
func (p Published) Measured() (metric string, factor float64) {
	if p.Metric != "" {
		return p.Metric, 1
	}
	return OpsPerSecond, p.UnitsPerOperation
}

// WriteTable prints the published values beside those of one scenario's rows: one line for each variant and number of
// clients that both have, with the ratio to the highest and to the lowest published value. If there is nothing to compare, it
// prints the reason. No verdict depends on these ratios.
func (p Published) WriteTable(w io.Writer, rows []Row, width int) error {
	fmt.Fprintln(w, table.Wrap("published figures: "+p.heading(), width))
	fmt.Fprintln(w)
	lines := p.lines(rows)
	out := p.obstacle(rows, lines)
	if out == "" {
		out = p.fit(lines, width) + "\n" + table.Wrap("The setups differ: "+p.Differs, width)
	} else {
		out = table.Wrap("They are not compared: "+out, width)
	}
	_, err := fmt.Fprintln(w, out)
	return err
}

func (p Published) heading() string {
	if p.Metric != "" {
		return p.Metric + ", beside the " + p.Unit + " of " + p.Source
	}
	return p.Unit + " per second, beside those of " + p.Source
}

// obstacle returns the reason why there is nothing to compare; empty if there is something. The published numbers of
// clients are in the form of a flag, so that the user can measure with them.
func (p Published) obstacle(rows []Row, lines []publishedLine) string {
	clients := p.clients()
	switch {
	case slices.ContainsFunc(rows, func(r Row) bool { return r.Engine == Embedded }):
		return "the embedded server has no ensemble's times."
	case !slices.ContainsFunc(rows, func(r Row) bool { return slices.Contains(clients, r.Clients) }):
		flag := "--clients=" + strings.ReplaceAll(strings.Trim(fmt.Sprint(clients), "[]"), " ", ",")
		return "they were made with other numbers of clients; " + flag + " measures with these."
	case len(lines) == 0:
		metric, _ := p.Measured()
		return metric + " was not measured."
	default:
		return ""
	}
}

// publishedLine is one line of the comparison.
type publishedLine struct {
	row       Row
	shown     string    // what was measured, as in tables
	ours      float64   // the same number
	published []float64 // zero if there is none
}

// lines returns the rows for whose number of clients there is a published value.
func (p Published) lines(rows []Row) []publishedLine {
	metric, factor := p.Measured()
	format := func(v float64) string { return FormatMetric(metric, v*factor) }
	var out []publishedLine
	for _, row := range rows {
		ours, measured := row.Metrics[metric]
		line := publishedLine{row: row, shown: row.show(metric, format), ours: ours.Value * factor}
		known := false
		for _, r := range p.Rows {
			value, ok := p.Value(r, row.Clients)
			line.published = append(line.published, value)
			known = known || ok
		}
		if measured && known {
			out = append(out, line)
		}
	}
	return out
}

// fit renders the lines. If the terminal is too narrow, the names of the published runs are wrapped.
func (p Published) fit(lines []publishedLine, width int) string {
	names := Map(p.Rows, func(r PublishedRow) string { return r.Name })
	rendered := p.table(lines, names).String()
	if table.Width(rendered) <= width {
		return rendered
	}
	for i, name := range names {
		names[i] = strings.ReplaceAll(name, " ", "\n")
	}
	return p.table(lines, names).String()
}

func (p Published) table(lines []publishedLine, names []string) *table.Table {
	header := append(table.Right("clients"), table.Left("variant")...)
	header = append(header, table.Right(slices.Concat([]string{"measured"}, names, []string{"ratio"})...)...)
	t := table.New(header...)
	metric, _ := p.Measured()
	for i, l := range lines {
		if i > 0 && lines[i-1].row.Clients != l.row.Clients {
			t.Rule()
		}
		cells := []any{l.row.Clients, l.row.Variant + l.row.mark(), l.shown}
		for _, value := range l.published {
			cell := table.Missing
			if value > 0 {
				cell = FormatMetric(metric, value)
			}
			cells = append(cells, cell)
		}
		t.Row(append(cells, l.ratio())...)
	}
	return t
}

// ratio returns the measured value divided by the highest and by the lowest published value.
func (l publishedLine) ratio() string {
	known := slices.DeleteFunc(slices.Clone(l.published), func(value float64) bool { return value == 0 })
	least, most := fmt.Sprintf("%.2f", l.ours/slices.Max(known)), fmt.Sprintf("%.2f", l.ours/slices.Min(known))
	return strings.Join(slices.Compact([]string{least, most}), "–")
}
