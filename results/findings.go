package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Findings lists what the facts in a document say against its numbers.
type Findings struct {
	Invalid  []string // reasons why the numbers must not be used
	Warnings []string // doubts about them
}

// Findings evaluates counts, histograms, oracle, health, heap, floor and window. It ignores the findings that the document
// contains, so that a reader, which need not trust these, comes to the same findings as the runner.
func (d *Document) Findings() Findings {
	return Findings{Invalid: d.invalidReasons(), Warnings: d.warnings()}
}

// invalidReasons returns the reasons why the numbers must not be used.
func (d *Document) invalidReasons() []string {
	f := Findings{Invalid: slices.Concat(d.droppedLatencies(), d.compareWithFormulas().Invalid)}
	h, o := d.Health, d.Oracle
	saturated := d.backgroundSaturates()
	f.invalid(saturated != "", "%s", saturated)
	f.invalid(saturated == "" && d.Window.Operations == 0 && d.Unfinished == nil, "no operation was completed in the window: lengthen the duration")
	f.invalid(o.Checked && !o.notificationsAgree(),
		"clients received %d notifications, servers sent %d: %+d", o.sent(), o.ServerNotifications, o.sent()-o.ServerNotifications)
	f.invalid(o.Checked && !o.transactionsAgree(),
		"%s sent %d writes, servers made %d transactions: %+d", o.writers(), o.made(), o.ServerTransactions, o.made()-o.ServerTransactions)
	late, tooLate := d.lateness()
	f.invalid(tooLate, "%s", late)
	f.invalid(h.UnmatchedReplies > 0, "the wire decoder could not match %d replies with requests", h.UnmatchedReplies)
	f.Invalid = append(f.Invalid, d.outages(false)...)
	f.invalid(d.Failure != nil && len(d.Failure.Faults) == 0, "no fault happened in the window: %d met no victim", d.missed())
	return f.Invalid
}

// warnings returns the doubts about the numbers. It is slower than invalidReasons, because it decodes the floor's
// histograms.
func (d *Document) warnings() []string {
	if d.Unfinished != nil {
		return nil // there are no numbers to doubt
	}
	f := Findings{Warnings: d.compareWithFormulas().Warnings}
	f.warn(d.Partial, "the measurement was interrupted after %s of %s: waits that had not ended, and losses that only the end shows, are not counted",
		d.Window.Length().Round(time.Second), d.Scenario.Duration)
	if d.Heap != nil {
		f.warnOfHeap(d.Heap)
	}
	if d.Floor != nil {
		f.warnOfFloor(d)
	}
	f.warn(!d.Oracle.Checked && (!d.Health.LeaderChanged || d.Scenario.explains(leaderChange)), "no second oracle: %s", d.Oracle.Why)
	f.Warnings = append(f.Warnings, d.Delayed()...)
	late, tooLate := d.lateness()
	f.warn(d.unserved() > 0, "%d of the window's arrivals were not served: the true response times are longer", d.unserved())
	f.warn(late != "" && !tooLate, "%s", late)
	behind := d.backgroundFallsBehind()
	f.warn(behind != "", "%s", behind)
	f.warnOfFaults(d)
	f.warnOfHerds(d)
	f.warnOfTrends(d)
	f.warn(d.Window.Starves(), "clients starve: when the window ended, many had been waiting for longer than the p99, which does not contain these waits")
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
func (f *Findings) warnOfHeap(h *Heap) {
	f.warn(h.Why != "", "the heaps were not measured: %s", h.Why)
	growth, uncertainty := h.Growth()
	_, known := h.PerWatch()
	f.warn(h.Why == "" && !known, "the heaps grew by %d bytes for %d watches, give or take %d bytes: too little to compute the heap of a watch",
		growth, h.Watches, uncertainty)
}

// warnOfFloor reports that the floor was not measured, or that it changed during the load. It ignores changes on the
// embedded server, which has neither a disk nor a quorum.
func (f *Findings) warnOfFloor(d *Document) {
	f.warn(d.Floor.Why != "", "the floor was not measured: %s", d.Floor.Why)
	moved := d.Floor.Moved()
	f.warn(moved != "" && d.Environment.Engine != Embedded, "the machine changed its speed: %s", moved)
}

// warnOfHerds reports that herds are guessed, or that notifications are missing in them.
func (f *Findings) warnOfHerds(d *Document) {
	servers := "servers of an unknown version"
	if version := d.Environment.ZooKeeper; version != "" {
		servers = "ZooKeeper " + version
	}
	f.warn(d.Guessed(HerdMax), "herds are grouped by %s: notifications of %s do not name the transaction that caused them, as those of 3.9 and later do",
		d.Herd.Grouping, servers)
	f.warn(d.Herd.Ungrouped > 0, "%d notifications are in no herd: they were sent again after a reconnect and do not name the transaction that caused them",
		d.Herd.Ungrouped)
}

// warnOfFaults reports what the faults explain, and faults that did not happen or whose recovery was not seen.
func (f *Findings) warnOfFaults(d *Document) {
	if d.Failure == nil {
		return
	}
	explained := d.outages(true)
	f.warn(len(explained) > 0, "the faults explain this: %s", strings.Join(explained, "; "))
	f.warn(d.Failure.Missed > 0 && len(d.Failure.Faults) > 0, "%d %s met no victim", d.Failure.Missed, Plural(int(d.Failure.Missed), "fault"))
	f.warn(d.Failure.Unrecovered > 0, "after %d %s no other client completed an operation before the load ended: the true times until a recovery are longer",
		d.Failure.Unrecovered, Plural(int(d.Failure.Unrecovered), "fault"))
}

// droppedLatencies returns a reason for each histogram that does not contain all latencies.
func (d *Document) droppedLatencies() []string {
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
func (d *Document) compareWithFormulas() Findings {
	var f Findings
	if d.Scenario.Faulty() {
		return f
	}
	for _, name := range CountMetrics() {
		cost, stated := d.Expected.Costs[name]
		m, measured := d.Metrics[name]
		if !stated || !measured || d.Guessed(name) {
			continue
		}
		f.invalid(d.Expected.Exact && d.AgainstCount(name, cost.Value) != 0,
			"%s is %.6g, but %s = %.6g by the variant's formula", name, m.Value, cost.Formula, cost.Value)
		f.warn(!d.Expected.Exact && d.Exceeds(name, cost.Value),
			"%s is %.4g, over the variant's bound of %.4g (%s)", name, m.Value, cost.Value, cost.Formula)
	}
	return f
}

// equalsFormulas reports whether the formulas are exact and each count equals its formula.
func (d *Document) equalsFormulas() bool {
	return d.Expected.Exact && len(d.Expected.Costs) > 0 && len(d.compareWithFormulas().Invalid) == 0
}

// AddFindings adds the findings to the document: the last step of a measurement.
func (d *Document) AddFindings() {
	d.Expected.Equal = d.equalsFormulas()
	f := d.Findings()
	d.Invalid = append(d.Invalid, f.Invalid...)
	d.Warnings = append(d.Warnings, f.Warnings...)
}

// Void returns the reasons why the numbers must not be used: those in Invalid, and those that follow from the
// document's facts and are missing there.
func (d *Document) Void() []string {
	return AppendNew(slices.Clone(d.Invalid), d.invalidReasons()...)
}
