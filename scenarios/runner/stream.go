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
	"github.com/zkbench/zkbench/scenarios/block"
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
	crew       *crew
	bystanders *background.Bystanders
	background *background.Load
	open       bool // the load is
	observer   variants.Observer
	damage     func(variants.Damage)

	stop func() // ends the drains; see start

	noting sync.Mutex // guards notes
	notes  []note     // since the last drain

	mu       sync.Mutex // one drain at a time; guards the observer, the recorder and the fields below
	ordering variants.Ordering
	recorder *recorder.Recorder
	pending  []note           // everything that is not handed on yet
	holds    []*time.Duration // everything after the earliest of these times is kept back, see KeepBack
	last     time.Duration    // when the latest drain began
	drained  time.Duration    // everything before this time has been handed on
	window   windowState
	opened   wire.Counts   // of the clients when the window began
	closed   wire.Counts   // of the clients when the window ended
	started  wire.Counts   // of the clients when the stream was started
	finished wire.Counts   // of the clients when everything had been handed on
	apart    time.Duration // see [results.Window]
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
func newStream(c *crew, recipe variants.Recipe, r *recorder.Recorder, damage func(variants.Damage)) *stream {
	s := &stream{crew: c, bystanders: &background.Bystanders{}, background: &background.Load{}, recorder: r, damage: damage}
	s.observer = recipe.NewObserver(variants.Findings{
		Span: func(found variants.Span) {
			s.add(found.End, noteSpan, func(time.Duration) {
				if found.Across {
					r.SpanAcross(found.Phase, found.Client, found.Start, found.End)
					return
				}
				// Two clients may have recorded a cause later than its effect. The span between them then has no length.
				r.Span(found.Phase, found.Client, min(found.Start, found.End), found.End)
			})
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
	s.notes = append(s.notes, note{s.crew.Since(), noteOfRunner, do})
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
	from := s.crew.Since()
	s.holds = append(s.holds, &from)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.holds = slices.DeleteFunc(s.holds, func(t *time.Duration) bool { return t == &from })
	}
}

func (s *stream) start() {
	first := s.take(block.Drain{Counts: true})
	s.started = first.Counts
	s.ordering.Drain(0, first.Events, s.observer.Observe)
	s.stop = pool.Every(drainInterval, func() bool { s.drain(); return true })
}

// finish stops the drains and hands on everything that is left. No client may be at work. If complete is true, all clients have
// done all their operations, and the observer reports the violations that only the end shows.
func (s *stream) finish(complete bool) {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []variants.Placed
	for before := int64(-1); ; { // until nothing has arrived while it was taken
		batch := s.take(block.Drain{Counts: true, All: true})
		all, s.finished = append(all, batch.Events...), batch.Counts
		arrived := batch.Counts.TotalRequests() + batch.Counts.TotalNotifications() + batch.Counts.BytesIn
		if arrived == before {
			break
		}
		before = arrived
	}
	if s.crew.lost() { // its clients' last events are missing, and those of others would accuse
		return
	}
	s.ordering.Flush(math.MaxInt64, all, s.observer.Observe)
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
	batch := s.take(block.Drain{All: true})
	s.ordering.Flush(math.MaxInt64, batch.Events, s.observer.Observe)
	s.handOnUnheld(batch.At)
	first(batch.At)
	s.observer.Complete()
	s.observer = variants.Observers{}
}

// drain takes everything that was recorded before the call, and hands on everything that is old enough.
func (s *stream) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, given := s.takeSome(block.Drain{})
	s.handOnUnheld(given)
}

// takeSome takes what has its place, gives the observer what is old enough, and returns the time up to which that is everything. If all
// clients have one clock, events wait for their places until the next drain.
func (s *stream) takeSome(d block.Drain) (batch block.Batch, given time.Duration) {
	d.Until = s.last
	if s.ordering.Apart > 0 {
		d.Until = max(d.Until-block.ReplyPatience, 0)
	}
	batch = s.take(d)
	complete := d.Until
	if s.ordering.Apart > 0 {
		complete = batch.Complete
	}
	return batch, s.ordering.Drain(complete, batch.Events, s.observer.Observe)
}

// flush hands on everything before the time of the batch that it returns. Unless all clients are at rest, or have one clock, it waits for
// the places of events in the window; those before the window may come later.
func (s *stream) flush(atRest bool) (batch block.Batch) {
	if d := (block.Drain{Counts: true, All: atRest || s.ordering.Apart == 0}); d.All {
		batch = s.take(d)
		s.ordering.Flush(batch.At, batch.Events, s.observer.Observe)
	} else {
		var given time.Duration
		batch, given = s.takeSome(d)
		for s.window == windowOpen && given < batch.At && s.crew.cause() == nil {
			time.Sleep(drainInterval)
			_, given = s.takeSome(block.Drain{})
		}
	}
	s.handOnUnheld(batch.At)
	return batch
}

// handOnUnheld hands on everything up to a time that is not kept back.
func (s *stream) handOnUnheld(until time.Duration) {
	for _, from := range s.holds {
		until = min(until, *from-1)
	}
	s.drained = max(s.drained, until)
	s.handOn(until)
}

type windowState int

const (
	windowAhead windowState = iota
	windowOpen
	windowClosed
)

// openWindow begins the window, unless it has been cut, and returns the time.
func (s *stream) openWindow() (at time.Duration) { return s.mark(false, s.opens) }

// closeWindow ends the window, unless it has been cut, and returns the time. If the clients have several clocks, none may be at work: no
// reply will say more about the places of events.
func (s *stream) closeWindow() (at time.Duration) { return s.mark(true, s.closes) }

// cutWindow ends the window at once, begun or not. It returns the time and the window's counts. cut is false if it has ended already.
func (s *stream) cutWindow() (at time.Duration, counts wire.Counts, cut bool) {
	at = s.mark(false, func(at time.Duration, counts wire.Counts) {
		cut = s.window != windowClosed
		s.opens(at, counts)
		s.closes(at, counts)
	})
	counts = s.closed
	counts.Sub(s.opened)
	return at, counts, cut
}

// opens and closes change the state of the window, and with it the background's stretch. Their caller holds the mutex.
func (s *stream) opens(at time.Duration, counts wire.Counts) {
	if s.window == windowAhead {
		s.background.EnterWindow()
		s.recorder.OpenWindow(at)
		s.window, s.opened = windowOpen, counts
	}
}

func (s *stream) closes(at time.Duration, counts wire.Counts) {
	if s.window == windowOpen {
		s.background.Leave()
		s.recorder.CloseWindow(at)
		s.window, s.closed = windowClosed, counts
	}
}

// mark drains, and then calls note with the time and the counts. The recorder receives the traffic of the same counts, so that the
// traffic between two marks is the difference of their counts.
func (s *stream) mark(atRest bool, note func(time.Duration, wire.Counts)) (at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = nil
	batch, before := s.flush(atRest), s.window
	if note(batch.At, batch.Counts); s.window != before {
		s.apart += batch.Latest - batch.At
	}
	return batch.At
}

// live describes the load until the latest drain.
func (s *stream) live() Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Live{Totals: s.recorder.Totals(), Minute: s.recorder.LastMinute(s.drained), LastSeconds: s.recorder.LastSeconds(s.drained),
		Workers: slices.Clone(s.crew.live)}
}

