package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/table"
)

// Write writes the comparison in one of the formats of [table.Formats]. The width limits the lines of a text.
func (c Comparison) Write(w io.Writer, format string, width int) error {
	switch format {
	case "json":
		c.Differences, c.LeftOut = append([]Difference{}, c.Differences...), append([]string{}, c.LeftOut...) // never null
		return table.WriteJSON(w, c)
	case "csv":
		_, err := fmt.Fprintln(w, c.flat().CSV())
		return err
	}
	note := func(line string) { fmt.Fprintln(w, table.Wrap(table.Escaped(line), width)) }
	one := func(rows []Row) {
		note(c.heading(rows[0]))
		rendered, dropped := sections(rows).Text(width)
		fmt.Fprintf(w, "\n%s\n", rendered)
		for _, title := range dropped {
			note("(no room for: " + title + ")")
		}
	}
	if format == "markdown" {
		note = func(line string) { table.Line(w, "- %s", line) }
		one = func(rows []Row) {
			fmt.Fprintf(w, "**%s**\n\n%s\n", table.Escaped(c.heading(rows[0])), wide(rows).Markdown())
		}
	}
	preamble := c.preamble()
	for _, line := range preamble {
		note(line)
	}
	for i, rows := range list.GroupBy(c.Rows, func(r Row) string {
		return fmt.Sprintf("%q %d %s %q %q %q", r.Scenario, r.Size, r.Rate, r.Base.Engine, r.Other.Engine, r.Other.Side)
	}) {
		if i > 0 || len(preamble) > 0 {
			fmt.Fprintln(w)
		}
		one(rows)
	}
	fmt.Fprintln(w)
	for _, line := range slices.Concat(c.reasons(), c.LeftOut) {
		note(line)
	}
	return nil
}

// flat returns one table of all rows, with plain numbers whose unit a column names. A number that is missing or infinite is empty.
func (c Comparison) flat() *table.Table {
	t := table.New(table.Left(
		"scenario", "size", "clients", "rate", "recipe", "base side", "base variant", "other side", "other variant", "metric", "unit",
		"base engine", "other engine", "base", "other", "base repeats", "other repeats", "base mark", "other mark",
		"ratio", "low", "high", "least", "most", "pairs", "verdict", "reason",
		"base tags", "other tags")...)
	for _, r := range c.Rows {
		t.Row(
			r.Scenario, r.Size, r.Clients, float64(r.Rate), r.Recipe, r.Base.Side, r.Base.Variant, r.Other.Side, r.Other.Variant,
			r.Metric, r.Unit, r.Base.Engine, r.Other.Engine, r.Base.Value, r.Other.Value, r.Base.Repeats, r.Other.Repeats,
			r.Base.Mark, r.Other.Mark,
			r.Ratio, r.Low, r.High, r.Least, r.Most, r.Pairs, r.Verdict, r.Reason,
			c.tags(r.Base.Side), c.tags(r.Other.Side))
	}
	return t
}

func (c Comparison) tags(side string) string { return strings.Join(c.Tags[side], "; ") }

func (c Comparison) preamble() (lines []string) {
	for _, side := range c.Sides {
		if tags := c.tags(side); tags != "" {
			lines = append(lines, fmt.Sprintf("tags of %s: %s", side, tags))
		}
	}
	return append(lines, list.Map(c.Differences, func(d Difference) string {
		line := fmt.Sprintf("differs: %s %s in the base, %s in %s", d.Name, d.Base, d.Other, d.Side)
		switch {
		case d.Accepted:
		case slices.Contains(Subjects(), d.Subject) && d.mayBeSubject():
			line += fmt.Sprintf(" (only exact counts are compared; with --across %s, all are)", d.Subject)
		default:
			line += " (only exact counts are compared)"
		}
		return line
	})...)
}

