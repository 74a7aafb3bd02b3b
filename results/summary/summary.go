// Package summary combines the repeats of a measurement: one row for each variant under one load.
//
// It takes one position: a number that stands for several repeats comes with the doubts about each of them.
package summary

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
)

// Row summarizes the repeats of one variant under one load.
type Row struct {
	grouping.Key
	Repeats  []*results.Document // their scenarios and conditions are the same
	Metrics  map[string]metric.Aggregated
	Warnings []string                       // reasons why the numbers must not be used begin with "invalid: "
	Mark     string                         // see [doubts.Mark]
	Stages   []map[string]metric.Aggregated // the metrics of each stage of the scenario
}

// Of returns one row for each group of repeats. If a repeat was not finished, only the fast ones were: the row then has only
// the metrics [metric.Finished] and [metric.Violations]. If a repeat was beyond the capacity, the row has no response times,
// because the other repeats do not show how long a user would wait.
func Of(docs []*results.Document) (rows []Row) {
	for _, group := range grouping.Repeats(docs) {
		row := Row{
			Key: grouping.KeyOf(group[0]), Repeats: group, Metrics: metric.Aggregate(group), Mark: doubts.Mark(group), Stages: stages(group),
			Warnings: doubts.Deviating(group),
		}
		for _, d := range group {
			row.Warnings = list.AppendNew(row.Warnings, list.Map(d.Invalid, func(reason string) string { return "invalid: " + reason })...)
			row.Warnings = list.AppendNew(row.Warnings, d.Warnings...)
		}
		if row.Any((*results.Document).BeyondCapacity) {
			dropResponse(row.Metrics)
		}
		if row.Unfinished() {
			maps.DeleteFunc(row.Metrics, func(name string, _ metric.Aggregated) bool {
				return name != metric.Finished && name != metric.Violations
			})
		}
		rows = append(rows, row)
	}
	return rows
}

// stages returns the metrics of each stage, over the measurements that were not interrupted before it.
func stages(group []*results.Document) (out []map[string]metric.Aggregated) {
	for i := range group[0].Scenario.Stages {
		begun := list.Where(group, func(d *results.Document) bool { return i < len(d.Stages) })
		out = append(out, metric.Aggregate(list.Map(begun, func(d *results.Document) *results.Document {
			return &results.Document{Metrics: metric.OfStage(d, d.Stages[i])}
		})))
		if slices.ContainsFunc(begun, func(d *results.Document) bool { return metric.BacksUp(d, d.Stages[i]) }) {
			dropResponse(out[i])
		}
	}
	return out
}

func dropResponse(metrics map[string]metric.Aggregated) {
	maps.DeleteFunc(metrics, func(name string, _ metric.Aggregated) bool { return metric.Named(name).Responds() })
}

// Any reports whether is returns true for at least one of the repeats.
func (r Row) Any(is func(*results.Document) bool) bool { return slices.ContainsFunc(r.Repeats, is) }

// Void reports whether the row's numbers must not be used as they are. Counts that deviate from a formula may be used.
func (r Row) Void() bool { return r.Mark != "" && r.Mark != doubts.DeviatesMark }

// Unfinished reports whether a repeat was ended before its load was done.
func (r Row) Unfinished() bool {
	return r.Any(func(d *results.Document) bool { return d.Unfinished != nil })
}

// AtLeast reports whether the true value of a metric may be larger, because the load of a repeat ended before a recovery did.
func (r Row) AtLeast(name string) bool {
	return r.Any(func(d *results.Document) bool { return metric.AtLeast(d, name) })
}

// MostClients returns the largest number of clients of any row; 0 without rows. Claims are about this number unless they name another.
func MostClients(rows []Row) int {
	return list.Largest(list.Map(rows, func(r Row) int { return r.Clients }))
}

// HighestRate returns the largest rate of any row; 0 without open loads.
func HighestRate(rows []Row) results.Rate {
	return list.Largest(list.Map(rows, func(r Row) results.Rate { return r.Rate }))
}
