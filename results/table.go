package results

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// column is one column of the comparison table. Where the terminal is too narrow for all, the least needed go first.
type column struct {
	title  string
	need   int // 0 is indispensable
	metric string
	format func(float64) string
}

// columns is the table from left to right, after the number of clients and the variant.
func columns() []column {
	return []column{
		{"ops/s", 0, OpsPerSecond, count},
		{"acquire p50", 5, "acquire-p50-ns", latency},
		{"acquire p99", 3, "acquire-p99-ns", latency},
		{"handoff p50", 1, "handoff-p50-ns", latency},
		{"handoff p99", 6, "handoff-p99-ns", latency},
		{"notif/op", 0, NotificationsPerOp, count},
		{"useless/op", 7, UselessWakeupsPerOp, count},
		{"req/op", 2, RequestsPerOp, count},
		{"failed/op", 4, FailedWritesPerOp, count},
		{"herd max", 0, HerdMax, func(v float64) string { return fmt.Sprintf("%.0f", v) }},
		{"bystander p99", 1, "bystander-p99-ns", latency},
	}
}

// count shows a number with about three digits.
func count(v float64) string {
	switch {
	case v >= 100 || v == 0:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

func latency(ns float64) string {
	switch d := time.Duration(ns); {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 100*time.Millisecond:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	default:
		return fmt.Sprintf("%d µs", d.Microseconds())
	}
}

// WriteTable prints the comparison, one line per variant and number of clients, in at most width columns. A metric that
// a measurement does not have shows as a dash.
func (s Summary) WriteTable(w io.Writer, width int) error {
	for i, rows := range s.byScenario() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		first := rows[0]
		fmt.Fprintf(w, "%s on %s, median of %s\n\n", first.Scenario, first.Engine, repeatsOf(rows))
		rendered, dropped := fit(rows, width)
		if _, err := fmt.Fprintln(w, rendered); err != nil {
			return err
		}
		if len(dropped) > 0 {
			fmt.Fprintln(w, Wrap("(no room for: "+strings.Join(dropped, ", ")+")", width))
		}
	}
	return nil
}

// repeatsOf says how many repeats the rows have; after an interrupt some have more than others.
func repeatsOf(rows []Row) string {
	least, most := rows[0].Repeats, rows[0].Repeats
	for _, r := range rows {
		least, most = min(least, r.Repeats), max(most, r.Repeats)
	}
	if least < most {
		return fmt.Sprintf("%d to %d repeats", least, most)
	}
	return fmt.Sprintf("%d %s", most, plural(most, "repeat"))
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func (s Summary) byScenario() [][]Row {
	var groups [][]Row
	for _, r := range s.Rows {
		if n := len(groups); n > 0 && groups[n-1][0].Scenario == r.Scenario && groups[n-1][0].Engine == r.Engine {
			groups[n-1] = append(groups[n-1], r)
			continue
		}
		groups = append(groups, []Row{r})
	}
	return groups
}

// fit renders the rows with as many columns as have values and fit, and returns the titles of those that do not.
func fit(rows []Row, width int) (rendered string, dropped []string) {
	present := slices.DeleteFunc(columns(), func(c column) bool {
		return !slices.ContainsFunc(rows, func(r Row) bool { _, ok := r.Metrics[c.metric]; return ok })
	})
	for {
		rendered = render(rows, present)
		most := slices.MaxFunc(present, func(a, b column) int { return a.need - b.need })
		if text.LongestLineLen(rendered) <= width || most.need == 0 {
			return rendered, dropped
		}
		dropped = append(dropped, most.title)
		present = slices.DeleteFunc(present, func(c column) bool { return c.title == most.title })
	}
}

func render(rows []Row, columns []column) string {
	t := NewTable()
	header := table.Row{"clients", "variant"}
	align := []table.ColumnConfig{{Number: 1, Align: text.AlignRight}}
	for i, c := range columns {
		header = append(header, c.title)
		align = append(align, table.ColumnConfig{Number: i + 3, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(align)
	for i, r := range rows {
		if i > 0 && rows[i-1].Clients != r.Clients {
			t.AppendSeparator()
		}
		line := table.Row{r.Clients, r.Recipe + "/" + r.Variant + r.mark()}
		for _, c := range columns {
			cell := "–"
			if m, ok := r.Metrics[c.metric]; ok {
				cell = c.format(m.Value)
			}
			if c.metric == HerdMax && r.Guessed {
				cell = "~" + cell
			}
			line = append(line, cell)
		}
		t.AppendRow(line)
	}
	return t.Render()
}

// mark stands beside a variant whose numbers must not be used.
func (r Row) mark() string {
	switch {
	case r.Metrics[Violations].Value > 0:
		return " BROKEN"
	case r.Invalid:
		return " INVALID"
	default:
		return ""
	}
}

// Wrap breaks each of several lines between words, so that it fits into width columns.
func Wrap(lines string, width int) string {
	var out []string
	for line := range strings.Lines(lines) {
		for part := range strings.Lines(text.WrapSoft(strings.TrimRight(line, "\n"), width)) {
			out = append(out, strings.TrimRight(part, " \n"))
		}
	}
	return strings.Join(out, "\n")
}

// NewTable returns an empty table in the style of all of zkbench's tables.
func NewTable() table.Writer {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.Options{SeparateHeader: true, SeparateRows: false}
	style.Box.PaddingLeft = ""
	style.Box.PaddingRight = "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}

// WriteVerdict prints what speaks against the numbers: breaches of the promise, reasons why they are void, warnings.
// Each is said once, with where it was seen.
func WriteVerdict(w io.Writer, docs []*Document) {
	var violations int
	for _, d := range docs {
		violations += len(d.Violations)
	}
	switch {
	case violations > 0:
		fmt.Fprintf(w, "BROKEN: the recipe's promise was breached %d times\n", violations)
	default:
		fmt.Fprintf(w, "the recipe's promise was kept in %d of %d measurements\n", len(docs), len(docs))
	}
	for _, d := range docs {
		for _, v := range d.Violations[:min(len(d.Violations), 3)] {
			fmt.Fprintf(w, "  %s: at %s %s\n", d.label(), v.At, v.Text)
		}
	}
	var equal int
	for _, d := range docs {
		if d.Expected.Equal {
			equal++
		}
	}
	if equal > 0 {
		fmt.Fprintf(w, "the counts of %d of %d measurements equal the variants' formulas to the last one\n", equal, len(docs))
	}
	writeFindings(w, "INVALID", docs, func(d *Document) []string { return d.Invalid })
	writeFindings(w, "warning", docs, func(d *Document) []string { return d.Warnings })
	writeOracle(w, docs)
}

// writeOracle says how much of the run the servers' own counters confirmed.
func writeOracle(w io.Writer, docs []*Document) {
	var checked int
	var notifications, writes int64
	for _, d := range docs {
		if d.Oracle.Checked && d.Oracle.Agrees() {
			checked++
			notifications += d.Oracle.ServerNotifications
			writes += d.Oracle.ServerTransactions
		}
	}
	if checked > 0 {
		fmt.Fprintf(w, "the servers' own counters confirm %d of %d measurements (%d notifications, %d writes)\n", checked, len(docs), notifications, writes)
	}
}

func (d *Document) label() string {
	return fmt.Sprintf("%s/%s, %d %s, repeat %d", d.Recipe, d.Variant, d.Clients, plural(d.Clients, "client"), d.Repeat)
}

// writeFindings prints each distinct finding with the number of measurements it was made in, or with the only one.
func writeFindings(w io.Writer, kind string, docs []*Document, findings func(*Document) []string) {
	var order []string
	where := map[string][]string{}
	for _, d := range docs {
		for _, f := range findings(d) {
			if where[f] == nil {
				order = append(order, f)
			}
			where[f] = append(where[f], d.label())
		}
	}
	for _, f := range order {
		place := strings.Join(where[f], "; ")
		if n := len(where[f]); n > 1 {
			place = fmt.Sprintf("%d of %d measurements", n, len(docs))
		}
		fmt.Fprintf(w, "%s: %s (%s)\n", kind, f, place)
	}
}
