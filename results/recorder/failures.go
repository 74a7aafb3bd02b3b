package recorder

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
)

// MaxFaults is the largest number of faults that a document lists; others are only counted.
const MaxFaults = 200

// noFault is the id of a fault outside of the window.
const noFault = -1

type failures struct {
	window *window
	config Config
	last   time.Duration // the latest event

	doc        results.Failure
	faults     int                      // of the window; their ids are consecutive
	began      [MaxFaults]time.Duration // when the latest faults began, by id modulo MaxFaults
	recovery   results.LiveHistogram
	unresolved []unresolved               // oldest first
	completed  time.Duration              // the latest completion in the window, or its start
	recent     queue[results.TimelineDot] // operations of the last second, until the first fault
	around     *faultExcerpt              // of the first fault; nil before it
	busiest    busiest                    // of the window
}

type unresolved struct {
	id      int
	at      time.Duration
	victims []int
	all     bool // every client is a victim
}

func newFailures(c Config, w *window) failures {
	f := failures{window: w, config: c, doc: results.Failure{Faults: []results.Fault{}, Losses: map[string]int64{}}}
	for _, loss := range c.Losses {
		f.doc.Losses[loss] = 0
	}
	return f
}

// FaultBegan records a fault at the moment from which it is in effect, and returns its id for [Recorder.FaultEnded]. The
// victims are the clients whose own operations do not count as a recovery.
func (r *Recorder) FaultBegan(at time.Duration, kind, target string, victims []int) (id int) {
	r.advance(at)
	f := &r.failures
	if !f.window.isOpen() {
		return noFault
	}
	fault := results.Fault{At: at, Kind: kind, Target: target, Victims: append([]int{}, list.Distinct(victims)...), Recovery: -1}
	if f.faults == 0 {
		f.excerptAround(at, &r.recent)
	}
	r.stalls.fault = at
	id = f.faults
	f.faults++
	f.began[id%MaxFaults] = at
	if id < MaxFaults {
		f.doc.Faults = append(f.doc.Faults, fault)
	} else {
		f.doc.MoreFaults++
	}
	all := len(fault.Victims) >= max(f.config.Clients, 1)
	f.unresolved = append(f.unresolved, unresolved{id: id, at: at, victims: fault.Victims, all: all})
	return id
}

// FaultEnded records that a fault was undone. It ignores a fault that is not among the last MaxFaults.
func (r *Recorder) FaultEnded(id int, at time.Duration) {
	r.advance(at)
	f := &r.failures
	if id == noFault || id < f.faults-MaxFaults {
		return
	}
	began := f.began[id%MaxFaults]
	r.stalls.faultEnded(began, at)
	if id < MaxFaults {
		f.doc.Faults[id].Length = at - began
	}
}

// MissedFault records that a fault was due in the window and met no victim. That may only be known when the window has ended.
func (r *Recorder) MissedFault(at time.Duration) {
	r.advance(at)
	if r.window.start < ahead {
		r.failures.doc.Missed++
	}
}

// FailedOperation records that a step of a client ended in an error.
func (r *Recorder) FailedOperation(at time.Duration) {
	r.seconds.totals.FailedOperations++
	r.countIn(at, &r.failures.doc.FailedOperations)
}

// Rejoined records that a client joined again with a new session.
func (r *Recorder) Rejoined(at time.Duration) { r.countIn(at, &r.failures.doc.Rejoins) }

func (r *Recorder) countIn(at time.Duration, count *int64) {
	r.advance(at)
	if r.window.contains(at) {
		*count++
	}
}

// Damage records a loss, in the window or outside of it, with or without faults.
func (r *Recorder) Damage(loss string, amount int64) {
	losses := r.failures.doc.Losses
	if metric.Named(loss).Kind == metric.KindTime { // the longest one counts
		losses[loss] = max(losses[loss], amount)
	} else {
		losses[loss] += amount
	}
}

// Uncounted removes a loss from the document, because the run did not look for it.
func (r *Recorder) Uncounted(loss string) { delete(r.failures.doc.Losses, loss) }

func (f *failures) unavailableUntil(at time.Duration) {
	if f.window.isOpen() {
		f.doc.Unavailable = max(f.doc.Unavailable, at-f.completed)
		f.completed = max(f.completed, at)
	}
}

// operation records a completed operation. It ends the recovery from all faults that do not have its client as a victim.
func (f *failures) operation(client int, s stretch) {
	if !f.config.Faulty {
		return
	}
	f.unavailableUntil(s.end)
	f.draw(results.TimelineDot{At: s.end, Client: client})
	f.unresolved = slices.DeleteFunc(f.unresolved, func(one unresolved) bool {
		if !one.endsWith(client, s, slices.Contains(f.config.Waiting, f.config.Operation)) {
			return false
		}
		f.recovered(one.id, s.end-one.at)
		return true
	})
}

// endsWith reports whether a completed operation ends the recovery from a fault; s is the stretch of its last phase. If that
// phase began before the fault, the operation does not show a recovery, unless the phase waits for other clients. An example
// is the release by which the victim itself was granted the lock.
func (u unresolved) endsWith(client int, s stretch, waits bool) bool {
	if s.start < u.at && (u.all || !waits) {
		return false
	}
	return u.all || !slices.Contains(u.victims, client)
}

func (f *failures) recovered(id int, took time.Duration) {
	f.recovery.Add(took)
	if id < MaxFaults {
		f.doc.Faults[id].Recovery = took
	}
	if id == 0 {
		f.around.end = min(f.around.end, f.doc.Faults[0].At+took+margin)
	}
}

func (f *failures) document() *results.Failure {
	if !f.config.Faulty {
		return nil
	}
	out := f.doc
	out.Unrecovered = int64(len(f.unresolved))
	if out.Unrecovered > 0 {
		out.LongestUnrecovered = f.last - f.unresolved[0].at
	}
	out.PeakRequests, out.PeakBytesIn = f.busiest.most.Requests, f.busiest.most.BytesIn
	if f.around != nil {
		t := f.around.timeline(f.window.stretch)
		out.Around = &results.FaultExcerpt{Timeline: t, Operations: within(stretch{t.Start, t.End}, f.around.operations.items, dotAt)}
	}
	out.Recovery = f.recovery.Encode()
	return &out
}