func (c Comparison) heading(r Row) string {
	title := grouping.Key{Scenario: r.Scenario, Size: r.Size, Rate: r.Rate}.Title()
	if r.Base.Engine == r.Other.Engine {
		title += " on " + r.Base.Engine
	}
	if len(c.Sides) == 1 {
		return fmt.Sprintf("%s: variants of %s, the base is %s/%s", title, r.Base.Side, r.Recipe, r.Base.Variant)
	}
	return fmt.Sprintf("%s: %s, the base is %s", title, r.Other.Side, r.Base.Side)
}

func (c Comparison) reasons() []string {
	var out []string
	if slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Pairs > 0 }) {
		out = append(out, fmt.Sprintf("ratios are medians of pairs, not ratios of the medians beside them, with a 95 %% interval; "+
			"below %d pairs, their range", pairsNeeded()))
	}
	if slices.ContainsFunc(c.Rows, func(r Row) bool { return strings.Contains(r.mark(), doubts.DeviatesMark) }) {
		out = append(out, doubts.DeviatesMark+": counts are not those of the variant's formula; `zkbench gate RESULT` says which")
	}
	rank := func(r Row) int { return slices.Index(Verdicts(), r.Verdict) }
	rows := slices.SortedStableFunc(slices.Values(c.Rows), func(a, b Row) int { return rank(a) - rank(b) })
	text := func(r Row) string { return fmt.Sprintf("%s: %s", r.Verdict, r.Reason) }
	for _, same := range list.GroupBy(rows, text) {
		metrics := list.AppendNew(nil, list.Map(same, func(r Row) string { return r.Metric })...)
		out = append(out, fmt.Sprintf("%s (%s)", text(same[0]), strings.Join(metrics, ", ")))
	}
	return out
}

// columns returns the columns that text and Markdown share; cells returns their values for a row.
func columns() []table.Column {
	return []table.Column{
		{Title: "metric"}, {Title: "base", Right: true}, {Title: "other", Right: true},
		{Title: "ratio [interval]", Right: true, Need: 1}, {Title: "verdict"},
	}
}

func (r Row) cells() []any {
	base, other := r.values()
	return []any{r.Metric, base, other, r.RatioText(), string(r.Verdict)}
}

func sections(rows []Row) *table.Table {
	t := table.New(columns()...)
	for i, same := range list.GroupBy(rows, Row.section) {
		if i > 0 {
			t.Rule()
		}
		t.Section(same[0].section())
		for _, r := range same {
			t.Row(r.cells()...)
		}
	}
	return t
}

func wide(rows []Row) *table.Table {
	t := table.New(append([]table.Column{{Title: "clients", Right: true}, {Title: "variant"}}, columns()...)...)
	for _, r := range rows {
		variant := strings.TrimSpace(r.Recipe + "/" + r.Other.Variant + " " + r.mark())
		t.Row(append([]any{r.Clients, variant}, r.cells()...)...)
	}
	return t
}

func (r Row) section() string {
	repeats := fmt.Sprintf("%d %s", r.Base.Repeats, table.Plural(r.Base.Repeats, "repeat"))
	if r.Base.Repeats != r.Other.Repeats {
		repeats = fmt.Sprintf("%d and %d repeats", r.Base.Repeats, r.Other.Repeats)
	}
	section := fmt.Sprintf("%d %s, %s/%s, %s", r.Clients, table.Plural(r.Clients, "client"), r.Recipe, r.Other.Variant, repeats)
	if mark := r.mark(); mark != "" {
		section += ", " + mark
	}
	return section
}

func (r Row) mark() string {
	marks := list.Where([]string{"base " + r.Base.Mark, "other " + r.Other.Mark}, func(s string) bool { return !strings.HasSuffix(s, " ") })
	return strings.Join(marks, ", ")
}

// values shows both values, with enough digits to distinguish exact counts.
func (r Row) values() (base, other string) {
	show := func(n table.Number) string {
		if !n.Finite() {
			return table.Missing
		}
		return metric.Named(r.Metric).Format(float64(n))
	}
	base, other = show(r.Base.Value), show(r.Other.Value)
	if base == other && r.Reason == unequalCounts {
		return fmt.Sprintf("%.6g", float64(r.Base.Value)), fmt.Sprintf("%.6g", float64(r.Other.Value))
	}
	return base, other
}
