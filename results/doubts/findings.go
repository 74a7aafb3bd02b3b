// Package doubts finds what speaks against the numbers of a measurement: why they must not be used, and what makes them less certain.
//
// It takes one position: doubts follow from the facts in a document. A reader finds them again and need not trust those that the document
// lists.
package doubts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/table"
)

// Findings lists what the facts in a document say against its numbers.
type Findings struct {
	Invalid  []string // reasons why the numbers must not be used
	Warnings []string // doubts about them
}

// Of evaluates counts, histograms, oracle, health, heap, floor and window. It ignores the findings that the document
// contains, so that a reader, which need not trust these, comes to the same findings as the runner.
func Of(d *results.Document) Findings {
	return Findings{Invalid: invalidReasons(d), Warnings: warnings(d)}
}

// invalidReasons returns the reasons why the numbers must not be used.
func invalidReasons(d *results.Document) []string {
	f := Findings{Invalid: slices.Concat(droppedLatencies(d), compareWithFormulas(d).Invalid)}
	h, o := d.Health, d.Oracle
	saturated := backgroundSaturates(d)
	f.invalid(saturated != "", "%s", saturated)
	f.invalid(saturated == "" && d.Window.Operations == 0 && d.Unfinished == nil, "no operation was completed in the window: lengthen the duration")
	f.invalid(o.Checked && !o.NotificationsAgree(),
		"clients received %d notifications, servers sent %d: %+d", o.Sent(), o.ServerNotifications, o.Sent()-o.ServerNotifications)
	f.invalid(o.Checked && !o.TransactionsAgree(),
		"%s sent %d writes, servers made %d transactions: %+d", writers(o), o.Made(), o.ServerTransactions, o.Made()-o.ServerTransactions)
	late, tooLate := lateness(d)
	f.invalid(tooLate, "%s", late)
	f.invalid(h.UnmatchedReplies > 0, "the wire decoder could not match %d replies with requests", h.UnmatchedReplies)
	f.Invalid = append(f.Invalid, outages(d, false)...)
	f.invalid(d.Failure != nil && len(d.Failure.Faults) == 0, "no fault happened in the window: %d met no victim", missed(d))
	return f.Invalid
}

// warnings returns the doubts about the numbers. It is slower than invalidReasons, because it decodes the floor's
// histograms.
func warnings(d *results.Document) []string {
	if d.Unfinished != nil {
		return nil // there are no numbers to doubt
	}
	f := Findings{Warnings: compareWithFormulas(d).Warnings}
	f.warn(d.Partial, "the measurement was interrupted after %s of %s: waits that had not ended, and losses that only the end shows, are not counted",
		d.Window.Length().Round(time.Second), d.Scenario.Duration)
	if d.Heap != nil {
		f.warnOfHeap(d.Heap)
	}
	if d.Floor != nil {
		f.warnOfFloor(d)
	}
	f.warn(!d.Oracle.Checked && (!d.Health.LeaderChanged || explains(d.Scenario, leaderChange)), "no second oracle: %s", d.Oracle.Why)
	f.Warnings = append(f.Warnings, Delayed(d)...)
	late, tooLate := lateness(d)
	f.warn(unserved(d) > 0, "%d of the window's arrivals were not served: the true response times are longer", unserved(d))
	f.warn(late != "" && !tooLate, "%s", late)
	behind := backgroundFallsBehind(d)
	f.warn(behind != "", "%s", behind)
	f.warnOfFaults(d)
	f.warnOfHerds(d)
	f.warnOfTrends(d)
	f.warn(d.Starves(), "clients starve: when the window ended, many had been waiting for longer than the p99, which does not contain these waits")
	return f.Warnings
}

func (f *Findings) invalid(cond bool, format string, args ...any) {
	if cond {
		f.Invalid = append(f.Invalid, fmt.Sprintf(format, args...))
	}
}

func (f *Findings) warn(cond bool, format string, args ...any) {
	if cond {
		f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
	}
}

// warnOfHeap reports that the heap was not measured, or that it grew too little.
func (f *Findings) warnOfHeap(h *results.Heap) {
	f.warn(h.Why != "", "the heaps were not measured: %s", h.Why)
	growth, uncertainty := h.Growth()
	_, known := h.PerWatch()
	f.warn(h.Why == "" && !known, "the heaps grew by %d bytes for %d watches, give or take %d bytes: too little to compute the heap of a watch",
		growth, h.Watches, uncertainty)
}

// warnOfFloor reports that the floor was not measured, or that it changed during the load. It ignores changes on the
// embedded server, which has neither a disk nor a quorum.
func (f *Findings) warnOfFloor(d *results.Document) {
	f.warn(d.Floor.Why != "", "the floor was not measured: %s", d.Floor.Why)
	moved := Moved(d.Floor)
	f.warn(moved != "" && d.Environment.Engine != results.Embedded, "the machine changed its speed: %s", moved)
}

// warnOfHerds reports that herds are guessed, or that notifications are missing in them.
func (f *Findings) warnOfHerds(d *results.Document) {
	servers := "servers of an unknown version"
	if version := d.Environment.ZooKeeper; version != "" {
		servers = "ZooKeeper " + version
	}
	f.warn(metric.Guessed(d, metric.HerdMax), "herds are grouped by %s: notifications of %s do not name the transaction that caused them, as those of 3.9 and later do",
		d.Herd.Grouping, servers)
	f.warn(d.Herd.Ungrouped > 0, "%d notifications are in no herd: they were sent again after a reconnect and do not name the transaction that caused them",
		d.Herd.Ungrouped)
}

