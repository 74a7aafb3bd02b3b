package doubts

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// serversNamed is how many disturbances of the servers in one measurement are named; the servers' reports in the document have all.
const serversNamed = 4

// Finding is a sentence about something that took a while.
type Finding struct {
	Text string
	Took time.Duration
}

func texts(findings []Finding) []string {
	return list.Map(findings, func(f Finding) string { return f.Text })
}

// Disturbances returns the servers' pauses, slow reads and slow disks, the longest first, and then the stalls, which these
// may have caused. It leaves out what faults that were asked for explain.
func Disturbances(d *results.Document) []Finding {
	if d.EndedByBreach() {
		return nil // there are no times to doubt
	}
	var found []Finding
	for i, s := range d.Servers {
		if !explains(d.Scenario, restart) {
			found = append(found, away(s)...)
		}
		if !explains(d.Scenario, standstill) {
			found = append(found, stoodStill(d, i)...)
		}
		found = append(found, diskOf(d, s)...)
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.Took, a.Took) })
	if more := len(found) - serversNamed; more > 0 {
		found = append(found[:serversNamed], Finding{
			Text: fmt.Sprintf("servers gave %d more %s to doubt times: see their reports in the result's file", more, table.Plural(more, "reason")),
		})
	}
	return append(found, stalled(d)...)
}

// OtherWarnings returns the warnings that are no disturbances.
func OtherWarnings(d *results.Document) []string {
	printed := texts(Disturbances(d))
	return slices.DeleteFunc(slices.Clone(d.Warnings), func(w string) bool { return slices.Contains(printed, w) })
}
