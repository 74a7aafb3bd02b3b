package store

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

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

// equal and atMost compare two counts of the same events, in different parts of the document.
func (p *problems) equal(path string, count int64, other string, same int64) {
	p.unless(count == same, "%s has %d, and %s %d", path, count, other, same)
}

func (p *problems) atMost(path string, count int64, other string, most int64) {
	p.unless(count <= most, "%s has %d, and %s only %d", path, count, other, most)
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
	p.atMost("window.starving_waits", int64(w.StarvingWaits), "window.unfinished_waits", int64(w.UnfinishedWaits))
	p.unless(w.OldestWait <= w.End && (w.UnfinishedWaits > 0 || w.OldestWait == 0),
		"window.oldest_wait_ns is %s, with %d unfinished_waits and window.end_ns %s",
		w.OldestWait, w.UnfinishedWaits, w.End)
	u := d.Unfinished
	if u == nil {
		return
	}
	of := d.WholeLoad()
	p.unless(u.Done < of || u.Done == of && d.Scenario.Duration > 0, "unfinished.done is %d, of %d", u.Done, of)
	p.atMost("counts.requests", d.Counts.TotalRequests(), "unfinished.requests", u.Requests)
	p.atMost("counts.notifications", d.Counts.Notified(), "unfinished.notifications", u.Notifications)
}

func checkCounts(d *results.Document, p *problems) {
	c := d.Counts
	p.atMost("counts.writes", c.Writes, "counts.requests", c.TotalRequests())
	p.atMost("counts.failed_writes", c.FailedWrites, "counts.failed", c.TotalFailed())
	p.atMost("counts.spurious_wakeups", c.SpuriousWakes, "counts.notifications", c.Notified())
	if !d.CountsWhole() {
		return // a reply in the window may belong to a request before the window
	}
	for op, failed := range c.Failed {
		p.atMost("counts.failed."+op, failed, "counts.requests."+op, c.Requests[op])
	}
	for op, watches := range c.Watches {
		p.atMost("counts.watches."+op, watches, "counts.requests."+op, c.Requests[op])
	}
	p.atMost("counts.failed_writes", c.FailedWrites, "counts.writes", c.Writes)
}

func checkHistograms(d *results.Document, p *problems) {
	samples := func(phase string) int64 { return d.Histograms[phase].All() }
	p.equal("window.operations", d.Window.Operations, "histograms."+d.Operation, samples(d.Operation))
	p.equal("histograms.bystander", samples(results.BystanderPhase), "histograms.bystander-service", samples(results.BystanderService))
	if c := d.Connect; c != nil {
		p.equal("connect.each", c.Each.All(), "clients", int64(d.Clients))
	}
	for phase, across := range d.Across {
		p.equal("across."+phase, across.Spans+across.Within.All(), "histograms."+phase, d.Histograms[phase].All())
	}
	if len(d.Workers) > 0 {
		clients := list.Sum(list.Map(d.Workers, func(w results.Worker) int { return w.Clients }))
		p.equal("workers[].clients", int64(clients), "clients", int64(d.Clients))
	}
}

func checkHerd(d *results.Document, p *problems) {
	herds, members := d.Herd.Total()
	p.equal("herd.sizes with herd.ungrouped", members+d.Herd.Ungrouped, "counts.notifications", d.Counts.Notified())
	p.equal("herd.sizes", herds, "herd.spread", d.Herd.Spread.All())
}

// checkOracle compares the oracle, whose snapshots enclose the window, with the counts. For a window that begins and ends at rest, both
// are equal.
func checkOracle(d *results.Document, p *problems) {
	o, c := d.Oracle, d.Counts
	p.unless((o.Checked && !o.Doubtful()) == (o.Why == ""),
		"oracle.checked is %t, and why it was not, or not exactly, is %q", o.Checked, o.Why)
	p.atMost("oracle.resent_notifications", o.ResentNotifications, "oracle.client_notifications", o.ClientNotifications)
	p.unless(!o.Checked || !d.Health.LeaderChanged, "oracle.checked is true, although health.leader_changed is")
	p.atMost("counts.notifications", c.Notified(), "oracle.client_notifications", o.ClientNotifications)
	p.atMost("counts.writes", c.Writes, "oracle.client_writes", o.ClientWrites)
	if d.CountsWhole() {
		p.equal("counts.writes", c.Writes, "oracle.client_writes", o.ClientWrites)
	}
	if d.Lockstep() && d.CountsWhole() { // any other load ends with a reply, and a notification may follow
		p.equal("counts.notifications", c.Notified(), "oracle.client_notifications", o.ClientNotifications)
	}
}