// warnOfFaults reports what the faults explain, and faults that did not happen or whose recovery was not seen.
func (f *Findings) warnOfFaults(d *results.Document) {
	if d.Failure == nil {
		return
	}
	explained := outages(d, true)
	f.warn(len(explained) > 0, "the faults explain this: %s", strings.Join(explained, "; "))
	f.warn(d.Failure.Missed > 0 && len(d.Failure.Faults) > 0, "%d %s met no victim", d.Failure.Missed, table.Plural(int(d.Failure.Missed), "fault"))
	f.warn(d.Failure.Unrecovered > 0, "after %d %s no other client completed an operation before the load ended: the true times until a recovery are longer",
		d.Failure.Unrecovered, table.Plural(int(d.Failure.Unrecovered), "fault"))
}

// droppedLatencies returns a reason for each histogram that does not contain all latencies.
func droppedLatencies(d *results.Document) []string {
	var out []string
	for _, phase := range slices.Sorted(maps.Keys(d.Histograms)) {
		if n := d.Histograms[phase].Dropped; n > 0 {
			out = append(out, fmt.Sprintf("%d %s latencies were over an hour", n, phase))
		}
	}
	if d.Failure != nil && d.Failure.Recovery.Dropped > 0 {
		out = append(out, fmt.Sprintf("%d recoveries took over an hour", d.Failure.Recovery.Dropped))
	}
	return out
}

// compareWithFormulas compares the counts with the variant's formulas. A deviation from an exact formula makes the numbers
// invalid: the run was disturbed, or the formula is wrong. A count above its upper bound is a warning. Counts of a load with faults
// are not compared, because a recovery costs more than the operations of the formulas.
func compareWithFormulas(d *results.Document) Findings {
	var f Findings
	if d.Scenario.Faulty() {
		return f
	}
	for _, name := range metric.WithFormula() {
		cost, stated := d.Expected.Costs[name]
		m, measured := d.Metrics[name]
		if !stated || !measured || metric.Guessed(d, name) {
			continue
		}
		f.invalid(d.CountsExactly() && metric.AgainstCount(d, name, cost.Value) != 0,
			"%s is %.6g, but %s = %.6g by the variant's formula", name, m.Value, cost.Formula, cost.Value)
		f.warn(!d.CountsExactly() && metric.Exceeds(d, name, cost.Value),
			"%s is %.4g, over the variant's bound of %.4g (%s)", name, m.Value, cost.Value, cost.Formula)
	}
	return f
}

// EqualsFormulas reports whether the formulas are exact and each count equals its formula.
func EqualsFormulas(d *results.Document) bool {
	return d.CountsExactly() && len(d.Expected.Costs) > 0 && len(compareWithFormulas(d).Invalid) == 0
}

// Add adds the findings to the document: the last step of a measurement.
func Add(d *results.Document) {
	f := Of(d)
	d.Invalid = append(d.Invalid, f.Invalid...)
	d.Warnings = append(d.Warnings, f.Warnings...)
}

// Void returns the reasons why the numbers must not be used: those in Invalid, and those that follow from the
// document's facts and are missing there.
func Void(d *results.Document) []string {
	return list.AppendNew(slices.Clone(d.Invalid), invalidReasons(d)...)
}

// floorMoveMark is the ratio between the two halves of a floor beyond which the machine is considered to have changed.
// On a quiet machine the ratio is below 1.3.
const floorMoveMark = 2

// Moved describes a change of the floor by more than a factor of two from before the load to after it; empty without such
// a change, and if the floor was not measured. It ignores reads, which wait for neither a disk nor a quorum.
func Moved(f *results.Floor) string {
	for _, operation := range []string{results.FloorHandoff, results.FloorWrite} {
		before, after, err := f.Medians(operation)
		if err == nil && min(before, after) > 0 && max(before, after) > floorMoveMark*min(before, after) {
			return fmt.Sprintf("one %s on the idle ensemble took %s before the load and %s after it", operation, table.Latency(before), table.Latency(after))
		}
	}
	return ""
}

// UnfinishedMark is the mark of measurements that were not finished, and have no other numbers than how far they came.
const UnfinishedMark = "unfinished"

// Mark returns the word that stands beside the numbers of repeats that must not be used, or lack a part; empty for sound ones. Of several
// that apply, the gravest stands.
func Mark(repeats []*results.Document) string {
	for _, mark := range []struct {
		word    string
		applies func(d *results.Document) bool
	}{
		{"BROKEN", (*results.Document).Broken},
		{"INVALID", func(d *results.Document) bool { return len(d.Invalid) > 0 }},
		{"PARTIAL", func(d *results.Document) bool { return d.Partial }},
		{"known broken", func(d *results.Document) bool { return d.KnownBroken != "" }},
		{UnfinishedMark, func(d *results.Document) bool { return d.Unfinished != nil }},
	} {
		if slices.ContainsFunc(repeats, mark.applies) {
			return mark.word
		}
	}
	return ""
}

// writers names the sessions whose writes an oracle compares with the servers' transactions.
func writers(o results.Oracle) string {
	if o.BackgroundWrites > 0 {
		return "clients and background"
	}
	return "clients"
}

// missed returns the number of faults that met no victim.
func missed(d *results.Document) int64 {
	if d.Failure == nil {
		return 0
	}
	return d.Failure.Missed
}
