package results

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/table"
)

// WriteMarkdown writes the tables of the scenarios, with all their columns.
func (s Summary) WriteMarkdown(w io.Writer) error {
	for _, rows := range s.byScenario() {
		if _, err := fmt.Fprintf(w, "**%s**\n\n%s\n\n", heading(rows), tableOf(rows).Markdown()); err != nil {
			return err
		}
	}
	return nil
}

// WriteCSV writes a line for each row, for scripts and notebooks. Metrics have their names and units, and are empty where a row has none.
func (s Summary) WriteCSV(w io.Writer) error {
	names := s.fields()
	t := table.New(table.Left(names...)...)
	for _, r := range s.Rows {
		record := r.record()
		t.Row(Map(names, func(name string) any {
			switch v := record[name].(type) {
			case nil:
				return ""
			case []string:
				return strings.Join(v, "; ")
			default:
				return fmt.Sprint(v)
			}
		})...)
	}
	_, err := fmt.Fprintln(w, t.CSV())
	return err
}

// WriteJSON writes a list with an object for each row. Its members are the columns of [Summary.WriteCSV]; a metric that a row lacks
// is null.
func (s Summary) WriteJSON(w io.Writer) error {
	names := s.fields()
	return table.WriteJSON(w, Map(s.Rows, func(r Row) map[string]any {
		record := r.record()
		for _, name := range names {
			if _, ok := record[name]; !ok {
				record[name] = nil
			}
		}
		return record
	}))
}

// fields returns the names in records: what a row is about, and the metrics that any row has.
func (s Summary) fields() []string {
	return append([]string{
		"scenario", "recipe", "variant", "kind", "engine", "size", "clients", "rate", "background", "faults", "repeats", "mark", "doubts",
	}, s.Metrics()...)
}

// Metrics returns the metrics that any row has, sorted.
func (s Summary) Metrics() []string {
	return Distinct(slices.Concat(Map(s.Rows, func(r Row) []string { return slices.Collect(maps.Keys(r.Metrics)) })...))
}

// record returns the row as scripts read it. Doubts are what speaks against its numbers; its mark is the gravest.
func (r Row) record() map[string]any {
	record := map[string]any{
		"scenario": r.Scenario, "recipe": r.Recipe, "variant": r.Variant, "kind": r.Kind, "engine": r.Engine,
		"size": r.Size, "clients": r.Clients, "rate": r.Rate, "background": r.Background,
		"faults": append([]string{}, Map(r.Faults, FaultLoad.String)...), "repeats": r.Repeats, "mark": r.Mark,
		"doubts": append([]string{}, r.Warnings...),
	}
	for name, m := range r.Metrics {
		record[name] = Number(m.Value)
	}
	return record
}
