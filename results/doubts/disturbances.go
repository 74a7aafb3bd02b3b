package doubts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// serversNamed is how many disturbances of the servers in one measurement are named; the servers' reports in the document have all.
const serversNamed = 4

// Finding is a sentence about a delay.
type Finding struct {
	Text string
	Took time.Duration
}

// Disturbances returns the servers' pauses, slow reads and slow disks, the longest first, and then the stalls, which these may
// have caused. It leaves out those that the scenario's own faults explain.
func Disturbances(d *results.Document) []Finding {
	if d.EndedByBreach() {
		return nil // times are not used
	}
	var found []Finding
	for i, s := range d.Servers {
		if !explains(d.Scenario, ofServer) {
			found = slices.Concat(found, away(s), stoodStill(d, i))
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

// OtherWarnings returns the warnings that are not disturbances.
func OtherWarnings(d *results.Document) []string {
	disturbances := list.Map(Disturbances(d), func(f Finding) string { return f.Text })
	return list.Where(d.Warnings, func(warning string) bool { return !slices.Contains(disturbances, warning) })
}

// stalled returns a sentence about the longest stall and the number of the others; none without stalls. Those after a fault are left out.
func stalled(d *results.Document) []Finding {
	stalls := list.Where(d.Stalls, func(s results.Stall) bool { return !s.AfterFault })
	if len(stalls) == 0 {
		return nil
	}
	longest := slices.MaxFunc(stalls, func(a, b results.Stall) int { return cmp.Compare(a.Length, b.Length) })
	text := fmt.Sprintf("no operation completed for %s, from %s into the window", show(longest.Length), show(longest.Start))
	if meanwhile := meanwhile(d, longest); meanwhile != "" {
		text += " (" + meanwhile + ")"
	}
	if others := len(stalls) - 1; others > 0 {
		total := list.Sum(list.Map(stalls, func(s results.Stall) time.Duration { return s.Length }))
		text += fmt.Sprintf(", nor in %d other %s: %s in all", others, table.Plural(others, "stall"), show(total))
	}
	return []Finding{{text, longest.Length}}
}

// meanwhile names the servers on which reads were slow during a stall, the slowest first, or says that there were none.
func meanwhile(d *results.Document, s results.Stall) string {
	at := d.Window.Start + s.Start
	if slices.ContainsFunc(d.Health.StoodStill, func(o results.Standstill) bool { return o.Start < at+s.Length && at < o.Start+o.Length }) {
		return "meanwhile zkbench stood still"
	}
	if len(s.SlowestReads) == 0 {
		return ""
	}
	byLength := func(a, b results.ServerRead) int { return cmp.Compare(b.Longest, a.Longest) }
	reads := slices.SortedStableFunc(slices.Values(s.SlowestReads), byLength)
	slowest := reads[0].Longest
	if slowest < slowRead {
		return fmt.Sprintf("meanwhile no read took longer than %s on any server", show(slowest))
	}
	var slow []string
	for _, r := range reads {
		if 2*r.Longest >= slowest {
			name := fmt.Sprintf("server %d", r.Server)
			if i := slices.IndexFunc(d.Servers, func(s results.ServerReport) bool { return s.Server == r.Server }); i >= 0 {
				name = d.Servers[i].Name
			}
			slow = append(slow, fmt.Sprintf("%s on %s", show(r.Longest), name))
		}
	}
	return "meanwhile reads took up to " + strings.Join(slow, ", ")
}

func show(t time.Duration) string {
	switch {
	case t >= time.Second:
		return t.Round(10 * time.Millisecond).String()
	case t >= 10*time.Millisecond:
		return t.Round(time.Millisecond).String()
	default:
		return t.Round(10 * time.Microsecond).String()
	}
}
