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
}

// Left returns columns with these titles, without further settings.
func Left(titles ...string) []Column {
	columns := make([]Column, len(titles))
	for i, title := range titles {
		columns[i].Title = title
	}
	return columns
}

// Right returns columns with these titles that are aligned to the right.
func Right(titles ...string) []Column {
	columns := Left(titles...)
	for i := range columns {
		columns[i].Right = true
	}
	return columns
}

// Table is a header and rows. Make one with [New].
type Table struct {
	columns []Column
	rows    []row
}

type row struct {
	cells   []any
	section string
	rule    bool
}

// New returns a table without rows.
func New(columns ...Column) *Table { return &Table{columns: columns} }

// Row appends a line with one cell for each column.
func (t *Table) Row(cells ...any) { t.rows = append(t.rows, row{cells: cells}) }

// Section appends a line whose text spans all columns.
func (t *Table) Section(text string) { t.rows = append(t.rows, row{section: text}) }

// Rule appends a horizontal line.
func (t *Table) Rule() { t.rows = append(t.rows, row{rule: true}) }

// String renders the table for a terminal of unlimited width.
func (t *Table) String() string {
	return t.writer(t.indices(), 0).Render()
}

// Text renders the table for a terminal with width columns. It drops the columns with the largest Need, one at a time,
// until the table fits, and returns their titles.
func (t *Table) Text(width int) (rendered string, dropped []string) {
	kept := t.indices()
	for {
		rendered = t.writer(kept, width).Render()
		if Width(rendered) <= width || len(kept) == 0 {
			return rendered, dropped
		}
		most := slices.MaxFunc(kept, func(a, b int) int { return t.columns[a].Need - t.columns[b].Need })
		if t.columns[most].Need == 0 {
			return rendered, dropped
		}
		dropped = append(dropped, t.columns[most].Title)
		kept = slices.DeleteFunc(kept, func(i int) bool { return i == most })
	}
}

// Markdown renders the table in Markdown, with all columns.
func (t *Table) Markdown() string { return t.writer(t.indices(), 0).RenderMarkdown() }

// CSV renders the table as comma-separated values, with all columns. It is meant for tables without sections, whose text would
// fill each cell of a line.
func (t *Table) CSV() string { return t.writer(t.indices(), 0).RenderCSV() }

func (t *Table) indices() []int {
	out := make([]int, len(t.columns))
	for i := range out {
		out[i] = i
	}
	return out
}

func (t *Table) writer(kept []int, width int) table.Writer {
	w := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.Options{SeparateHeader: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gap)
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	header := make(table.Row, len(kept))
	configs := make([]table.ColumnConfig, len(kept))
	for i, column := range kept {
		header[i] = t.columns[column].Title
		configs[i] = t.config(column, width)
		configs[i].Number = i + 1
	}
	w.AppendHeader(header)
	w.SetColumnConfigs(configs)
	for _, r := range t.rows {
		t.append(w, r, kept)
	}
	return w
}

func (t *Table) append(w table.Writer, r row, kept []int) {
	if r.rule {
		w.AppendSeparator()
		return
	}
	line := make(table.Row, len(kept))
	for i, column := range kept {
		if r.cells == nil {
			line[i] = r.section
		} else {
			line[i] = r.cells[column]
		}
	}
	w.AppendRow(line, table.RowConfig{AutoMerge: r.cells == nil, AutoMergeAlign: text.AlignLeft})
}

func (t *Table) config(column, width int) table.ColumnConfig {
	c := t.columns[column]
	out := table.ColumnConfig{WidthMax: c.Width}
	if c.Right {
		out.Align, out.AlignHeader = text.AlignRight, text.AlignRight
	}
	if c.Fill && width > 0 {
		out.WidthMax = max(leastFill, width-gap-t.widthBeside(column))
	}
	if out.WidthMax > 0 {
		out.WidthMaxEnforcer = text.WrapSoft
	}
	return out
}

func (t *Table) widthBeside(column int) int {
	sum := 0
	for i, c := range t.columns {
		if i == column {
			continue
		}
		widest := Width(c.Title)
		for _, r := range t.rows {
			if r.cells != nil {
				widest = max(widest, Width(fmt.Sprint(r.cells[i])))
			}
		}
		sum += widest + gap
	}
	return sum
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
