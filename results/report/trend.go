package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

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
