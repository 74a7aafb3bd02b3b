package doubts

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/table"
)

// Progress says how much of an unfinished load was done, and the whole load's counts by the formulas. It is empty for a finished load.
func Progress(d *results.Document) string {
	u := d.Unfinished
	if u == nil {
		return ""
	}
	of := d.WholeLoad()
	if u.Breach != "" {
		done := ""
		if of > 0 {
			done = fmt.Sprintf("%s of %s operations, ", table.Grouped(u.Done), table.Grouped(of))
		}
		return fmt.Sprintf("%s %s%s notifications and %s requests", u.Breach, done, table.Grouped(u.Notifications), table.Grouped(u.Requests))
	}
	text := fmt.Sprintf("unfinished: did %s of %s operations in %s", table.Grouped(u.Done), table.Grouped(of), d.Scenario.AtMost)
	if whole := wholeByFormulas(d); whole != "" {
		text += "; by its formulas all of them cause " + whole
	}
	return text + fmt.Sprintf("; so far it was %s notifications and %s requests", table.Grouped(u.Notifications), table.Grouped(u.Requests))
}

// wholeByFormulas returns the counts of the whole load by the variant's formulas: upper bounds unless clients act one at a time.
func wholeByFormulas(d *results.Document) string {
	var parts []string
	for _, count := range []struct{ metric, noun string }{{metric.NotificationsPerOp, "notifications"}, {metric.RequestsPerOp, "requests"}} {
		if cost, ok := d.Expected.Costs[count.metric]; ok {
			total := int64(cost.Value*float64(d.WholeLoad())*float64(max(d.Batch, 1)) + 0.5)
			parts = append(parts, table.Grouped(total)+" "+count.noun)
		}
	}
	text := strings.Join(parts, " and ")
	if text != "" && d.Scenario.Mode != results.LockstepMode {
		text = "up to " + text
	}
	return text
}
