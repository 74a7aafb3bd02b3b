package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

// WriteMarkdown writes the tables of the scenarios, with all their columns.
func WriteMarkdown(w io.Writer, rows []summary.Row) {
	for _, rows := range byScenario(rows) {
		fmt.Fprintf(w, "**%s**\n\n%s\n\n", table.Escaped(heading(rows)), tableOf(rows).Markdown())
	}
}

// WriteCSV writes a line for each row, for scripts and notebooks. Metrics have their names and units, and are empty where a row has none.
func WriteCSV(w io.Writer, rows []summary.Row) {
	metrics := Metrics(rows)
	names := append([]string{
		"scenario", "recipe", "variant", "kind", "engine", "size", "clients", "rate", "background", "faults", "repeats", "mark", "doubts",
		"tags",
	}, metrics...)
	t := table.New(table.Left(names...)...)
	for _, r := range rows {
		record := recordOf(r, metrics)
		t.Row(list.Map(names, func(name string) any {
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
	fmt.Fprintln(w, t.CSV())
}

// WriteJSON writes a list with an object for each row. Its members are the columns of [WriteCSV]; a metric that a row lacks is null.
func WriteJSON(w io.Writer, rows []summary.Row) error {
	metrics := Metrics(rows)
	return table.WriteJSON(w, list.Map(rows, func(r summary.Row) map[string]any { return recordOf(r, metrics) }))
}

// Metrics returns the names of the metrics that at least one row has, sorted.
func Metrics(rows []summary.Row) []string {
	return list.Distinct(slices.Concat(list.Map(rows, func(r summary.Row) []string { return slices.Collect(maps.Keys(r.Metrics)) })...))
}

func recordOf(r summary.Row, metrics []string) map[string]any {
	d := r.Repeats[0]
	record := map[string]any{
		"scenario": r.Scenario, "recipe": r.Recipe, "variant": r.Variant, "kind": r.Kind, "engine": d.Environment.Engine,
		"size": r.Size, "clients": r.Clients, "rate": float64(r.Rate), "background": d.Scenario.Background.String(),
		"faults": append([]string{}, list.Map(d.Scenario.Faults, results.FaultLoad.String)...), "repeats": len(r.Repeats), "mark": r.Mark,
		"doubts": append([]string{}, r.Warnings...), "tags": append([]string{}, results.TagsOf(r.Repeats)...),
	}
	for _, name := range metrics {
		record[name] = nil
		if m, ok := r.Metrics[name]; ok {
			record[name] = table.Number(m.Value)
		}
	}
	return record
}
