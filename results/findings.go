package results

import (
	"fmt"
	"maps"
	"slices"
)

// Findings is what a document's own facts say against its numbers.
type Findings struct {
	Invalid  []string // reasons why the numbers must not be used
	Warnings []string // doubts about them
}

// Findings evaluates counts, histograms, oracle, health, heap and window. It neither reads nor changes what the document
// says about itself, so that the runner, which writes that, and a reader, which need not trust it, reach the same findings.
func (d *Document) Findings() Findings {
	return Findings{Invalid: d.voids(), Warnings: d.doubts()}
}

// voids returns the reasons why the numbers must not be used.
func (d *Document) voids() []string {
	f := Findings{Invalid: slices.Concat(d.droppedLatencies(), d.againstFormulas().Invalid)}
	h, o := d.Health, d.Oracle
	f.invalid(d.Window.Operations == 0, "no operation was completed in the window: lengthen the duration")
	f.invalid(o.Checked && o.ClientNotifications != o.ServerNotifications,
		"clients received %d notifications, servers sent %d: %+d", o.ClientNotifications, o.ServerNotifications, o.ClientNotifications-o.ServerNotifications)
	f.invalid(o.Checked && o.ClientWrites != o.ServerTransactions,
		"clients sent %d writes, servers made %d transactions: %+d", o.ClientWrites, o.ServerTransactions, o.ClientWrites-o.ServerTransactions)
	f.invalid(h.SessionsLost > 0, "%d sessions were lost", h.SessionsLost)
	f.invalid(h.UnmatchedReplies > 0, "the wire decoder could not match %d replies with requests", h.UnmatchedReplies)
	f.invalid(h.BystanderErrors > 0, "%d reads by bystanders failed", h.BystanderErrors)
	f.invalid(h.LeaderChanged, "the leader changed, or there was none")
	f.invalid(h.Reconnects > 0, "%d times a session had to reconnect", h.Reconnects)
	return f.Invalid
}

// doubts returns the warnings. They cost more than voids: the floor's histograms are decoded for them.
func (d *Document) doubts() []string {
	f := Findings{Warnings: d.againstFormulas().Warnings}
	if d.Heap != nil {
		f.warnOfHeap(d.Heap)
	}
	if d.Floor != nil {
		f.warnOfFloor(d)
	}
	f.warn(!d.Oracle.Checked && !d.Health.LeaderChanged, "no second oracle: %s", d.Oracle.Why)
	f.Warnings = append(f.Warnings, d.Delayed()...)
	f.warnOfHerds(d)
	f.warn(d.Window.Starves(), "clients starve: many were still waiting when the window ended, for longer than the p99, which leaves them out")
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

// warnOfHeap says why a heap that was to be measured was not, or what its growth is worth.
func (f *Findings) warnOfHeap(h *Heap) {
	f.warn(h.Why != "", "the heaps were not measured: %s", h.Why)
	growth, uncertainty := h.Growth()
	_, told := h.PerWatch()
	f.warn(h.Why == "" && !told, "the heaps grew by %d bytes for %d watches, which may be off by %d: too little to tell what a watch takes",
		growth, h.Watches, uncertainty)
}

// warnOfFloor says why the floor was not measured, or that it changed during the load. On the embedded server it may
// change at any moment and mean nothing: no disk and no quorum is in it.
func (f *Findings) warnOfFloor(d *Document) {
	f.warn(d.Floor.Why != "", "the floor was not measured: %s", d.Floor.Why)
	moved := d.Floor.Moved()
	f.warn(moved != "" && d.Environment.Engine != Embedded, "the machine moved: %s", moved)
}

// warnOfHerds says which herds are guesses, and which are not whole.
func (f *Findings) warnOfHerds(d *Document) {
	servers := "servers of an unknown version"
	if version := d.Environment.ZooKeeper; version != "" {
		servers = "ZooKeeper " + version
	}
	f.warn(d.Guessed(HerdMax), "herds are grouped by %s: %s did not say which transaction caused a notification, as 3.9 and later do",
		d.Herd.Grouping, servers)
	f.warn(d.Herd.Ungrouped > 0, "%d notifications are in no herd: they were sent again after a reconnect and do not say which transaction caused them",
		d.Herd.Ungrouped)
}

// droppedLatencies returns the phases whose histograms could not hold every latency.
func (d *Document) droppedLatencies() []string {
	var out []string
	for _, phase := range slices.Sorted(maps.Keys(d.Histograms)) {
		if n := d.Histograms[phase].Dropped; n > 0 {
			out = append(out, fmt.Sprintf("%d %s latencies were over an hour", n, phase))
		}
	}
	return out
}

// againstFormulas compares the counts with what the variant claims: exactly where the formulas are exact, else as bounds.
// A deviation from an exact formula means that the run was disturbed, or that the claim is wrong; either way the numbers
// must not be used. A bound that is exceeded is a warning.
func (d *Document) againstFormulas() Findings {
	var f Findings
	for _, name := range CountMetrics() {
		cost, claimed := d.Expected.Costs[name]
		m, measured := d.Metrics[name]
		if !claimed || !measured || d.Guessed(name) {
			continue
		}
		f.invalid(d.Expected.Exact && d.AgainstCount(name, cost.Value) != 0,
			"%s is %.6g, but %s = %.6g by the variant's formula", name, m.Value, cost.Formula, cost.Value)
		f.warn(!d.Expected.Exact && d.Exceeds(name, cost.Value),
			"%s is %.4g, over the variant's bound of %.4g (%s)", name, m.Value, cost.Value, cost.Formula)
	}
	return f
}

// equalsFormulas reports whether the formulas are exact and every count is what its formula says.
func (d *Document) equalsFormulas() bool {
	return d.Expected.Exact && len(d.Expected.Costs) > 0 && len(d.againstFormulas().Invalid) == 0
}

// Judge adds the findings to the document: the last step of a measurement.
func (d *Document) Judge() {
	d.Expected.Equal = d.equalsFormulas()
	f := d.Findings()
	d.Invalid = append(d.Invalid, f.Invalid...)
	d.Warnings = append(d.Warnings, f.Warnings...)
}

// Void returns the reasons why the numbers must not be used: those that the document gives, and those that its facts
// imply and it leaves out.
func (d *Document) Void() []string {
	out := slices.Clone(d.Invalid)
	for _, reason := range d.voids() {
		if !slices.Contains(out, reason) {
			out = append(out, reason)
		}
	}
	return out
}
