// Package doubts finds reasons not to trust the numbers of a measurement: why they must not be used, or are less certain.
//
// It takes one position: doubts follow from the facts in a document. A reader derives them again, not relying on those that it lists.
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

type reasons []string

func (r *reasons) add(applies bool, format string, args ...any) {
	if applies {
		*r = append(*r, fmt.Sprintf(format, args...))
	}
}

// Invalid returns the reasons why the numbers of a document must not be used, from its facts: histograms, oracle, health and
// window. It ignores the reasons that the document lists, so that a reader need not trust them.
func Invalid(d *results.Document) []string {
	r := droppedLatencies(d)
	h, o := d.Health, d.Oracle
	saturated := backgroundSaturates(d)
	r.add(saturated != "", "%s", saturated)
	r.add(saturated == "" && d.Window.Operations == 0 && d.Unfinished == nil,
		"no operation was completed in the window: lengthen the duration")
	r.add(o.Checked && !o.NotificationsAgree(),
		"clients received %d notifications, servers sent %d: %+d", o.Sent(), o.ServerNotifications, o.Sent()-o.ServerNotifications)
	writers := "clients"
	if o.BackgroundWrites > 0 {
		writers = "clients and background"
	}
	r.add(o.Checked && !o.TransactionsAgree(),
		"%s sent %d writes, servers made %d transactions: %+d", writers, o.Made(), o.ServerTransactions, o.Made()-o.ServerTransactions)
	r.add(o.Checked && !o.PacketsAgree(),
		"zkbench's sessions sent %d to %d packets, servers received %d: a session is not counted, "+
			"another program uses these servers, or a program sent four-letter words",
		o.LeastPackets, o.MostPackets, o.ServerPackets)
	late, tooLate := lateness(d)
	r.add(tooLate, "%s", late)
	r.add(h.UnmatchedReplies > 0, "the wire decoder could not match %d replies with requests", h.UnmatchedReplies)
	r = append(r, outages(d, false)...)
	if f := d.Failure; f != nil {
		r.add(len(f.Faults) == 0, "no fault happened in the window: %d met no victim", f.Missed)
	}
	return r
}

// Warnings returns the doubts about the numbers of a document, from its facts as [Invalid] does. It is slower: it decodes histograms.
func Warnings(d *results.Document) []string {
	if d.Unfinished != nil {
		return nil // the numbers are not used
	}
	var r reasons
	r.add(d.Partial,
		"the measurement was interrupted after %s of %s: waits that had not ended, and losses that only the end shows, are not counted",
		d.Window.Length().Round(time.Second), d.Scenario.Duration)
	if h := d.Heap; h != nil {
		growth, uncertainty := h.Growth()
		_, known := h.PerWatch()
		r.add(h.Why != "", "the heaps were not measured: %s", h.Why)
		r.add(h.Why == "" && !known,
			"the heaps grew by %d bytes for %d watches, give or take %d bytes: too little to compute the heap of a watch",
			growth, h.Watches, uncertainty)
	}
	if f := d.Floor; f != nil {
		moved := Moved(f) // not used for the embedded server, which has neither a disk nor a quorum
		r.add(f.Why != "", "the floor was not measured: %s", f.Why)
		r.add(moved != "" && d.Environment.Engine != results.Embedded, "the machine changed its speed: %s", moved)
	}
	r.add(!d.Oracle.Checked && (!d.Health.LeaderChanged || explains(d.Scenario, ofServer)), "no second oracle: %s", d.Oracle.Why)
	r = append(r, Delayed(d)...)
	late, tooLate := lateness(d)
	if o := d.Open; o != nil && !d.BeyondCapacity() {
		r.add(o.Arrivals > o.Served, "%d of the window's arrivals were not served: the true response times are longer", o.Arrivals-o.Served)
	}
	r.add(late != "" && !tooLate, "%s", late)
	r = append(r, clocks(d)...)
	r.add(float64(d.Window.Apart) > apartMark*float64(d.Window.Length()),
		"workers counted up to %s apart at the edges of the window: counts per operation are less exact", show(d.Window.Apart))
	r.addSlowWorker(d)
	behind := backgroundFallsBehind(d)
	r.add(behind != "", "%s", behind)
	r.addFaults(d)
	r.addHerds(d)
	r.addTrends(d)
	r.add(d.Starves(),
		"clients starve: when the window ended, many had been waiting for longer than the p99, which does not contain these waits")
	return r
}

// clocks describes the percentiles that the clocks of the workers make uncertain, and those that are left out because of them.
func clocks(d *results.Document) (r reasons) {
	var uncertain, missing []string
	for _, phase := range slices.Sorted(maps.Keys(d.Across)) {
		times := d.Histograms[phase].Decode()
		for _, p := range []float64{50, 90, 99} {
			name := fmt.Sprintf("%s p%g", phase, p)
			if share := metric.ClockError(d, phase, float64(times.ValueAtPercentile(p))); share > metric.MaxClockError {
				missing = append(missing, name)
			} else if share > metric.SmallClockError {
				uncertain = append(uncertain, fmt.Sprintf("%s ±%.0f%%", name, 100*share))
			}
		}
	}
	limit := metric.ClockLimit(d)
	r.add(len(uncertain) > 0, "the clocks of two workers may differ by %s: %s", limit, strings.Join(uncertain, ", "))
	r.add(len(missing) > 0, "the clocks of two workers may differ by %s, over %.0f%% of these percentiles, which are left out: %s",
		limit, 100*metric.MaxClockError, strings.Join(missing, ", "))
	return r
}

