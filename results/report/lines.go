package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/paired"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

func notes(rows []summary.Row) []string {
	s, lines := rows[0].Repeats[0].Scenario, floorLine(rows)
	if slices.ContainsFunc(rows, func(r summary.Row) bool { return r.Any((*results.Document).BeyondCapacity) }) {
		lines = append(lines, beyond+": the rate is beyond the capacity of so many clients. Arrivals waited for a client during the whole "+
			"second half of the window, or were not served within its length after it, so that their response times grow with its length.")
	}
	if s.Background != nil {
		lines = append(lines, fmt.Sprintf("background (bg): %s; ×alone: in multiples of the same before the load", s.Background))
	}
	if s.Faulty() {
		text := fmt.Sprintf("faults: %s; counts contain recoveries, so that they are not compared with formulas", results.FaultsText(s.Faults))
		if slices.ContainsFunc(rows, func(r summary.Row) bool { return r.AtLeast(metric.RecoveryMax) }) {
			text += "; ≥: the load ended before a recovery"
		}
		lines = append(lines, text)
	}
	return lines
}

// spreadMark is the ratio between the extremes of a table's floors beyond which the table shows the extremes.
const spreadMark = 1.5

// floorLine describes the floor of a table's measurements, such as "floor, on the idle ensemble: write 1.10 ms, handoff
// 1.30 ms (1.10 ms to 3.40 ms)"; it returns nil if no measurement has a floor.
func floorLine(rows []summary.Row) []string {
	var parts []string
	for _, operation := range metric.FloorOperations() {
		if text := floorOf(rows, metric.Floor(operation)); text != "" {
			parts = append(parts, operation+" "+text)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"floor, on the idle ensemble: " + strings.Join(parts, ", ")}
}

// floorOf returns the median of the rows' floors, with the extremes if these are far apart.
func floorOf(rows []summary.Row, metric string) string {
	var medians, all []float64
	for _, r := range rows {
		if m, measured := r.Metrics[metric]; measured {
			medians = append(medians, m.Value)
			all = append(all, m.Min, m.Max)
		}
	}
	if len(medians) == 0 {
		return ""
	}
	slices.Sort(medians)
	least, most := slices.Min(all), slices.Max(all)
	if most <= spreadMark*least {
		return table.Latency(paired.Median(medians))
	}
	return fmt.Sprintf("%s (%s to %s)", table.Latency(paired.Median(medians)), table.Latency(least), table.Latency(most))
}
