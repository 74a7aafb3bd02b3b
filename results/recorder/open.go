package recorder

import (
	"time"

	"github.com/zkbench/zkbench/results"
)

// Served is one arrival of an open load, after it was served. The times are on the measurement's clock.
type Served struct {
	Due      time.Duration // when it arrived
	Begun    time.Duration // when a client began
	Done     time.Duration // when the client had finished
	Lateness time.Duration // how long it was due and its client free, before the client began
}

// Backlog counts the arrivals of an open load that wait for a client.
type Backlog struct {
	Most      int64         // the largest number since the previous call of [Recorder.Backlog]
	LastEmpty time.Duration // the last moment at which no arrival waited
}

type open struct {
	served, completed int64
	most              int64
	lastEmpty         time.Duration
	lateness          results.LiveHistogram
}

// Served records an arrival after it was served. Its times belong to the window if it was due in the window, even if it was
// served later. Without the arrivals that waited longest, the times would look better than they are.
func (r *Recorder) Served(s Served) {
	r.advance(s.Done)
	r.stalls.served(s.Due, s.Done)
	if r.window.contains(s.Done) {
		r.open.completed++
	}
	if r.window.contains(s.Due) {
		r.open.served++
		r.open.lateness.Add(s.Lateness)
		r.window.record(s.Due, func(in *stage) { in.latency.Add(s.Done - s.Due) })
	}
	r.addTime(results.ResponsePhase, s.Due, s.Done-s.Due)
	r.addTime(results.ServicePhase, s.Due, s.Done-s.Begun)
}

// ServedInWindow returns how many arrivals were served that were due in the window.
func (r *Recorder) ServedInWindow() int64 { return r.open.served }

// Backlog records how many arrivals wait for a client, up to now.
func (r *Recorder) Backlog(at time.Duration, b Backlog) {
	r.advance(at)
	r.series.backlog(at, b.Most)
	if r.window.contains(at) {
		r.open.most = max(r.open.most, b.Most)
		r.window.record(at, func(s *stage) { s.waiting = max(s.waiting, b.Most) })
		r.open.lastEmpty = b.LastEmpty
	}
}

func (r *Recorder) fillOpen(d *results.Document, u Unserved) {
	if !r.config.Open {
		return
	}
	d.Open = &results.Open{
		Arrivals: r.open.served + u.GivenUp + u.Begun, Served: r.open.served, GivenUp: u.GivenUp, Completed: r.open.completed,
		BacklogMax: r.open.most, LastEmpty: r.open.lastEmpty, Lateness: r.open.lateness.Encode(),
	}
}
