package compare

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/zkbench/zkbench/results"
)

// Formats returns how a comparison can be written, first the usual one.
func Formats() []string { return []string{"text", "markdown", "csv", "json"} }

// Write writes the comparison in one of the formats; the width is that of a text's lines.
func (c Comparison) Write(w io.Writer, format string, width int) error {
	switch format {
	case "json":
		return c.writeJSON(w)
	case "csv":
		return c.writeCSV(w)
	case "markdown":
		return c.writeMarkdown(w)
	default:
		return c.writeText(w, width)
	}
}

func (c Comparison) writeJSON(w io.Writer) error {
	if c.Differences == nil {
		c.Differences = []Difference{}
	}
	if c.LeftOut == nil {
		c.LeftOut = []string{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(c)
}

// writeCSV writes plain numbers, in the units that one of the columns names; what is missing or without end is empty.
func (c Comparison) writeCSV(w io.Writer) error {
	number := func(n results.Number) string {
		if !n.Finite() {
			return ""
		}
		return n.String()
	}
	out := csv.NewWriter(w)
	lines := [][]string{{
		"scenario", "size", "clients", "recipe", "base side", "base variant", "other side", "other variant", "metric", "unit",
		"base engine", "other engine", "base", "other", "base repeats", "other repeats", "base mark", "other mark", "ratio", "low", "high", "pairs", "verdict", "reason",
	}}
	for _, r := range c.Rows {
		lines = append(lines, []string{
			r.Scenario, strconv.Itoa(r.Size), strconv.Itoa(r.Clients), r.Recipe, r.Base.Side, r.Base.Variant, r.Other.Side, r.Other.Variant, r.Metric, r.Unit,
			r.Base.Engine, r.Other.Engine, number(r.Base.Value), number(r.Other.Value), strconv.Itoa(r.Base.Repeats), strconv.Itoa(r.Other.Repeats), r.Base.Mark, r.Other.Mark,
			number(r.Ratio), number(r.Low), number(r.High), strconv.Itoa(r.Pairs), string(r.Verdict), r.Reason,
		})
	}
	return out.WriteAll(lines)
}

// writeText writes a table for each scenario and other side, between what differs in the conditions and the reasons.
func (c Comparison) writeText(w io.Writer, width int) error {
	note := func(s string) { fmt.Fprintln(w, results.Wrap(s, width)) }
	for _, s := range c.preamble() {
		note(s)
	}
	for i, rows := range c.tables() {
		if i > 0 || len(c.preamble()) > 0 {
			fmt.Fprintln(w)
		}
		note(c.heading(rows[0]))
		rendered, dropped := results.Fit(columns(), width, func(c column) int { return c.need }, func(kept []column) string {
			return sections(rows, kept)
		})
		fmt.Fprintf(w, "\n%s\n", rendered)
		for _, d := range dropped {
			note("(no room for: " + d.title + ")")
		}
	}
	fmt.Fprintln(w)
	for _, s := range c.reasons() {
		note(s)
	}
	for _, s := range c.LeftOut {
		note(s)
	}
	return nil
}

// writeMarkdown writes the same as lists and tables.
func (c Comparison) writeMarkdown(w io.Writer) error {
	for _, s := range c.preamble() {
		fmt.Fprintf(w, "- %s\n", s)
	}
	for i, rows := range c.tables() {
		if i > 0 || len(c.preamble()) > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "**%s**\n\n%s\n", c.heading(rows[0]), markdown(rows))
	}
	fmt.Fprintln(w)
	for _, s := range slices.Concat(c.reasons(), c.LeftOut) {
		fmt.Fprintf(w, "- %s\n", s)
	}
	return nil
}

// preamble says what must be known before any number is read.
func (c Comparison) preamble() []string {
	var out []string
	for _, d := range c.Differences {
		line := fmt.Sprintf("differs: %s %s in the base, %s in %s", d.Name, d.Base, d.Other, d.Side)
		if !d.Accepted {
			line += " (only exact counts are compared)"
		}
		out = append(out, line)
	}
	return out
}

// tables returns the rows that stand in one table.
func (c Comparison) tables() [][]Row {
	var out [][]Row
	for _, r := range c.Rows {
		if n := len(out); n > 0 && out[n-1][0].sameTable(r) {
			out[n-1] = append(out[n-1], r)
			continue
		}
		out = append(out, []Row{r})
	}
	return out
}

func (r Row) sameTable(o Row) bool {
	return r.Scenario == o.Scenario && r.Size == o.Size && r.Base.Engine == o.Base.Engine && r.Other.Engine == o.Other.Engine && r.Other.Side == o.Other.Side
}

// heading says what a table compares.
func (c Comparison) heading(r Row) string {
	place := cell{scenario: r.Scenario, size: r.Size}.title()
	if r.Base.Engine == r.Other.Engine {
		place += " on " + r.Base.Engine
	}
	if len(c.Sides) == 1 {
		return fmt.Sprintf("%s: variants of %s, the base is %s/%s", place, r.Base.Side, r.Recipe, r.Base.Variant)
	}
	return fmt.Sprintf("%s: %s, the base is %s", place, r.Other.Side, r.Base.Side)
}

// reasons says why, once for each kind of verdict and reason, and for which metrics.
func (c Comparison) reasons() []string {
	var out []string
	if slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Pairs > 0 }) {
		out = append(out, "ratios of pairs are the median over the pairs, not the ratio of the medians beside them")
	}
	for _, v := range []Verdict{Better, Worse, Same, Unsure} {
		var order []string
		metrics := map[string][]string{}
		for _, r := range c.Rows {
			if r.Verdict != v {
				continue
			}
			if !slices.Contains(order, r.Reason) {
				order = append(order, r.Reason)
			}
			if !slices.Contains(metrics[r.Reason], r.Metric) {
				metrics[r.Reason] = append(metrics[r.Reason], r.Metric)
			}
		}
		for _, reason := range order {
			out = append(out, fmt.Sprintf("%s: %s (%s)", v, reason, strings.Join(metrics[reason], ", ")))
		}
	}
	return out
}

