package recorder

import (
	"errors"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
)

// Facts holds the results of a measurement that are not events.
type Facts struct {
	Counts         results.Counts      // of the window, without notifications, which the recorder counts
	Heap           *results.Heap       // nil if the scenario did not ask for it
	Floor          *results.Floor      // nil in a rehearsal
	Background     *results.Background // nil if the scenario has none
	Health         results.Health
	Oracle         results.Oracle
	Servers        []results.ServerReport
	Costs          map[string]results.Cost // the values of the variant's formulas, by metric
	SessionTimeout time.Duration           // as granted
	GivenUp        int64                   // arrivals of an open load that were due in the window and that no client began
	Unserved       int64                   // those that a client began and never completed
}

// Close completes a document that already describes the scenario, the recipe and the environment. It adds everything that
// was recorded, the facts, the metrics, and the warnings that follow from them.
func (r *Recorder) Close(d *results.Document, f Facts) error {
	if !r.window.opened || !r.window.closed {
		return errors.New("the window was not opened and closed")
	}
	r.closeHerds()
	r.fillFacts(d, f)
	r.fillDistributions(d)
	d.Timeline = r.timeline.timeline(r.window.stretch)
	if d.Stalls = []results.Stall{}; !r.config.MayRest {
		d.Stalls = r.stalls.found(r.frozen, f.SessionTimeout)
	}
	r.fillServers(d, f.Servers)
	d.Failure = r.failures.document()
	if losses := r.failures.doc.Losses; !r.config.Faulty && len(losses) > 0 {
		d.Losses = losses
	}
	r.fillOpen(d, f)
	r.fillStages(d)
	d.Metrics = metric.Compute(d)
	if !d.Partial { // clients that withdraw end their waits
		r.fillWaits(d)
	}
	doubts.Add(d)
	return nil
}

// CloseFailed completes the document of a load that failed. It adds the violations so far and nothing else.
func (r *Recorder) CloseFailed(d *results.Document) {
	d.Violations, d.MoreViolations = r.violations, r.moreViolations
}

func (r *Recorder) fillFacts(d *results.Document, f Facts) {
	r.CloseFailed(d)
	w := r.window
	d.Window = results.Window{Start: w.start, End: w.end, Operations: w.operations}
	d.Environment.SessionTimeout = f.SessionTimeout
	d.Counts = f.Counts
	d.Counts.Notifications = r.notified
	d.Counts.SpuriousWakes = d.Counts.Notified() - r.useful
	d.Heap, d.Floor, d.Health, d.Oracle, d.Background = f.Heap, f.Floor, f.Health, f.Oracle, f.Background
	d.Expected = results.Expected{Costs: f.Costs}
}

func (r *Recorder) fillDistributions(d *results.Document) {
	d.Histograms = map[string]results.Histogram{}
	for _, part := range []struct {
		prefix string
		live   map[string]*results.LiveHistogram
	}{{"", r.measured}, {results.WarmUpPrefix, r.warmUp}} {
		for phase, live := range part.live {
			d.Histograms[part.prefix+phase] = live.Encode()
		}
	}
	r.fillHerds(d)
}

// grouping returns the herds for the document. Servers of an unknown version are assumed to name transactions if one
// notification in the window does.
func (r *Recorder) grouping() *herds {
	if len(r.herds) > int(guessed) && !r.named && r.unnamed > 0 {
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

func (r *Recorder) fillServers(d *results.Document, servers []results.ServerReport) {
	d.Servers = append([]results.ServerReport{}, servers...) // none is not the same as unknown
	for _, slowest := range r.reads {
		i := slices.IndexFunc(d.Servers, func(s results.ServerReport) bool { return s.Server == slowest.Server })
		if i >= 0 {
			d.Servers[i].SlowestRead = &slowest.Longest
		}
	}
}

// fillWaits fills in the waits that had not ended when the window ended. They ended later, while the load was decreasing, and
// are not in any percentile.
func (r *Recorder) fillWaits(d *results.Document) {
	for _, w := range r.unfinished {
		d.Window.UnfinishedWaits++
		d.Window.OldestWait = max(d.Window.OldestWait, w.age)
		if float64(w.age) > d.Metrics[metric.Quantile(w.phase, 99)].Value {
			d.Window.StarvingWaits++
		}
	}
}
