package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
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

// TrendFormats returns the formats of programs that draw metrics over commits.
func TrendFormats() []string { return []string{"benchmark-action", "bencher"} }

// WriteTrend writes the metrics that can be followed over commits, in one of [TrendFormats]. Less is better in all of them: they are counts
// of requests, writes and notifications, herds, and times in multiples of the floor, since those of two days cannot be compared. Left out
// are void and unfinished measurements, percentiles of too few samples, and times of the embedded server.
func WriteTrend(w io.Writer, format string, rows []summary.Row) error {
	points := slices.Concat(list.Map(rows, trendOf)...)
	if format == "bencher" {
		return table.WriteJSON(w, bencherMetrics(points))
	}
	return table.WriteJSON(w, list.Map(points, func(p trendPoint) map[string]any {
		return map[string]any{"name": p.subject + ", " + p.metric.Name, "unit": p.unit(), "value": table.Number(p.Value)}
	}))
}

type trendPoint struct {
	subject string // scenario, variant and load: the same in each run of them
	metric  metric.Descriptor
	metric.Aggregated
}

func (p trendPoint) unit() string {
	if p.metric.Kind == metric.KindMultiple {
		return "× floor"
	}
	return strings.TrimSuffix(p.metric.Name, "/op")
}

func trendOf(r summary.Row) (points []trendPoint) {
	if r.Void() || r.Unfinished() {
		return nil
	}
	subject := fmt.Sprintf("%s, %s, %d %s", r.Title(), r.Name(), r.Clients, table.Plural(r.Clients, "client"))
	for _, name := range Metrics([]summary.Row{r}) {
		if m := metric.Named(name); isInTrend(r, m) {
			points = append(points, trendPoint{subject, m, r.Metrics[name]})
		}
	}
	return points
}

func isInTrend(r summary.Row, m metric.Descriptor) bool {
	switch m.Kind {
	case metric.KindCount:
		return slices.Contains([]string{metric.RequestsPerOp, metric.WritesPerOp, metric.NotificationsPerOp, metric.HerdMax}, m.Name)
	case metric.KindMultiple:
		return m.Part != metric.BackgroundPart && !isEmbedded(r) && !r.Any(func(d *results.Document) bool { return metric.Rough(d, m.Name) })
	default:
		return false
	}
}

// bencherMetrics returns Bencher's metric format: measures by benchmark. A measure is named by its slug.
func bencherMetrics(points []trendPoint) map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, p := range points {
		if all[p.subject] == nil {
			all[p.subject] = map[string]any{}
		}
		all[p.subject][strings.ReplaceAll(p.metric.Name, "/", "-per-")] = map[string]any{
			"value": table.Number(p.Value), "lower_value": table.Number(p.Min), "upper_value": table.Number(p.Max),
		}
	}
	return all
}
