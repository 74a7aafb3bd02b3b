// Package table renders tables: on a terminal of a given width, in Markdown, and as comma-separated values.
//
// It takes one position: a table never exceeds its width as long as anything can be left out. Columns that matter less are
// dropped first, sentences are wrapped, and the caller learns which columns are missing.
package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/zkbench/zkbench/results/list"
)

// Missing is the cell of a value that was not measured or does not exist.
const Missing = "–"

// gap is the number of spaces between two columns and at the end of a line.
const gap = 2

// leastFill is the minimum width of a column with Fill.
const leastFill = 20

// Column describes one column. The zero value with a title is aligned to the left, or to the right if all its cells are
// numbers, and is shown at any width.
type Column struct {
	Title string
	Right bool // align cells and title to the right
	Need  int  // columns with the largest Need are dropped first; those with 0 are never dropped
	Width int  // wrap longer cells between words; 0 means no limit
	Fill  bool // wrap cells so that the table fills the width
	Named bool // cells are names that clients have chosen: further lines are indented, so that none looks like another row
}

// Left returns columns with these titles, without further settings.
func Left(titles ...string) []Column {
	return list.Map(titles, func(title string) Column { return Column{Title: title} })
}

// Right returns columns with these titles that are aligned to the right.
func Right(titles ...string) []Column {
	return list.Map(titles, func(title string) Column { return Column{Title: title, Right: true} })
}

// Table is a header and rows. Make one with [New].
type Table struct {
	columns []Column
	widths  []int // of the widest cells, titles included
	writer  table.Writer
}

// New returns a table without rows.
func New(columns ...Column) *Table {
	for i := range columns {
		columns[i].Title = Escaped(columns[i].Title)
	}
	t := &Table{columns, list.Map(columns, func(c Column) int { return Width(c.Title) }), table.NewWriter()}
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.Options{SeparateHeader: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gap)
	t.writer.SetStyle(style)
	t.writer.SuppressTrailingSpaces()
	t.writer.AppendHeader(list.Map(columns, func(c Column) any { return c.Title }))
	return t
}

// Lines is a cell of several lines.
type Lines []string

// Row appends a row with one cell for each column. The text of a cell is escaped; see [Escaped].
func (t *Table) Row(cells ...any) {
	cells = slices.Clone(cells)
	for i, cell := range cells {
		lines, several := cell.(Lines)
		if !several {
			lines = Lines{fmt.Sprint(cell)}
		}
		text := strings.Join(list.Map(lines, Escaped), "\n")
		t.widths[i] = max(t.widths[i], Width(text))
		if several || text != lines[0] { // other cells keep their type, which aligns numbers
			cells[i] = text
		}
	}
	t.writer.AppendRow(cells)
}

// Section appends a line whose text spans all columns.
func (t *Table) Section(title string) {
	cells := slices.Repeat(table.Row{Escaped(title)}, len(t.columns))
	t.writer.AppendRow(cells, table.RowConfig{AutoMerge: true, AutoMergeAlign: text.AlignLeft})
}

// Rule appends a horizontal line.
func (t *Table) Rule() { t.writer.AppendSeparator() }

// String renders the table for a terminal of unlimited width.
func (t *Table) String() string { return t.fit(0).Render() }

// Text renders the table for a terminal with width columns. It drops the columns with the largest Need, one at a time,
// until the table fits, and returns their titles in the order of the table.
func (t *Table) Text(width int) (rendered string, dropped []string) {
	var hidden []int
	for {
		rendered = t.fit(width, hidden...).Render()
		most, need := 0, 0
		for i, c := range t.columns {
			if c.Need > need && !slices.Contains(hidden, i) {
				most, need = i, c.Need
			}
		}
		if need == 0 || Width(rendered) <= width {
			return rendered, list.Map(slices.Sorted(slices.Values(hidden)), func(i int) string { return t.columns[i].Title })
		}
		hidden = append(hidden, most)
	}
}

// Markdown renders the table in Markdown, with all columns.
func (t *Table) Markdown() string { return t.fit(0).RenderMarkdown() }

// CSV renders the table as comma-separated values, with all columns. The text of a section would fill each cell of a line.
func (t *Table) CSV() string { return t.fit(0).RenderCSV() }

// fit returns the writer, set to a width (0 means no limit) and without the hidden columns.
func (t *Table) fit(width int, hidden ...int) table.Writer {
	configs := make([]table.ColumnConfig, len(t.columns))
	for i, c := range t.columns {
		configs[i] = table.ColumnConfig{Number: i + 1, Hidden: slices.Contains(hidden, i), WidthMax: c.Width}
		if c.Right {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
		if c.Fill && width > 0 {
			others := list.Sum(t.widths) - t.widths[i] + gap*(len(t.columns)-1)
			configs[i].WidthMax = max(leastFill, width-gap-others)
		}
		if configs[i].WidthMax > 0 {
			configs[i].WidthMaxEnforcer = text.WrapSoft
		}
		if c.Named {
			configs[i].WidthMaxEnforcer = hang
		}
	}
	t.writer.SetColumnConfigs(configs)
	return t.writer
}

// Width returns the number of terminal columns of the longest line.
func Width(lines string) int { return text.LongestLineLen(lines) }

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

// hang wraps a cell, between words where it can, and indents further lines.
func hang(cell string, width int) string {
	if Width(cell) <= width {
		return cell
	}
	return strings.ReplaceAll(text.WrapSoft(cell, width-gap), "\n", "\n"+strings.Repeat(" ", gap))
}
