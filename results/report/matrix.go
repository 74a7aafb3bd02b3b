package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/table"
)

// WriteMatrix prints how each variant reacts to each fault, one measurement in each cell, in at most width columns: as several tables
// if the faults do not fit into one. docs has the documents by fault. Without any, it prints nothing.
func WriteMatrix(w io.Writer, width int, faults []string, docs map[string][]*results.Document) {
	m := matrix{}
	for _, fault := range faults {
		for _, d := range docs[fault] {
			variant := d.Recipe + "/" + d.Variant
			if m[variant] == nil {
				m[variant] = map[string]string{}
			}
			m[variant][fault] = cellOf(d)
		}
	}
	if len(m) == 0 {
		return
	}
	const legend = "The longest recovery from each fault, and what was lost. BROKEN: a promise was broken. none: no other client completed " +
		"an operation any more. missed: no client was in the state that the fault needs. –: the fault does not apply."
	fmt.Fprintln(w, table.Wrap(legend, width))
	for left := list.Where(faults, func(fault string) bool { return len(docs[fault]) > 0 }); len(left) > 0; {
		n := len(left)
		for n > 1 && table.Width(m.table(left[:n]).String()) > width {
			n--
		}
		fmt.Fprintf(w, "\n%s\n", m.table(left[:n]))
		left = left[n:]
	}
}

type matrix map[string]map[string]string // cells by variant and fault

// cellOf describes a measurement with faults: the mark of numbers that must not be used, or the longest recovery, and the losses.
func cellOf(d *results.Document) string {
	f := d.Failure
	parts := []string{doubts.Mark([]*results.Document{d})}
	switch {
	case f == nil && parts[0] != "":
		return parts[0]
	case parts[0] != "":
	case f == nil || len(f.Faults) == 0:
		return "missed"
	case f.Unrecovered > 0:
		parts[0] = "none"
	default:
		longest := slices.MaxFunc(f.Faults, func(a, b results.Fault) int { return int(a.Recovery - b.Recovery) })
		parts[0] = table.Latency(float64(longest.Recovery))
	}
	for _, m := range metric.Losses() {
		n := f.Losses[m.Loss]
		shown := fmt.Sprint(n)
		if m.Kind == metric.KindTime {
			shown = m.Format(float64(n))
		}
		if n > 0 {
			parts = append(parts, shown+" "+strings.TrimSuffix(m.Head, "/op"))
		}
	}
	return strings.Join(parts, ", ")
}

// table returns some of the columns, without variants that have no measurement there.
func (m matrix) table(faults []string) *table.Table {
	t := table.New(append(table.Left("variant"), table.Right(faults...)...)...)
	recipe := ""
	for _, variant := range slices.Sorted(maps.Keys(m)) {
		row := m[variant]
		if !slices.ContainsFunc(faults, func(fault string) bool { return row[fault] != "" }) {
			continue
		}
		if of, _, _ := strings.Cut(variant, "/"); of != recipe {
			if recipe != "" {
				t.Rule()
			}
			recipe = of
		}
		cells := list.Map(faults, func(fault string) any { return cmp.Or(row[fault], table.Missing) })
		t.Row(append([]any{variant}, cells...)...)
	}
	return t
}
