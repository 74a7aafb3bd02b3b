package runner

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/background"
	"github.com/zkbench/zkbench/scenarios/load"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// drainInterval is the time between two drains of a stream. It bounds the memory of a measurement: the events of one interval.
const drainInterval = 100 * time.Millisecond

// stream gives the events of the clients to the recipe's observer, in the order of their places. It merges the observer's findings, the
// clients' notifications, the reads of the bystanders and the runner's notes by time, and hands them to the recorder, without keeping them.
//
// A drain gives the observer the events that were recorded before the previous drain. By then, nearly all replies that decide on
// places have arrived.
type stream struct {
	pool       *pool.Pool
	bystanders *background.Bystanders // nil without any
	background *background.Load
	arrivals   *load.Arrivals // nil unless the load is open
	observer   variants.Observer
	damage     func(variants.Damage)

	stop func() // ends the drains; see start

	noting sync.Mutex // guards notes
	notes  []note     // since the last drain

	mu       sync.Mutex // one drain at a time; guards the observer, the recorder and the fields below
	ordering variants.Ordering
	placed   []variants.Placed // of one drain; kept to reuse its memory
	recorder *recorder.Recorder
	pending  []note          // everything that is not handed on yet
	holds    []time.Duration // everything after the earliest of these times is kept back, see KeepBack
	drained  time.Duration   // everything before this time has been handed on
	window   windowState
	opened   wire.Counts // of the clients when the window began
	closed   wire.Counts // of the clients when the window ended
	started  wire.Counts // of the clients when the stream was started
	finished wire.Counts // of the clients when everything had been handed on
}

// note is something that the recorder is to learn.
type note struct {
	at   time.Duration
	kind noteKind
	do   func(at time.Duration)
}

// noteKind orders the notes of the same time.
type noteKind int

const (
	noteOfRunner     noteKind = iota // such as a fault
	noteNotification                 // before the end of the phase that it may have caused
	noteSpan
	noteServed
	noteRead
)

// newStream returns a stream that is not started. damage, if not nil, receives the damage that the observer finds.
func newStream(pool *pool.Pool, recipe variants.Recipe, r *recorder.Recorder, damage func(variants.Damage)) *stream {
	s := &stream{pool: pool, background: &background.Load{}, recorder: r, damage: damage}
	s.observer = recipe.NewObserver(variants.Findings{
		Span: func(found variants.Span) {
			// Two clients may have recorded a cause later than its effect. The span between them then has no length.
			found.Start = min(found.Start, found.End)
			s.add(found.End, noteSpan, func(time.Duration) { r.Span(found.Phase, found.Client, found.Start, found.End) })
		},
		Violation: func(v variants.Violation) { r.Violation(results.Violation{At: v.At, Text: v.Text}) },
		Damage:    damage,
	})
	return s
}

// Note lets the runner record something that happens now, in order of time with the events. It may be called concurrently.
//
// Note: as in [variants.Log], the time is taken under the mutex.
func (s *stream) Note(do func(at time.Duration)) {
	s.noting.Lock()
	defer s.noting.Unlock()
	s.notes = append(s.notes, note{s.pool.Since(), noteOfRunner, do})
}

// NoteAt is Note for something that has happened at a time since KeepBack.
func (s *stream) NoteAt(at time.Duration, do func(at time.Duration)) {
	s.noting.Lock()
	defer s.noting.Unlock()
	s.notes = append(s.notes, note{at, noteOfRunner, do})
}

// KeepBack keeps back everything that happens from now on, until release is called or the window opens or ends. If the exact time
// of an event becomes known only later, the event can then still be noted in the order of time.
func (s *stream) KeepBack() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.pool.Since()
	s.holds = append(s.holds, from)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.holds = slices.DeleteFunc(s.holds, func(t time.Duration) bool { return t == from })
	}
}

func (s *stream) start() {
	s.started = s.pool.Counts()
	s.take(s.started.Traffic())
	s.stop = pool.Every(drainInterval, func() bool { s.drain(); return true })
}

// finish stops the drains and hands on everything that is left. No client may be at work. If complete is true, all clients have
// done all their operations, and the observer reports the violations that only the end shows.
func (s *stream) finish(complete bool) {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for now := s.pool.Counts(); now != s.finished; now = s.pool.Counts() { // until nothing has arrived while it was taken
		s.finished = now
		s.take(now.Traffic())
	}
	s.ordering.Flush(math.MaxInt64, s.takeEvents, s.observer.Observe)
	if complete {
		s.observer.Complete()
	}
	s.handOn(math.MaxInt64)
}

// conclude completes the observer although clients are still at work, because they have waited too long to be served any more. Their
// further events are ignored. first is called before that, in the order of the events.
func (s *stream) conclude(first func(at time.Duration)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.flush(s.pool.Traffic())
	first(at)
	s.observer.Complete()
	s.observer = variants.Observers{}
}

// drain takes everything that was recorded before the call, and hands on everything that is old enough.
func (s *stream) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.take(s.pool.Traffic())
	s.handOnUnheld(s.ordering.Drain(at, s.takeEvents, s.observer.Observe))
}

