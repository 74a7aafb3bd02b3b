package results

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Published is what somebody else has measured of the same algorithm, as it was published: how many seconds so many
// operations took. Rates are computed from that, never copied.
type Published struct {
	Source  string // who published it, and where
	Differs string // in what their setup differs from ours, as far as it is known
	Unit    string // what is counted, in the plural: "barrier operations"
	// UnitsPerOperation is how many units one operation of the scenario is: with it both sides count alike.
	UnitsPerOperation float64
	Rows              []PublishedRow
}

// PublishedRow is one run that was published.
type PublishedRow struct {
	Name       string          // as it was published: "200 barriers"
	Operations float64         // of each client, counted as the scenario counts them
	Seconds    map[int]float64 // how long all clients together took for theirs, by their number
}

// Rate returns how many units per second a published run made with so many clients.
func (p Published) Rate(r PublishedRow, clients int) (rate float64, ok bool) {
	seconds, ok := r.Seconds[clients]
	if !ok || seconds <= 0 {
		return 0, false
	}
	return float64(clients) * r.Operations * p.UnitsPerOperation / seconds, true
}

// WriteTable prints the published rates beside those of one scenario's rows: one line for each variant and number of
// clients that both sides have, with the ratio to the highest and to the lowest published rate. Where there is nothing to
// compare, it says why. It is information, no verdict.
func (p Published) WriteTable(w io.Writer, rows []Row, width int) error {
	fmt.Fprintln(w, Wrap("published figures: "+p.Unit+" per second, beside those of "+p.Source, width))
	fmt.Fprintln(w)
	var out string
	switch lines := p.lines(rows); {
	case slices.ContainsFunc(rows, func(r Row) bool { return r.Engine == Embedded }):
		out = Wrap("They are not compared: times of the embedded server are no ensemble's.", width)
	case len(lines) == 0:
		out = Wrap("They are not compared: nothing was measured under a number of clients that they are of.", width)
	default:
		out = p.fit(lines, width) + "\n" + Wrap("The setups differ: "+p.Differs, width)
	}
	_, err := fmt.Fprintln(w, out)
	return err
}

// publishedLine is one line of the comparison.
type publishedLine struct {
	row   Row
	rates []float64 // as published, zero for none
	ours  float64
}

// lines pairs what was measured with what was published.
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

// fit renders the lines. Where the terminal is too narrow, the names of the published runs are broken between words.
func (p Published) fit(lines []publishedLine, width int) string {
	var names []string
	for _, r := range p.Rows {
		names = append(names, r.Name)
	}
	rendered := renderPublished(lines, names)
	if text.LongestLineLen(rendered) <= width {
		return rendered
	}
	for i, name := range names {
		names[i] = strings.ReplaceAll(name, " ", "\n")
	}
	return renderPublished(lines, names)
}

func renderPublished(lines []publishedLine, names []string) string {
	t := NewTable()
	header := table.Row{"clients", "variant", "measured"}
	for _, name := range names {
		header = append(header, name)
	}
	t.AppendHeader(append(header, "ratio"))
	align := []table.ColumnConfig{{Number: 1, Align: text.AlignRight}}
	for column := 3; column <= len(names)+4; column++ {
		align = append(align, table.ColumnConfig{Number: column, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(align)
	for i, l := range lines {
		if i > 0 && lines[i-1].row.Clients != l.row.Clients {
			t.AppendSeparator()
		}
		cells := table.Row{l.row.Clients, l.row.Variant + l.row.mark(), count(l.ours)}
		for _, rate := range l.rates {
			cell := "–"
			if rate > 0 {
				cell = count(rate)
			}
			cells = append(cells, cell)
		}
		t.AppendRow(append(cells, l.ratio()))
	}
	return t.Render()
}

// ratio is the measured rate by the highest and by the lowest of those that were published.
func (l publishedLine) ratio() string {
	known := slices.DeleteFunc(slices.Clone(l.rates), func(rate float64) bool { return rate == 0 })
	least, most := fmt.Sprintf("%.2f", l.ours/slices.Max(known)), fmt.Sprintf("%.2f", l.ours/slices.Min(known))
	return strings.Join(slices.Compact([]string{least, most}), "–")
}
