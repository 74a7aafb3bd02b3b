package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
)

// problems lists the invariants that a document breaks, each with the path of a leaf.
type problems []string

func (p *problems) unless(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// CheckInvariants returns an error that lists the contradictions in a document. A measured document has none, even if the run
// was disturbed or the recipe is broken, because the recorder's different counts of the same events agree. It is called where
// a document is written, to find mistakes in the recorder.
func CheckInvariants(d *results.Document) error {
	var p problems
	for _, check := range []func(*results.Document, *problems){
		checkWindow, checkCounts, checkHistograms, checkHerd, checkOracle,
		checkTimeline, checkSeries, checkFaults, checkArrivals, checkStages,
		checkBackground,
	} {
		check(d, &p)
	}
	if len(p) == 0 {
		return nil
	}
	return errors.New(strings.Join(p, "; "))
}

func checkWindow(d *results.Document, p *problems) {
	w := d.Window
	p.unless(w.StarvingWaits <= w.UnfinishedWaits, "window.starving_waits is %d, of %d unfinished_waits", w.StarvingWaits, w.UnfinishedWaits)
	p.unless(w.OldestWait <= w.End && (w.UnfinishedWaits > 0 || w.OldestWait == 0),
		"window.oldest_wait_ns is %s, with %d unfinished_waits and window.end_ns %s",
		w.OldestWait, w.UnfinishedWaits, w.End)
	u := d.Unfinished
	if u == nil {
		return
	}
	of := d.WholeLoad()
	p.unless(u.Done < of || u.Done == of && d.Scenario.Duration > 0, "unfinished.done is %d, of %d", u.Done, of)
	p.unless(u.Requests >= d.Counts.TotalRequests(),
		"unfinished.requests is %d, of %d counts.requests", u.Requests, d.Counts.TotalRequests())
	p.unless(u.Notifications >= d.Counts.Notified(),
		"unfinished.notifications is %d, of %d counts.notifications", u.Notifications, d.Counts.Notified())
}

func checkCounts(d *results.Document, p *problems) {
	c := d.Counts
	p.unless(c.Writes <= c.TotalRequests(), "counts.writes is %d, of %d requests", c.Writes, c.TotalRequests())
	p.unless(c.FailedWrites <= c.TotalFailed(), "counts.failed_writes is %d, of %d failed", c.FailedWrites, c.TotalFailed())
	p.unless(c.SpuriousWakes <= c.Notified(), "counts.spurious_wakeups is %d, of %d notifications", c.SpuriousWakes, c.Notified())
	if !d.CountsWhole() {
		return // a reply in the window may belong to a request before the window
	}
	for op, failed := range c.Failed {
		p.unless(failed <= c.Requests[op], "counts.failed.%s is %d, of %d requests", op, failed, c.Requests[op])
	}
	p.unless(c.FailedWrites <= c.Writes, "counts.failed_writes is %d, of %d writes", c.FailedWrites, c.Writes)
}

func checkHistograms(d *results.Document, p *problems) {
	operations := d.Histograms[d.Operation].All()
	p.unless(operations == d.Window.Operations,
		"window.operations is %d, and histograms.%s has %d", d.Window.Operations, d.Operation, operations)
	response, service := d.Histograms[results.BystanderPhase].All(), d.Histograms[results.BystanderService].All()
	p.unless(response == service, "histograms.%s has %d reads, and %s %d", results.BystanderPhase, response, results.BystanderService, service)
	if c := d.Connect; c != nil {
		p.unless(c.Each.All() == int64(d.Clients), "connect.each has %d samples, of %d clients", c.Each.All(), d.Clients)
	}
}

func checkHerd(d *results.Document, p *problems) {
	h := d.Herd
	herds, members := h.Total()
	p.unless(members+h.Ungrouped == d.Counts.Notified(),
		"herd.sizes has %d notifications, herd.ungrouped is %d, and counts.notifications is %d",
		members, h.Ungrouped, d.Counts.Notified())
	p.unless(herds == h.Spread.All(), "herd.sizes has %d herds, and herd.spread %d", herds, h.Spread.All())
}

// checkOracle compares the oracle, whose snapshots enclose the window, with the counts. For a window that begins and ends at rest, both
// are equal.
func checkOracle(d *results.Document, p *problems) {
	o, c := d.Oracle, d.Counts
	p.unless((o.Checked && !o.Doubtful()) == (o.Why == ""),
		"oracle.checked is %t, and why it was not, or not exactly, is %q", o.Checked, o.Why)
	p.unless(o.ResentNotifications <= o.ClientNotifications,
		"oracle.resent_notifications is %d, of %d", o.ResentNotifications, o.ClientNotifications)
	p.unless(!o.Checked || !d.Health.LeaderChanged, "oracle.checked is true, although health.leader_changed is")
	p.unless(c.Notified() <= o.ClientNotifications,
		"counts.notifications is %d, and oracle.client_notifications %d", c.Notified(), o.ClientNotifications)
	p.unless(c.Writes <= o.ClientWrites && (c.Writes == o.ClientWrites || !d.CountsWhole()),
		"counts.writes is %d, and oracle.client_writes %d", c.Writes, o.ClientWrites)
}

func checkTimeline(d *results.Document, p *problems) {
	t, w := d.Timeline, d.Window
	length := t.End - t.Start
	p.unless(w.Start <= t.Start && length >= 0 && t.End <= w.End && length == min(w.Length(), results.TimelineLength),
		"timeline goes from %s to %s, and the window from %s to %s", t.Start, t.End, w.Start, w.End)
	dots, reads := int64(len(t.Notifications)), int64(len(t.Bystander))
	whole, all := length == w.Length(), d.Histograms[results.BystanderPhase].All()
	p.unless(dots == d.Counts.Notified() || dots < d.Counts.Notified() && !whole,
		"timeline.notifications has %d, of %d counts.notifications", dots, d.Counts.Notified())
	p.unless(reads == all || reads < all && !whole, "timeline.bystander has %d, of %d in histograms.%s", reads, all, results.BystanderPhase)
}

// checkSeries checks that the series has the events of the window, and possibly more.
func checkSeries(d *results.Document, p *problems) {
	s := d.Series
	if s == nil {
		p.unless(d.Repeat == 0, "series is missing")
		return
	}
	operations, notifications, largest := list.Sum(s.Operations), list.Sum(s.Notifications), list.Largest(s.LargestHerd)
	p.unless(operations >= d.Window.Operations, "series.operations has %d, of %d window.operations", operations, d.Window.Operations)
	p.unless(notifications >= d.Counts.Notified(),
		"series.notifications has %d, of %d counts.notifications", notifications, d.Counts.Notified())
	p.unless(largest >= d.Herd.Max(), "series.largest_herd has at most %d, and herd.sizes %d", largest, d.Herd.Max())
	if len(d.Phases) > 0 {
		samples, of := list.Sum(s.Samples), d.Histograms[d.Phases[0]].All()
		p.unless(samples >= of, "series.samples has %d, of %d in histograms.%s", samples, of, d.Phases[0])
	}
	if d.Open != nil {
		p.unless(list.Largest(s.Backlog) >= d.Open.BacklogMax,
			"open.backlog_max is %d, and series.backlog has at most %d", d.Open.BacklogMax, list.Largest(s.Backlog))
	}
}

// checkFaults compares the listed faults with the distribution of recoveries, which covers all faults.
func checkFaults(d *results.Document, p *problems) {
	f := d.Failure
	if f == nil {
		p.unless(!d.Scenario.Faulty() || d.Repeat == 0, "failure is missing, and scenario.faults has %d", len(d.Scenario.Faults))
		return
	}
	all := int64(len(f.Faults)) + f.MoreFaults
	p.unless(f.Recovery.All()+f.Unrecovered == all,
		"failure.recovery has %d samples, failure.unrecovered is %d, and there are %d faults", f.Recovery.All(), f.Unrecovered, all)
	previous := d.Window.Start
	for i, fault := range f.Faults {
		p.unless(previous <= fault.At && fault.At <= d.Window.End,
			"failure.faults[%d].at_ns is %s, before the previous fault or outside of the window", i, fault.At)
		previous = fault.At
	}
	recovered := len(list.Where(f.Faults, results.Fault.Recovered))
	p.unless(f.MoreFaults > 0 || int64(recovered) == f.Recovery.All(),
		"failure.faults has %d recoveries, and failure.recovery %d", recovered, f.Recovery.All())
	p.unless(f.Unavailable <= d.Window.Length(), "failure.unavailable_ns is %s, of a window of %s", f.Unavailable, d.Window.Length())
	p.unless(f.PeakRequests <= d.Counts.TotalRequests(),
		"failure.peak_requests is %d, of %d in the whole window", f.PeakRequests, d.Counts.TotalRequests())
	p.unless(f.PeakBytesIn <= d.Counts.BytesIn, "failure.peak_bytes_in is %d, of %d in the whole window", f.PeakBytesIn, d.Counts.BytesIn)
}

func checkArrivals(d *results.Document, p *problems) {
	o := d.Open
	if o == nil {
		return
	}
	for path, n := range map[string]int64{
		"histograms.response": d.Histograms[results.ResponsePhase].All(), "histograms.service": d.Histograms[results.ServicePhase].All(),
		"open.lateness": o.Lateness.All(),
	} {
		p.unless(n == o.Served, "open.served is %d, and %s has %d", o.Served, path, n)
	}
	known := o.Served + o.GivenUp
	p.unless(o.GivenUp >= 0 && (known == o.Arrivals || known < o.Arrivals && (d.Partial || d.Scenario.Faulty())),
		"open.served is %d and open.given_up %d, of %d open.arrivals", o.Served, o.GivenUp, o.Arrivals)
	p.unless(o.LastEmpty <= d.Window.End, "open.backlog_last_empty_ns is %s, and window.end_ns %s", o.LastEmpty, d.Window.End)
}

func checkStages(d *results.Document, p *problems) {
	if len(d.Stages) == 0 {
		return
	}
	at := d.Window.Start
	var sum results.Stage
	for i, s := range d.Stages {
		p.unless(s.Start == at, "stages[%d] begins at %s, and the part of the window before it ends at %s", i, s.Start, at)
		sum.Operations, sum.Notifications = sum.Operations+s.Operations, sum.Notifications+s.Notifications
		sum.LargestHerd, at = max(sum.LargestHerd, s.LargestHerd), s.End
	}
	p.unless(at == d.Window.End, "stages end at %s, and the window at %s", at, d.Window.End)
	p.unless(sum.Operations == d.Window.Operations,
		"stages have %d operations, and window.operations is %d", sum.Operations, d.Window.Operations)
	p.unless(sum.Notifications == d.Counts.Notified(),
		"stages have %d notifications, and counts.notifications is %d", sum.Notifications, d.Counts.Notified())
	p.unless(sum.LargestHerd == d.Herd.Max(), "stages have herds of at most %d, and herd.sizes of %d", sum.LargestHerd, d.Herd.Max())
	latencies := list.Sum(list.Map(d.Stages, func(s results.Stage) int64 { return s.Latency.All() }))
	whole := d.Histograms[metric.StagePhase(d)].All()
	p.unless(latencies == whole, "stages have %d latencies, and histograms.%s has %d", latencies, metric.StagePhase(d), whole)
}

// checkBackground checks that every request of the background that was due was answered or failed.
func checkBackground(d *results.Document, p *problems) {
	b := d.Background
	if b == nil || b.During == nil {
		return
	}
	written := b.Alone.Write.Due - b.Alone.Write.Failed + b.During.Write.Due - b.During.Write.Failed
	p.unless(d.Oracle.BackgroundWrites >= written, "oracle.background_writes is %d, and %d were answered", d.Oracle.BackgroundWrites, written)
	for path, r := range map[string]results.BackgroundRequests{
		"alone.read": b.Alone.Read, "alone.write": b.Alone.Write, "during.read": b.During.Read, "during.write": b.During.Write,
	} {
		unanswered := r.Due - r.Response.All() - r.Failed
		p.unless(unanswered == 0, "background.%s.due is %d, and %d of them are neither answered nor failed", path, r.Due, unanswered)
		p.unless(r.Response.All() == r.Service.All(),
			"background.%s.response has %d requests, and service %d", path, r.Response.All(), r.Service.All())
	}
}