// column is one column of the table.
type column struct {
	title string
	need  int // 0 is indispensable
	right bool
	show  func(Row) string
}

func columns() []column {
	return []column{
		{"metric", 0, false, func(r Row) string { return r.Metric }},
		{"base", 0, true, func(r Row) string { base, _ := r.values(); return base }},
		{"other", 0, true, func(r Row) string { _, other := r.values(); return other }},
		{"ratio", 1, true, Row.ratio},
		{"95 % interval", 2, true, Row.interval},
		{"verdict", 0, false, func(r Row) string { return string(r.Verdict) }},
	}
}

// sections renders the rows below a line for each number of clients and variant.
func sections(rows []Row, columns []column) string {
	t := newTable(columns)
	before := ""
	for _, r := range rows {
		if s := r.section(); s != before {
			if before != "" {
				t.AppendSeparator()
			}
			line := make(table.Row, len(columns))
			for i := range line {
				line[i] = s
			}
			t.AppendRow(line, table.RowConfig{AutoMerge: true, AutoMergeAlign: text.AlignLeft})
			before = s
		}
		line := table.Row{}
		for _, c := range columns {
			line = append(line, c.show(r))
		}
		t.AppendRow(line)
	}
	return t.Render()
}

// markdown renders the rows with clients and variant in columns of their own.
func markdown(rows []Row) string {
	all := append([]column{
		{"clients", 0, true, func(r Row) string { return strconv.Itoa(r.Clients) }},
		{"variant", 0, false, func(r Row) string { return strings.TrimSpace(r.Recipe + "/" + r.Other.Variant + " " + r.mark()) }},
	}, columns()...)
	t := newTable(all)
	for _, r := range rows {
		line := table.Row{}
		for _, c := range all {
			line = append(line, c.show(r))
		}
		t.AppendRow(line)
	}
	return t.RenderMarkdown()
}

// newTable returns an empty table with these columns.
func newTable(columns []column) table.Writer {
	t := results.NewTable()
	header := table.Row{}
	var align []table.ColumnConfig
	for i, c := range columns {
		header = append(header, c.title)
		if c.right {
			align = append(align, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(align)
	return t
}

// section names what the rows below it have in common.
func (r Row) section() string {
	repeats := fmt.Sprintf("%d %s", r.Base.Repeats, results.Plural(r.Base.Repeats, "repeat"))
	if r.Base.Repeats != r.Other.Repeats {
		repeats = fmt.Sprintf("%d and %d repeats", r.Base.Repeats, r.Other.Repeats)
	}
	section := fmt.Sprintf("%d %s, %s/%s, %s", r.Clients, results.Plural(r.Clients, "client"), r.Recipe, r.Other.Variant, repeats)
	if mark := r.mark(); mark != "" {
		section += ", " + mark
	}
	return section
}

// mark says of which side the numbers must not be used.
func (r Row) mark() string {
	var out []string
	for _, p := range []struct{ side, mark string }{{"base", r.Base.Mark}, {"other", r.Other.Mark}} {
		if p.mark != "" {
			out = append(out, p.side+" "+p.mark)
		}
	}
	return strings.Join(out, ", ")
}

// missing stands for a number that there is not.
const missing = "–"

// values shows both values, with as many digits as it takes to tell exact counts apart.
func (r Row) values() (base, other string) {
	show := func(n results.Number) string {
		if !n.Finite() {
			return missing
		}
		return results.FormatMetric(r.Metric, float64(n))
	}
	base, other = show(r.Base.Value), show(r.Other.Value)
	if base == other && r.Reason == unequalCounts {
		return fmt.Sprintf("%.6g", float64(r.Base.Value)), fmt.Sprintf("%.6g", float64(r.Other.Value))
	}
	return base, other
}

func (r Row) ratio() string {
	if !r.Ratio.Finite() {
		return missing
	}
	return r.times(r.Ratio) + "×"
}

// interval is shown only where it has two ends.
func (r Row) interval() string {
	if !r.Low.Finite() || !r.High.Finite() {
		return missing
	}
	return fmt.Sprintf("[%s, %s]", r.times(r.Low), r.times(r.High))
}

// times shows a ratio with two decimals, or with as many as it takes to see a difference that is claimed.
func (r Row) times(ratio results.Number) string {
	v := float64(ratio)
	short := fmt.Sprintf("%.2f", v)
	switch {
	case v == 0:
		return "0"
	case short == "0.00":
		return fmt.Sprintf("%.2g", v)
	case short == "1.00" && v != 1 && slices.Contains([]Verdict{Better, Worse}, r.Verdict):
		digits := math.Ceil(-math.Log10(math.Abs(v - 1)))
		return strconv.FormatFloat(v, 'f', int(min(9, digits)), 64)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	default:
		return short
	}
}