// take takes everything that was recorded before the time of the batch that it returns, which has the events. See [block.Block.Drain] for
// the order of the steps. Each source of the runner is read after that time, too.
func (s *stream) take(d block.Drain) block.Batch {
	batch := s.crew.drain(d)
	s.last = batch.At
	s.ordering.Apart = 4 * batch.ClockBound // of two workers, and twice as much: what replies are waited for until is converted, too
	for _, n := range batch.Notifications {
		s.add(n.At, noteNotification, func(time.Duration) { s.recorder.Notification(n) })
	}
	s.noting.Lock()
	s.pending = append(s.pending, s.notes...)
	s.notes = nil
	s.noting.Unlock()
	for _, at := range batch.Failed {
		s.add(at, noteOfRunner, s.recorder.FailedOperation)
	}
	for _, at := range batch.Rejoined {
		s.add(at, noteOfRunner, s.recorder.Rejoined)
	}
	s.add(batch.At, noteOfRunner, func(at time.Duration) {
		s.recorder.Traffic(at, recorder.Traffic(batch.Traffic))
	})
	s.add(batch.Latest, noteOfRunner, func(time.Duration) { s.recorder.Passed(batch.Passed) }) // of several batches, the last one
	if batch.Memory > 0 {
		s.add(batch.At, noteOfRunner, func(at time.Duration) { s.recorder.Memory(at, batch.Memory) })
	}
	for _, r := range s.bystanders.Take() {
		s.add(r.At+r.Response, noteRead, func(time.Duration) { s.recorder.Read(r) })
	}
	for _, served := range batch.Served {
		s.add(served.Done, noteServed, func(time.Duration) { s.recorder.Served(served) })
	}
	if s.open {
		s.add(batch.At, noteOfRunner, func(at time.Duration) { s.recorder.Backlog(at, batch.Backlog) })
	}
	return batch
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
