package results

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
)

// Only the longest disturbances are printed; the servers' reports in the documents have all of them.
const (
	serversNamed        = 4 // disturbances of the servers in one measurement
	disturbancesPrinted = 6 // disturbances of all measurements together
)

// finding is a sentence about something that took a while.
type finding struct {
	text string
	took time.Duration
}

func texts(findings []finding) []string {
	return Map(findings, func(f finding) string { return f.text })
}

// disturbances returns the servers' pauses, slow reads and slow disks, the longest first, and then the stalls, which these
// may have caused. It leaves out what faults that were asked for explain.
func (d *Document) disturbances() []finding {
	if d.EndedByBreach() {
		return nil // there are no times to doubt
	}
	var found []finding
	for i, s := range d.Servers {
		if !d.Scenario.explains(restart) {
			found = append(found, s.away()...)
		}
		if !d.Scenario.explains(standstill) {
			found = append(found, d.stoodStill(i)...)
		}
		found = append(found, d.diskOf(s)...)
	}
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(b.took, a.took) })
	if more := len(found) - serversNamed; more > 0 {
		found = append(found[:serversNamed], finding{
			text: fmt.Sprintf("servers gave %d more %s to doubt times: see their reports in the result's file", more, Plural(more, "reason")),
		})
	}
	return append(found, d.stalled()...)
}

// writeDisturbances prints the disturbances of the measurements with the longest ones, and the number of the others. Each
// has its own numbers, so that a run on a busy machine would fill a page.
func writeDisturbances(w io.Writer, docs []*Document) {
	longest := func(d *Document) time.Duration {
		return Largest(Map(d.disturbances(), func(f finding) time.Duration { return f.took }))
	}
	sorted := slices.SortedStableFunc(slices.Values(docs), func(a, b *Document) int { return cmp.Compare(longest(b), longest(a)) })
	var printed, left, affected int
	for _, d := range sorted {
		found := d.disturbances()
		if printed+len(found) > disturbancesPrinted && printed > 0 {
			left, affected = left+len(found), affected+min(len(found), 1)
			continue
		}
		for _, f := range found {
			fmt.Fprintf(w, "warning: %s (%s)\n", f.text, d.label())
		}
		printed += len(found)
	}
	if left > 0 {
		fmt.Fprintf(w, "warning: %d shorter %s of this kind in %d other %s: see the results' files\n",
			left, Plural(left, "disturbance"), affected, Plural(affected, "measurement"))
	}
}

// otherWarnings returns the warnings that are no disturbances.
func (d *Document) otherWarnings() []string {
	printed := texts(d.disturbances())
	return slices.DeleteFunc(slices.Clone(d.Warnings), func(w string) bool { return slices.Contains(printed, w) })
}