// addSlowWorker adds the one worker that needs over slowMark times as long for a read on the idle ensemble as any other.
func (r *reasons) addSlowWorker(d *results.Document) {
	reads := list.Map(d.Workers, func(w results.Worker) (median float64) {
		if w.Floor != nil {
			median, _ = w.Floor.Medians(results.FloorRead)
		}
		return median
	})
	sorted := slices.Sorted(slices.Values(reads))
	if last := len(sorted) - 1; last > 0 && sorted[last-1] > 0 && sorted[last] > slowMark*sorted[last-1] {
		slow, took, others := slices.Index(reads, sorted[last]), table.Latency(sorted[last]), table.Latency(sorted[last-1])
		r.add(true, "worker %d on %s is slow, or far from the servers: a read on the idle ensemble took %s there, %s at most on the others",
			slow+1, d.Workers[slow].Host, took, others)
	}
}

func (r *reasons) addHerds(d *results.Document) {
	servers := "servers of an unknown version"
	if d.Environment.ZooKeeper != "" {
		servers = d.Environment.Software()
	}
	r.add(metric.Guessed(d, metric.HerdMax),
		"herds are grouped by %s: notifications of %s do not name the transaction that caused them, as those of ZooKeeper 3.9 and later do",
		d.Herd.Grouping, servers)
	r.add(d.Herd.Ungrouped > 0,
		"%d notifications are in no herd: they were sent again after a reconnect and do not name the transaction that caused them",
		d.Herd.Ungrouped)
}

func (r *reasons) addFaults(d *results.Document) {
	f := d.Failure
	if f == nil {
		return
	}
	explained := outages(d, true)
	r.add(len(explained) > 0, "the faults explain this: %s", strings.Join(explained, "; "))
	r.add(f.Missed > 0 && len(f.Faults) > 0, "%d %s met no victim", f.Missed, table.Plural(int(f.Missed), "fault"))
	r.add(f.Unrecovered > 0,
		"after %d %s no other client completed an operation before the load ended: the true times until a recovery are longer",
		f.Unrecovered, table.Plural(int(f.Unrecovered), "fault"))
}

func droppedLatencies(d *results.Document) (r reasons) {
	for _, phase := range slices.Sorted(maps.Keys(d.Histograms)) {
		n := d.Histograms[phase].Dropped
		r.add(n > 0, "%d %s latencies were over an hour", n, phase)
	}
	if f := d.Failure; f != nil {
		r.add(f.Recovery.Dropped > 0, "%d recoveries took over an hour", f.Recovery.Dropped)
	}
	return r
}

// Void returns the reasons why the numbers must not be used: those that the document lists, and those that it should list.
func Void(d *results.Document) []string {
	return list.AppendNew(slices.Clone(d.Invalid), Invalid(d)...)
}

// floorMoveMark is the ratio between the two halves of a floor beyond which the machine has changed. On a quiet machine it is below 1.3.
const floorMoveMark = 2

// Moved describes a change of the floor by more than a factor of two from before the load to after it; empty without such
// a change, and if the floor was not measured. It ignores reads, which wait for neither a disk nor a quorum.
func Moved(f *results.Floor) string {
	for _, operation := range []string{results.FloorHandoff, results.FloorWrite} {
		before, after := f.Medians(operation)
		if min(before, after) > 0 && max(before, after) > floorMoveMark*min(before, after) {
			return fmt.Sprintf("one %s on the idle ensemble took %s before the load and %s after it",
				operation, table.Latency(before), table.Latency(after))
		}
	}
	return ""
}

// The marks that other packages tell apart; see [Mark].
const (
	UnfinishedMark  = "unfinished"   // not finished: the only numbers say how much of the load was done
	KnownBrokenMark = "known broken" // of a variant that is known to break its promise
	DeviatesMark    = "DEVIATES"     // with counts that are not what the variant's formulas say; the numbers are true
)

// Mark returns the word that tables show beside the numbers of repeats that must not be used, that lack a part, or whose counts deviate;
// empty for other repeats. If several words apply, it returns the gravest.
func Mark(repeats []*results.Document) string {
	for _, mark := range []struct {
		word    string
		applies func(d *results.Document) bool
	}{
		{"BROKEN", (*results.Document).Broken},
		{"INVALID", func(d *results.Document) bool { return len(d.Invalid) > 0 }},
		{"PARTIAL", func(d *results.Document) bool { return d.Partial }},
		{KnownBrokenMark, func(d *results.Document) bool { return d.KnownBroken != "" }},
		{UnfinishedMark, func(d *results.Document) bool { return d.Unfinished != nil }},
		{DeviatesMark, func(d *results.Document) bool { return len(Deviations(d)) > 0 }},
	} {
		if slices.ContainsFunc(repeats, mark.applies) {
			return mark.word
		}
	}
	return ""
}
