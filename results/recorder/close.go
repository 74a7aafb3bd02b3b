package recorder

import (
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
)

// Unserved counts the arrivals of an open load that were due in the window and that no client completed.
type Unserved struct {
	GivenUp int64 // no client began them
	Begun   int64
}

// Close completes a document that already has everything that does not come from events, such as the scenario, the environment,
// the requests of the window and the oracle. It adds everything that was recorded, the metrics, and the warnings that follow from
// them. The window must have been opened and closed.
func (r *Recorder) Close(d *results.Document, u Unserved) {
	if r.window.end == ahead {
		panic("the window was not opened and closed")
	}
	r.closeHerds()
	r.CloseFailed(d)
	d.Window = results.Window{Start: r.window.start, End: r.window.end, Operations: r.window.operations}
	d.Counts.Notifications = r.notified
	d.Counts.SpuriousWakes = d.Counts.Notified() - r.useful
	d.Histograms = map[string]results.Histogram{}
	for prefix, phases := range map[string]map[string]*results.LiveHistogram{"": r.measured, results.WarmUpPrefix: r.warmUp} {
		for phase, live := range phases {
			d.Histograms[prefix+phase] = live.Encode()
		}
	}
	d.Across = map[string]results.Across{}
	for phase, c := range r.clocks {
		if c.Within = c.within.Encode(); c.Spans > 0 {
			d.Across[phase] = c.Across
		}
	}
	r.fillHerds(d)
	d.Timeline = r.timeline.timeline(r.window.stretch)
	if d.Stalls = []results.Stall{}; d.Scenario.Mode != results.ObservedMode { // an application may have nothing to do
		d.Stalls = r.stalls.found(r.frozen, d.Environment.SessionTimeout)
	}
	r.fillServers(d)
	d.Failure = r.failures.document()
	if losses := r.failures.doc.Losses; !r.config.Faulty && len(losses) > 0 {
		d.Losses = losses
	}
	r.fillOpen(d, u)
	r.fillStages(d)
	d.Metrics = metric.Compute(d)
	if !d.Partial { // clients that withdraw end their waits
		r.fillWaits(d)
	}
	d.Invalid = append(d.Invalid, doubts.Invalid(d)...)
	d.Warnings = append(d.Warnings, doubts.Warnings(d)...)
}

// CloseFailed completes the document of a load that failed. It adds the violations so far and nothing else.
func (r *Recorder) CloseFailed(d *results.Document) {
	d.Violations, d.MoreViolations = r.violations, r.moreViolations
}

// grouping returns the herds for the document. Servers of which it is not known are taken to name transactions if one notification does.
func (r *Recorder) grouping() *herds {
	all := results.Counts{Notifications: r.notified}.Notified()
	if len(r.herds) > int(guessed) && all > 0 && all == r.unnamed {
		return r.herds[guessed]
	}
	return r.herds[exact]
}

func (r *Recorder) fillHerds(d *results.Document) {
	found, name, ungrouped := r.grouping(), results.GroupedByZxid, r.unnamed
	if found.grouping == guessed {
		name, ungrouped = results.GroupedByPathAndTime, 0
	}
	d.Herd = results.Herd{
		Grouping: name, Ungrouped: ungrouped, Peak10ms: r.peak.most, Spread: found.spread.Encode(),
		Sizes: append([]results.SizeCount{}, results.HerdSizes(found.sizes)...), // none are an empty list
	}
	d.Series = r.series.document(found.grouping)
	if found.leader != nil {
		around := found.around.timeline(r.window.stretch)
		d.AroundHerd = &around
	}
}

func (r *Recorder) fillServers(d *results.Document) {
	d.Servers = append([]results.ServerReport{}, d.Servers...) // none is not the same as unknown
	for _, slowest := range r.reads {
		i := slices.IndexFunc(d.Servers, func(s results.ServerReport) bool { return s.Server == slowest.Server })
		if i >= 0 {
			d.Servers[i].SlowestRead = &slowest.Longest
		}
	}
}

// fillWaits fills in the waits that ended after the window, while the load was decreasing, and that are in no percentile.
func (r *Recorder) fillWaits(d *results.Document) {
	for _, w := range r.unfinished {
		d.Window.UnfinishedWaits++
		d.Window.OldestWait = max(d.Window.OldestWait, w.age)
		if float64(w.age) > d.Metrics[metric.Quantile(w.phase, 99)].Value {
			d.Window.StarvingWaits++
		}
	}
}
