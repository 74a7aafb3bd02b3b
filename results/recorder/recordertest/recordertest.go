// Package recordertest gives a recorder the events of an invented measurement, for tests of everything that needs a document.
package recordertest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
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

// Replay returns a recorder that has received the measurement. The edges of the window include simultaneous events.
func (m Measurement) Replay() *recorder.Recorder {
	r := recorder.New(m.Config)
	type event struct {
		at   time.Duration
		rank int // among simultaneous events
		do   func()
	}
	var events []event
	add := func(at time.Duration, rank int, do func()) { events = append(events, event{at, rank, do}) }
	add(m.Window.Start, 0, func() { r.OpenWindow(m.Window.Start) })
	add(m.Window.End, 2, func() { r.CloseWindow(m.Window.End) })
	if m.Frozen != (Stretch{}) {
		add(m.Frozen.Start, 0, func() { r.Freeze(m.Frozen.Start) })
		add(m.Frozen.End, 2, func() { r.Thaw(m.Frozen.End) })
	}
	for _, n := range m.Notifications {
		add(n.At, 1, func() { r.Notification(n) })
	}
	for _, s := range m.Spans {
		add(s.End, 1, func() { r.Span(s.Phase, s.Client, s.Start, s.End) })
	}
	for _, b := range m.Reads {
		add(b.At+b.Response, 1, func() { r.Read(b) })
	}
	for at, zxid := range m.Passed {
		add(at, 3, func() { r.Passed(zxid) })
	}
	for at, so := range m.Traffic {
		add(at, -1, func() { r.Traffic(at, so) })
	}
	m.fail(r, add)
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	for _, e := range events {
		e.do()
	}
	return r
}

func (m Measurement) fail(r *recorder.Recorder, add func(at time.Duration, rank int, do func())) {
	for _, f := range m.Faults {
		var id int
		add(f.Start, 1, func() { id = r.FaultBegan(f.Start, f.Kind, f.Target, f.Victims) })
		if f.End > 0 {
			add(f.End, 1, func() { r.FaultEnded(id, f.End) })
		}
	}
	for _, at := range m.Missed {
		add(at, 1, func() { r.MissedFault(at) })
	}
	for _, at := range m.Failed {
		add(at, 1, func() { r.FailedOperation(at) })
	}
	for _, at := range m.Rejoined {
		add(at, 1, func() { r.Rejoined(at) })
	}
	for loss, amount := range m.Damage {
		add(m.Window.End, 3, func() { r.Damage(loss, amount) })
	}
}

// Complete records the measurement into a document that already describes it. The document has the facts of the measurement,
// such as its counts and servers, and also the recorder's phases, servers and number of clients. The traffic of a measurement
// without Traffic is spread evenly. The oracle gets what the sessions counted while the series lasts.
func (m Measurement) Complete(d *results.Document) {
	m.Config.Operation, m.Config.Waiting, m.Config.Clients = d.Operation, d.Waiting, d.Clients
	m.Config.Phase, m.Config.Named = d.FirstPhase(), d.Environment.NamesTransactions()
	if m.Traffic == nil {
		total := recorder.Traffic{Requests: d.Counts.TotalRequests(), BytesIn: d.Counts.BytesIn}
		m.Traffic = map[time.Duration]recorder.Traffic{m.Window.Start: {}, m.Window.End: total}
	}
	times := slices.Sorted(maps.Keys(m.Traffic))
	d.Oracle.AllRequests = m.Traffic[times[len(times)-1]].Requests - m.Traffic[times[0]].Requests
	d.Oracle.AllNotifications = int64(len(m.Notifications))
	m.Replay().Close(d, recorder.Unserved{})
}
