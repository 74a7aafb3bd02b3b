package results

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/table"
)

// Published holds figures that others have published about the same algorithm: the time that a number of operations took.
// Rates are computed from these times.
type Published struct {
	Source  string // author and publication
	Differs string // known differences between their setup and that of zkbench
	Unit    string // of the published rates, in the plural, such as "barrier operations"
	// UnitsPerOperation converts an operation of the scenario to the unit of the published rates.
	UnitsPerOperation float64
	Rows              []PublishedRow
}

// PublishedRow is one published run.
type PublishedRow struct {
	Name       string          // as published, such as "200 barriers"
	Operations float64         // operations of the scenario that each client performed
	Seconds    map[int]float64 // duration by number of clients
}

// Rate returns the units per second of a published run; ok is false if it was not made with this number of clients.
func (p Published) Rate(r PublishedRow, clients int) (rate float64, ok bool) {
	seconds, ok := r.Seconds[clients]
	if !ok || seconds <= 0 {
		return 0, false
	}
	return float64(clients) * r.Operations * p.UnitsPerOperation / seconds, true
}

// WriteTable prints the published rates beside those of one scenario's rows: one line for each variant and number of
// clients that both have, with the ratio to the highest and to the lowest published rate. If there is nothing to compare, it
// prints the reason. No verdict depends on these ratios.
func (p Published) WriteTable(w io.Writer, rows []Row, width int) error {
	fmt.Fprintln(w, table.Wrap("published figures: "+p.Unit+" per second, beside those of "+p.Source, width))
	fmt.Fprintln(w)
	var out string
	switch lines := p.lines(rows); {
	case slices.ContainsFunc(rows, func(r Row) bool { return r.Engine == Embedded }):
		out = table.Wrap("They are not compared: the embedded server has no ensemble's times.", width)
	case len(lines) == 0:
		out = table.Wrap("They are not compared: they were made with other numbers of clients.", width)
	default:
		out = p.fit(lines, width) + "\n" + table.Wrap("The setups differ: "+p.Differs, width)
	}
	_, err := fmt.Fprintln(w, out)
	return err
}

// publishedLine is one line of the comparison.
type publishedLine struct {
	row   Row
	rates []float64 // published rates; zero if there is none
	ours  float64
}

// lines returns the rows for whose number of clients there is a published rate.
func (p Published) lines(rows []Row) []publishedLine {
	var out []publishedLine
	for _, row := range rows {
		ours, measured := row.Metrics[OpsPerSecond]
		line := publishedLine{row: row, ours: ours.Value * p.UnitsPerOperation}
		known := false
		for _, r := range p.Rows {
			rate, ok := p.Rate(r, row.Clients)
			line.rates = append(line.rates, rate)
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
	var names []string
	for _, r := range p.Rows {
		names = append(names, r.Name)
	}
	rendered := publishedTable(lines, names).String()
	if table.Width(rendered) <= width {
		return rendered
	}
	for i, name := range names {
		names[i] = strings.ReplaceAll(name, " ", "\n")
	}
	return publishedTable(lines, names).String()
}

func publishedTable(lines []publishedLine, names []string) *table.Table {
	header := append(table.Right("clients"), table.Left("variant")...)
	header = append(header, table.Right(slices.Concat([]string{"measured"}, names, []string{"ratio"})...)...)
	t := table.New(header...)
	for i, l := range lines {
		if i > 0 && lines[i-1].row.Clients != l.row.Clients {
			t.Rule()
		}
		cells := []any{l.row.Clients, l.row.Variant + l.row.mark(), table.Count(l.ours)}
		for _, rate := range l.rates {
			cell := table.Missing
			if rate > 0 {
				cell = table.Count(rate)
			}
			cells = append(cells, cell)
		}
		t.Row(append(cells, l.ratio())...)
	}
	return t
}

// ratio returns the measured rate divided by the highest and by the lowest published rate.
func (l publishedLine) ratio() string {
	known := slices.DeleteFunc(slices.Clone(l.rates), func(rate float64) bool { return rate == 0 })
	least, most := fmt.Sprintf("%.2f", l.ours/slices.Max(known)), fmt.Sprintf("%.2f", l.ours/slices.Min(known))
	return strings.Join(slices.Compact([]string{least, most}), "–")
}
