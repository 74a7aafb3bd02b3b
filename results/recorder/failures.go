package recorder

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
)

// noFault is the id of a fault that the document does not list.
const noFault = -1

// failures collects the faults of the window and what they cost. It keeps the faults that are listed, and those after which
// no other client has completed an operation yet.
type failures struct {
	window  *window
	faulty  bool
	clients int
	longest []string      // losses of which the largest amount counts
	last    time.Duration // the latest event

	doc        results.Failure
	recovery   results.LiveHistogram
	unresolved []unresolved  // oldest first
	completed  time.Duration // the latest completion in the window, or its start
}

// unresolved is a fault after which no other client has completed an operation yet.
type unresolved struct {
	id      int // noFault if the document does not list it
	at      time.Duration
	victims []int // nil if no client is a victim
	all     bool  // every client is a victim
}

func newFailures(c Config, w *window) failures {
	f := failures{window: w, faulty: c.Faulty, clients: max(c.Clients, 1), longest: c.LongestLosses}
	f.doc = results.Failure{Faults: []results.Fault{}, Losses: map[string]int64{}}
	for _, loss := range c.Losses {
		f.doc.Losses[loss] = 0
	}
	return f
}

// unavailableUntil ends a stretch in which no operation was completed.
func (f *failures) unavailableUntil(at time.Duration) {
	if f.window.isOpen() {
		f.doc.Unavailable = max(f.doc.Unavailable, at-f.completed)
		f.completed = at
	}
}

// FaultBegan records a fault at the moment from which it is in effect, and returns its id for [Recorder.FaultEnded]. The
// victims are the clients whose own operations do not count as a recovery.
func (r *Recorder) FaultBegan(at time.Duration, kind, target string, victims []int) (id int) {
	r.advance(at)
	return r.failures.began(results.Fault{At: at, Kind: kind, Target: target, Victims: append([]int{}, victims...), Recovery: -1})
}

func (f *failures) began(fault results.Fault) (id int) {
	if !f.window.isOpen() {
		return noFault
	}
	slices.Sort(fault.Victims)
	fault.Victims = slices.Compact(fault.Victims)
	id = noFault
	if len(f.doc.Faults) < results.MaxFaults {
		id = len(f.doc.Faults)
		f.doc.Faults = append(f.doc.Faults, fault)
	} else {
		f.doc.MoreFaults++
	}
	one := unresolved{id: id, at: fault.At, all: len(fault.Victims) >= f.clients}
	if !one.all {
		one.victims = fault.Victims
	}
	f.unresolved = append(f.unresolved, one)
	return id
}

// FaultEnded records that a fault was undone.
func (r *Recorder) FaultEnded(id int, at time.Duration) {
	r.advance(at)
	if id != noFault {
		r.failures.doc.Faults[id].Length = at - r.failures.doc.Faults[id].At
	}
}

// MissedFault records that a fault was due and met no victim.
func (r *Recorder) MissedFault(at time.Duration) {
	r.advance(at)
	if r.failures.window.isOpen() {
		r.failures.doc.Missed++
	}
}

// FailedOperation records that a step of a client ended in an error.
func (r *Recorder) FailedOperation(at time.Duration, _ int) {
	r.advance(at)
	if r.failures.window.isOpen() {
		r.failures.doc.FailedOperations++
	}
}

// Rejoined records that a client joined again with a new session.
func (r *Recorder) Rejoined(at time.Duration, _ int) {
	r.advance(at)
	if r.failures.window.isOpen() {
		r.failures.doc.Rejoins++
	}
}

// Damage records a loss, in the window or outside of it.
func (r *Recorder) Damage(loss string, amount int64) {
	if slices.Contains(r.failures.longest, loss) {
		r.failures.doc.Losses[loss] = max(r.failures.doc.Losses[loss], amount)
	} else {
		r.failures.doc.Losses[loss] += amount
	}
}

// operation records a completed operation, which ends the recovery from all faults of which its client is no victim.
func (f *failures) operation(client int, s stretch) {
	f.unavailableUntil(s.end)
	f.unresolved = slices.DeleteFunc(f.unresolved, func(one unresolved) bool {
		if !one.endsWith(client, s) {
			return false
		}
		took := s.end - one.at
		f.recovery.Add(took)
		if one.id != noFault {
			f.doc.Faults[one.id].Recovery = took
		}
		return true
	})
}

// endsWith reports whether a completed operation ends the recovery from a fault.
func (u unresolved) endsWith(client int, s stretch) bool {
	if u.all {
		return s.start >= u.at
	}
	return s.end >= u.at && !slices.Contains(u.victims, client)
}

// document returns the failure as a document keeps it; nil if the scenario has no faults.
func (f *failures) document() (*results.Failure, error) {
	if !f.faulty {
		return nil, nil
	}
	out := f.doc
	out.Unrecovered = int64(len(f.unresolved))
	if out.Unrecovered > 0 {
		out.LongestUnrecovered = f.last - f.unresolved[0].at
	}
	var err error
	out.Recovery, err = f.recovery.Encode()
	return &out, err
}