// flush hands on everything before the time that it returns, with the traffic so far.
func (s *stream) flush(so wire.Traffic) (at time.Duration) {
	at = s.take(so)
	s.ordering.Flush(at, s.takeEvents, s.observer.Observe)
	s.handOnUnheld(at)
	return at
}

// takeEvents returns the events that the clients have recorded, as [variants.Log.Take] does.
func (s *stream) takeEvents(until time.Duration) []variants.Placed {
	clear(s.placed) // releases the writes
	s.placed = s.placed[:0]
	for _, c := range s.pool.Clients {
		s.placed = c.TakeEvents(s.placed, until)
	}
	return s.placed
}

// handOnUnheld hands on everything up to a time that is not kept back.
func (s *stream) handOnUnheld(until time.Duration) {
	for _, from := range s.holds {
		until = min(until, from-1)
	}
	s.drained = until
	s.handOn(until)
}

type windowState int

const (
	windowAhead windowState = iota
	windowOpen
	windowClosed
)

// openWindow begins the window, unless it has been cut. It returns the time at which it begins and the clients' counts before it.
func (s *stream) openWindow() (at time.Duration, counts wire.Counts) {
	return s.mark(s.open)
}

// closeWindow ends the window, unless it has been cut. It returns the time at which it ends and the clients' counts by then.
func (s *stream) closeWindow() (at time.Duration, counts wire.Counts) {
	return s.mark(s.close)
}

// cutWindow ends the window at once, begun or not. It returns the time and the window's counts. cut is false if it has ended already.
func (s *stream) cutWindow() (at time.Duration, counts wire.Counts, cut bool) {
	at, _ = s.mark(func(at time.Duration, counts wire.Counts) {
		cut = s.window != windowClosed
		s.open(at, counts)
		s.close(at, counts)
	})
	counts = s.closed
	counts.Sub(s.opened)
	return at, counts, cut
}

// open and close change the state of the window, and with it the background's stretch. Their caller holds the mutex.
func (s *stream) open(at time.Duration, counts wire.Counts) {
	if s.window == windowAhead {
		s.background.EnterWindow()
		s.recorder.OpenWindow(at)
		s.window, s.opened = windowOpen, counts
	}
}

func (s *stream) close(at time.Duration, counts wire.Counts) {
	if s.window == windowOpen {
		s.background.Leave()
		s.recorder.CloseWindow(at)
		s.window, s.closed = windowClosed, counts
	}
}

// mark drains, and then calls note with the time and the counts. The recorder receives the traffic of the same counts, so that the
// traffic between two marks is the difference of their counts.
func (s *stream) mark(note func(time.Duration, wire.Counts)) (at time.Duration, counts wire.Counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = nil
	counts = s.pool.Counts()
	at = s.flush(counts.Traffic())
	note(at, counts)
	return at, counts
}

// live describes the load until the latest drain.
func (s *stream) live() Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Live{Totals: s.recorder.Totals(), Minute: s.recorder.LastMinute(s.drained), LastSeconds: s.recorder.LastSeconds(s.drained)}
}

// take takes everything but events that was recorded before the time that it returns, with the traffic so far.
//
// Note: the order of the steps matters. All notifications of transactions up to passed arrive before at. Each source is read after
// at, so that it returns everything that was recorded before at.
func (s *stream) take(so wire.Traffic) (at time.Duration) {
	passed := s.pool.Passed()
	at = s.pool.Since()
	for _, c := range s.pool.Clients {
		for _, n := range c.TakeNotifications() {
			s.add(n.At, noteNotification, func(at time.Duration) {
				s.recorder.Notification(recorder.Notification{At: at, Client: c.ID, Zxid: n.Zxid, Type: n.Type.String(), Path: n.Path})
			})
		}
	}
	s.noting.Lock()
	s.pending = append(s.pending, s.notes...)
	s.notes = nil
	s.noting.Unlock()
	s.add(at, noteOfRunner, func(at time.Duration) {
		s.recorder.Traffic(at, recorder.Traffic(so))
		s.recorder.Passed(passed)
	})
	if resident := machine.ResidentMemory(); resident > 0 {
		s.add(at, noteOfRunner, func(at time.Duration) { s.recorder.Memory(at, resident) })
	}
	if s.bystanders != nil {
		for _, r := range s.bystanders.Take() {
			s.add(r.At+r.Response, noteRead, func(time.Duration) { s.recorder.Read(r) })
		}
	}
	if s.arrivals != nil {
		for _, served := range s.arrivals.TakeServed() {
			s.add(served.Done, noteServed, func(time.Duration) { s.recorder.Served(served) })
		}
		backlog := s.arrivals.Report(at)
		s.add(at, noteOfRunner, func(at time.Duration) { s.recorder.Backlog(at, backlog) })
	}
	return at
}

// The caller of add holds the mutex.
func (s *stream) add(at time.Duration, kind noteKind, do func(at time.Duration)) {
	s.pending = append(s.pending, note{at, kind, do})
}

// handOn hands on everything up to a time in order, and keeps the rest for the next call.
func (s *stream) handOn(until time.Duration) {
	slices.SortStableFunc(s.pending, func(a, b note) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind)) })
	done := 0
	for ; done < len(s.pending) && s.pending[done].at <= until; done++ {
		s.pending[done].do(s.pending[done].at)
	}
	s.pending = slices.Delete(s.pending, 0, done)
}
