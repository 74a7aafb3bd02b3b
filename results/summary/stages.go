package summary

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/table"
)

// after names the load of a stage that follows another one: "100/s", or "100 to 400/s" for a ramp.
func after(l results.StageLoad, before results.StageLoad) string {
	unit := "/s"
	if l.Clients > 0 {
		unit = " " + table.Plural(l.Clients, "client")
	}
	if l.Ramp {
		return fmt.Sprintf("%d to %d%s", before.Level(), l.Level(), unit)
	}
	return fmt.Sprint(l.Level(), unit)
}

// StageRow summarizes the repeats of one stage.
type StageRow struct {
	From    time.Duration // since the window began
	To      time.Duration
	Load    string
	Metrics map[string]metric.Aggregated
}

// stageRows summarizes the stages of the repeats of one variant under one load.
func stageRows(group []*results.Document) []StageRow {
	var rows []StageRow
	var from time.Duration
	before := results.StageLoad{}
	for i, load := range group[0].Scenario.Stages {
		var repeats []*results.Document
		backsUp := false
		for _, d := range group {
			if i >= len(d.Stages) {
				continue // the measurement was interrupted before the stage
			}
			backsUp = backsUp || metric.BacksUp(d, d.Stages[i])
			if m, err := metric.OfStage(d, d.Stages[i]); err == nil {
				repeats = append(repeats, &results.Document{Metrics: m})
			}
		}
		row := StageRow{From: from, To: from + load.For, Load: after(load, before), Metrics: metric.Aggregate(repeats)}
		if backsUp {
			dropResponse(row.Metrics)
		}
		rows = append(rows, row)
		from, before = from+load.For, load
	}
	return rows
}
