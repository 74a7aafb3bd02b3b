package results

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
)

// How many disturbances are printed of one measurement's servers, and of a whole run; the documents have all.
const (
	serversNamed        = 4
	disturbancesPrinted = 6
)

// finding is a sentence with the time that it is about.
type finding struct {
	text string
	took time.Duration
}

func texts(findings []finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.text)
	}
	return out
}

// disturbances returns what servers did that made times longer, the longest first, and then the stalls, which are what
// it may have caused.
func (d *Document) disturbances() []finding {
	var found []finding
	for i, s := range d.Servers {
		found = append(found, s.away()...)
		found = append(found, d.stoodStill(i)...)
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

// writeDisturbances prints the disturbances of the measurements that had the longest ones, and how many others there were.
// Each is different by its numbers: a run on a busy machine would print a page of them.
func writeDisturbances(w io.Writer, docs []*Document) {
	longest := func(d *Document) time.Duration {
		var took time.Duration
		for _, f := range d.disturbances() {
			took = max(took, f.took)
		}
		return took
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

// otherWarnings returns the warnings that writeDisturbances leaves out.
func (d *Document) otherWarnings() []string {
	printed := texts(d.disturbances())
	return slices.DeleteFunc(slices.Clone(d.Warnings), func(w string) bool { return slices.Contains(printed, w) })
}
