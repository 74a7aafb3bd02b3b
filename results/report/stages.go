package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

func stageTable(rows []summary.Row) *table.Table {
	if !slices.ContainsFunc(rows, func(r summary.Row) bool { return len(r.Stages) > 0 }) {
		return nil
	}
	columns := stageColumns(rows[0])
	header := table.Left("variant", "stage", "load")
	oneCount := !slices.ContainsFunc(rows, func(r summary.Row) bool { return r.Clients != rows[0].Clients })
	if !oneCount {
		header = append(table.Right("clients"), header...)
	}
	t := table.New(append(header, list.Map(columns, column.header)...)...)
	for i, r := range rows {
		if i > 0 {
			t.Rule()
		}
		label := strings.TrimSpace(r.Variant + " " + r.Mark)
		var from time.Duration
		var before results.StageLoad
		for stage, load := range r.Repeats[0].Scenario.Stages {
			line := []any{label, fmt.Sprintf("%s to %s", from, from+load.For), loadText(load, before)}
			if !oneCount {
				line = append([]any{r.Clients}, line...)
			}
			r.Metrics = r.Stages[stage]
			t.Row(append(line, cells(r, columns)...)...)
			from, before = from+load.For, load
		}
	}
	return t
}

// loadText names the load of a stage that follows another one: "100/s", or "100 to 400/s" for a ramp.
func loadText(l, before results.StageLoad) string {
	unit := "/s"
	if l.Clients > 0 {
		unit = " " + table.Plural(l.Clients, "client")
	}
	if l.Ramp {
		return fmt.Sprintf("%d to %d%s", before.Level(), l.Level(), unit)
	}
	return fmt.Sprint(l.Level(), unit)
}

func stageColumns(r summary.Row) []column {
	phase, backlog := r.Repeats[0].Phases[0], []column(nil)
	if r.Rate > 0 {
		phase, backlog = results.ResponsePhase, []column{{1, metric.BacklogMax}}
	}
	return slices.Concat(
		[]column{{0, metric.OpsPerSecond}, {2, metric.Quantile(phase, 50)}, {0, metric.Quantile(phase, 99)}}, backlog,
		[]column{{3, metric.NotificationsPerOp}, {4, metric.HerdMax}})
}
