// Package recordertest gives a recorder the events of an invented measurement, for tests of everything that needs a document.
package recordertest

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/recorder"
)

// Span is one timed phase of one client.
type Span struct {
	Phase      string
	Client     int
	Start, End time.Duration
}

// Stretch is a span of time on the measurement's clock.
type Stretch struct{ Start, End time.Duration }

// Fault is one fault of a measurement.
type Fault struct {
	Kind, Target string
	Victims      []int
	Start, End   time.Duration // it is never undone if End is 0
}

// Measurement lists the events of a measurement, in any order.
type Measurement struct {
	Config        recorder.Config
	Window        Stretch
	Frozen        Stretch // in which zkbench stops the servers; empty if it does not
	Spans         []Span
	Notifications []recorder.Notification
	Reads         []results.BystanderRead
	Passed        map[time.Duration]int64 // the zxid that all sessions have passed, by time
	Faults        []Fault                 // of a measurement whose Config is faulty
	Missed        []time.Duration         // when a fault met no victim
	Failed        []time.Duration         // when a step ended in an error
	Rejoined      []time.Duration
	Damage        map[string]int64                   // by loss
	Traffic       map[time.Duration]recorder.Traffic // so far, by time
}

type event struct {
	at   time.Duration
	rank int // among simultaneous events
	do   func(r *recorder.Recorder)
}

// Events are the calls of a recorder in order of time.
type Events []event

// Play makes the calls after one moment, up to another.
func (e Events) Play(r *recorder.Recorder, after, upTo time.Duration) {
	for _, one := range e {
		if after < one.at && one.at <= upTo {
			one.do(r)
		}
	}
}

// Replay returns a recorder that has received the measurement.
func (m Measurement) Replay() *recorder.Recorder {
	r := recorder.New(m.Config)
	m.Events().Play(r, math.MinInt64, math.MaxInt64)
	return r
}

// Events returns the calls that record the measurement. The edges of the window include simultaneous events.
func (m Measurement) Events() Events {
	events := []event{
		{m.Window.Start, 0, func(r *recorder.Recorder) { r.OpenWindow(m.Window.Start) }},
		{m.Window.End, 2, func(r *recorder.Recorder) { r.CloseWindow(m.Window.End) }},
	}
	if m.Frozen != (Stretch{}) {
		events = append(events,
			event{m.Frozen.Start, 0, func(r *recorder.Recorder) { r.Freeze(m.Frozen.Start) }},
			event{m.Frozen.End, 2, func(r *recorder.Recorder) { r.Thaw(m.Frozen.End) }})
	}
	for _, n := range m.Notifications {
		events = append(events, event{n.At, 1, func(r *recorder.Recorder) { r.Notification(n) }})
	}
	for _, s := range m.Spans {
		events = append(events, event{s.End, 1, func(r *recorder.Recorder) { r.Span(s.Phase, s.Client, s.Start, s.End) }})
	}
	for _, b := range m.Reads {
		events = append(events, event{b.At + b.Response, 1, func(r *recorder.Recorder) { r.Read(b) }})
	}
	for at, zxid := range m.Passed {
		events = append(events, event{at, 3, func(r *recorder.Recorder) { r.Passed(zxid) }})
	}
	for at, so := range m.Traffic {
		events = append(events, event{at, -1, func(r *recorder.Recorder) { r.Traffic(at, so) }})
	}
	events = append(events, m.failures()...)
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	return events
}

func (m Measurement) failures() []event {
	var events []event
	for _, f := range m.Faults {
		var id int
		events = append(events, event{f.Start, 1, func(r *recorder.Recorder) { id = r.FaultBegan(f.Start, f.Kind, f.Target, f.Victims) }})
		if f.End > 0 {
			events = append(events, event{f.End, 1, func(r *recorder.Recorder) { r.FaultEnded(id, f.End) }})
		}
	}
	for _, list := range []struct {
		times []time.Duration
		do    func(r *recorder.Recorder, at time.Duration)
	}{
		{m.Missed, (*recorder.Recorder).MissedFault},
		{m.Failed, (*recorder.Recorder).FailedOperation},
		{m.Rejoined, (*recorder.Recorder).Rejoined},
	} {
		for _, at := range list.times {
			events = append(events, event{at, 1, func(r *recorder.Recorder) { list.do(r, at) }})
		}
	}
	for loss, amount := range m.Damage {
		events = append(events, event{m.Window.End, 3, func(r *recorder.Recorder) { r.Damage(loss, amount) }})
	}
	return events
}

// Complete records the measurement into a document that already describes it. The document has the facts of the measurement,
// such as its counts and servers, and also the recorder's phases, version and number of clients. The traffic of a faulty
// measurement without Traffic is spread evenly.
func (m Measurement) Complete(t testing.TB, d *results.Document) {
	t.Helper()
	m.Config.Operation, m.Config.Waiting, m.Config.Version, m.Config.Clients = d.Operation, d.Waiting, d.Environment.ZooKeeper, d.Clients
	if len(d.Phases) > 0 {
		m.Config.Phase = d.Phases[0]
	}
	if m.Config.Faulty && m.Traffic == nil {
		total := recorder.Traffic{Requests: d.Counts.TotalRequests(), BytesIn: d.Counts.BytesIn}
		m.Traffic = map[time.Duration]recorder.Traffic{m.Window.Start: {}, m.Window.End: total}
	}
	must.Do(t, m.Replay().Close(d, recorder.Unserved{}))
}
