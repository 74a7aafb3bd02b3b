package report

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

// stageTable returns the table of the stages of one scenario's rows; nil if the load has none.
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
	for _, c := range columns {
		header = append(header, c.header())
	}
	t := table.New(header...)
	for i, r := range rows {
		if i > 0 {
			t.Rule()
		}
		label := r.Variant + mark(r)
		for _, s := range r.Stages {
			line := []any{label, fmt.Sprintf("%s to %s", s.From, s.To), s.Load}
			if !oneCount {
				line = append([]any{r.Clients}, line...)
			}
			r.Metrics = s.Metrics
			for _, c := range columns {
				line = append(line, Show(r, c.metric))
			}
			t.Row(line...)
		}
	}
	return t
}

// stageColumns returns the columns of a table of stages. An open load has response times and a backlog.
func stageColumns(r summary.Row) []column {
	phase := r.Phases[0]
	columns := []column{{0, metric.OpsPerSecond}}
	if r.Rate > 0 {
		phase = results.ResponsePhase
	}
	columns = append(columns,
		column{2, metric.Quantile(phase, 50)},
		column{0, metric.Quantile(phase, 99)})
	if r.Rate > 0 {
		columns = append(columns, column{1, metric.BacklogMax})
	}
	return append(columns,
		column{3, metric.NotificationsPerOp},
		column{4, metric.HerdMax})
}