func checkTimeline(d *results.Document, p *problems) {
	t, w := d.Timeline, d.Window
	length := t.End - t.Start
	p.unless(w.Start <= t.Start && length >= 0 && t.End <= w.End && length == min(w.Length(), results.TimelineLength),
		"timeline goes from %s to %s, and the window from %s to %s", t.Start, t.End, w.Start, w.End)
	compare := p.atMost
	if length == w.Length() {
		compare = p.equal
	}
	compare("timeline.notifications", int64(len(t.Notifications)), "counts.notifications", d.Counts.Notified())
	compare("timeline.bystander", int64(len(t.Bystander)), "histograms.bystander", d.Histograms[results.BystanderPhase].All())
}

// checkSeries compares the series with the counts of the sessions, the window's counts, and the histograms of window and warm-up. Only
// events after the window are in the series and in no histogram. A load of whole operations has none, but its last requests may come
// after it: a library can answer its caller before it sends them, as Curator's LeaderLatch does when it is closed.
func checkSeries(d *results.Document, p *problems) {
	s, w, phase, end := d.Series, d.Window, d.FirstPhase(), d.Window.End
	if s == nil {
		p.unless(d.Repeat == 0, "series is missing")
		return
	}
	if d.Scenario.Mode != results.ObservedMode {
		p.equal("series.requests", list.Sum(s.Requests), "oracle.all_requests", d.Oracle.AllRequests)
		p.equal("series.notifications", list.Sum(s.Notifications), "oracle.all_notifications", d.Oracle.AllNotifications)
	}
	if d.CountsWhole() {
		end = math.MaxInt64
	}
	operations, _, _ := untilEnd(d, d.Operation)
	samples, took, precision := untilEnd(d, phase)
	p.between("window.operations", w.Operations, bins(s, s.Operations, w.Start, w.End))
	p.between("counts.requests", d.Counts.TotalRequests(),
		bounds{bins(s, s.Requests, w.Start, w.End).least, bins(s, s.Requests, w.Start, end).most})
	p.between("counts.notifications", d.Counts.Notified(), bins(s, s.Notifications, w.Start, w.End))
	p.between("histograms."+d.Operation, operations, bins(s, s.Operations, math.MinInt64, end))
	p.between("histograms."+phase, samples, bins(s, s.Samples, math.MinInt64, end))
	sums := bins(s, list.Map(s.Time, time.Duration.Nanoseconds), math.MinInt64, end)
	p.between("the sum of histograms."+phase, took, bounds{sums.least - precision, sums.most + precision})
	p.atMost("the largest of herd.sizes", int64(d.Herd.Max()), "series.largest_herd", int64(list.Largest(s.LargestHerd)))
	if d.Open != nil {
		p.atMost("open.backlog_max", d.Open.BacklogMax, "series.backlog", list.Largest(s.Backlog))
	}
}

type bounds struct{ least, most int64 }

func (p *problems) between(path string, count int64, b bounds) {
	p.unless(b.least <= count && count <= b.most, "%s has %d, and the series %d to %d", path, count, b.least, b.most)
}

// bins returns the sum of the bins inside of a stretch as the least, and of those that overlap it as the most.
func bins(s *results.Series, in []int64, start, end time.Duration) (b bounds) {
	for i, n := range in {
		from := s.Start + time.Duration(i)*s.Bin
		if from <= end && from+s.Bin > start {
			b.most += n
		}
		if from > start && from+s.Bin < end {
			b.least += n
		}
	}
	return b
}

// untilEnd returns how many times a phase has up to the window's end, and their sum with its precision. Times over an hour are unknown.
func untilEnd(d *results.Document, phase string) (samples, sum, precision int64) {
	for _, h := range []results.Histogram{d.Histograms[phase], d.Histograms[results.WarmUpPrefix+phase]} {
		samples += h.All()
		sum += int64(h.Decode().Mean() * float64(h.Samples))
		precision += h.Dropped * int64(1000*time.Hour)
	}
	return samples, sum, precision + samples*int64(time.Microsecond) + sum/1000
}

// checkFaults compares the listed faults with the distribution of recoveries, which covers all faults.
func checkFaults(d *results.Document, p *problems) {
	f := d.Failure
	if f == nil {
		p.unless(!d.Scenario.Faulty() || d.Repeat == 0, "failure is missing, and scenario.faults has %d", len(d.Scenario.Faults))
		return
	}
	p.equal("failure.recovery with failure.unrecovered", f.Recovery.All()+f.Unrecovered,
		"failure.faults with more_faults", int64(len(f.Faults))+f.MoreFaults)
	previous := d.Window.Start
	for i, fault := range f.Faults {
		p.unless(previous <= fault.At && fault.At <= d.Window.End,
			"failure.faults[%d].at_ns is %s, before the previous fault or outside of the window", i, fault.At)
		previous = fault.At
	}
	if recovered := list.Where(f.Faults, results.Fault.Recovered); f.MoreFaults == 0 {
		p.equal("failure.faults with a recovery", int64(len(recovered)), "failure.recovery", f.Recovery.All())
	}
	p.unless(f.Unavailable <= d.Window.Length(), "failure.unavailable_ns is %s, of a window of %s", f.Unavailable, d.Window.Length())
	p.atMost("failure.peak_requests", f.PeakRequests, "counts.requests", d.Counts.TotalRequests())
	p.atMost("failure.peak_bytes_in", f.PeakBytesIn, "counts.bytes_in", d.Counts.BytesIn)
}

func checkArrivals(d *results.Document, p *problems) {
	o := d.Open
	if o == nil {
		return
	}
	p.equal("histograms.response", d.Histograms[results.ResponsePhase].All(), "open.served", o.Served)
	p.equal("histograms.service", d.Histograms[results.ServicePhase].All(), "open.served", o.Served)
	p.equal("open.lateness", o.Lateness.All(), "open.served", o.Served)
	compare := p.equal
	if d.Partial || d.Scenario.Faulty() {
		compare = p.atMost
	}
	compare("open.served with open.given_up", o.Served+o.GivenUp, "open.arrivals", o.Arrivals)
	p.unless(o.GivenUp >= 0, "open.given_up is %d", o.GivenUp)
	p.unless(o.LastEmpty <= d.Window.End, "open.backlog_last_empty_ns is %s, and window.end_ns %s", o.LastEmpty, d.Window.End)
}

func checkStages(d *results.Document, p *problems) {
	if len(d.Stages) == 0 {
		return
	}
	at := d.Window.Start
	var latencies int64
	var sum results.Stage
	for i, s := range d.Stages {
		p.unless(s.Start == at, "stages[%d] begins at %s, and the part of the window before it ends at %s", i, s.Start, at)
		sum.Operations, sum.Notifications = sum.Operations+s.Operations, sum.Notifications+s.Notifications
		sum.LargestHerd, at, latencies = max(sum.LargestHerd, s.LargestHerd), s.End, latencies+s.Latency.All()
	}
	p.unless(at == d.Window.End, "stages end at %s, and the window at %s", at, d.Window.End)
	p.equal("stages[].operations", sum.Operations, "window.operations", d.Window.Operations)
	p.equal("stages[].notifications", sum.Notifications, "counts.notifications", d.Counts.Notified())
	p.equal("stages[].largest_herd", int64(sum.LargestHerd), "the largest of herd.sizes", int64(d.Herd.Max()))
	p.equal("stages[].latency", latencies, "histograms."+metric.StagePhase(d), d.Histograms[metric.StagePhase(d)].All())
}

// checkBackground checks that every request of the background that was due was answered or failed.
func checkBackground(d *results.Document, p *problems) {
	b := d.Background
	if b == nil || b.During == nil {
		return
	}
	written := b.Alone.Write.Due - b.Alone.Write.Failed + b.During.Write.Due - b.During.Write.Failed
	p.atMost("background.*.write", written, "oracle.background_writes", d.Oracle.BackgroundWrites)
	for path, r := range map[string]results.BackgroundRequests{
		"background.alone.read": b.Alone.Read, "background.alone.write": b.Alone.Write,
		"background.during.read": b.During.Read, "background.during.write": b.During.Write,
	} {
		p.equal(path+".due without failed", r.Due-r.Failed, path+".response", r.Response.All())
		p.equal(path+".response", r.Response.All(), path+".service", r.Service.All())
	}
}
