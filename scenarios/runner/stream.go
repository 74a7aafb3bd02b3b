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
	"github.com/zkbench/zkbench/variants"
)

// drainInterval is the time between two drains of a stream. It bounds the memory of a measurement, which keeps only the
// events of one interval.
const drainInterval = 100 * time.Millisecond

// stream merges the events of the clients, their notifications and the reads of the bystanders by time, and hands them to the
// recipe's observer and to the recorder. It keeps nothing that it has handed on.
type stream struct {
	pool       *clientPool
	bystanders *bystanders // nil without any
	observer   variants.Observer
	recorder   *recorder.Recorder

	stop chan struct{}
	done sync.WaitGroup

	mu            sync.Mutex // one drain at a time; guards the observer, the recorder and the fields below
	events        []variants.Event
	notifications []results.Notification
	reads         []results.BystanderRead
	taken         []wire.Notification // of one ledger; kept to reuse its memory
}

// newStream returns a stream that has handed on nothing.
func newStream(pool *clientPool, recipe variants.Recipe, r *recorder.Recorder) *stream {
	return &stream{
		pool: pool,
		observer: recipe.NewObserver(variants.Findings{
			Span:      func(s variants.Span) { r.Span(s.Phase, s.Client, s.Start, s.End) },
			Violation: func(v variants.Violation) { r.Violation(results.Violation{At: v.At, Text: v.Text}) },
		}),
		recorder: r,
		stop:     make(chan struct{}),
	}
}

// start drains until finish.
func (s *stream) start() {
	s.done.Go(func() {
		ticker := time.NewTicker(drainInterval)
		defer ticker.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-ticker.C:
				s.drain()
			}
		}
	})
}

// finish stops the drains and hands on everything that is left. No client may be at work any more. If complete is true, all
// clients have done all their operations, and the observer reports the violations that only the end shows.
func (s *stream) finish(complete bool) {
	close(s.stop)
	s.done.Wait()
	s.drain()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handOn(math.MaxInt64)
	if complete {
		s.observer.Complete()
	}
}

// drain hands on everything that was recorded before the call.
func (s *stream) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drainLocked()
}

// openWindow begins the window, and returns the time at which it begins and the clients' counts before it.
func (s *stream) openWindow() (at time.Duration, counts wire.Counts) {
	return s.mark((*recorder.Recorder).OpenWindow)
}

// closeWindow ends the window, and returns the time at which it ends and the clients' counts by then.
func (s *stream) closeWindow() (at time.Duration, counts wire.Counts) {
	return s.mark((*recorder.Recorder).CloseWindow)
}

// freeze and thaw enclose a time in which zkbench itself makes the servers collect garbage, so that they answer no request.
func (s *stream) freeze() { s.mark((*recorder.Recorder).Freeze) }
func (s *stream) thaw()   { s.mark((*recorder.Recorder).Thaw) }

// mark drains, and then notes the time in the recorder.
func (s *stream) mark(note func(*recorder.Recorder, time.Duration)) (at time.Duration, counts wire.Counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts = s.pool.counts()
	at = s.drainLocked()
	note(s.recorder, at)
	return at, counts
}

// drainLocked hands on everything before the time that it returns.
//
// Note: the order of the steps matters. All notifications of transactions up to passed arrive before at. Each source, as it is
// read after at, returns everything that was recorded before at.
func (s *stream) drainLocked() (at time.Duration) {
	passed := s.pool.passed()
	at = s.pool.since()
	for _, c := range s.pool.clients {
		s.events = c.log.Take(s.events)
		s.taken = c.ledger.TakeNotifications(s.taken[:0])
		for _, n := range s.taken {
			s.notifications = append(s.notifications, results.Notification{
				At: n.At, Client: c.id, Zxid: n.Zxid, Type: n.Type.String(), Path: n.Path,
			})
		}
	}
	clear(s.taken) // releases the paths
	if s.bystanders != nil {
		s.reads = s.bystanders.take(s.reads)
	}
	s.handOn(at)
	s.recorder.Requests(at, s.pool.requested())
	s.recorder.Passed(passed)
	return at
}

// handOn merges and hands on everything up to a time, and keeps the rest for the next call.
func (s *stream) handOn(until time.Duration) {
	slices.SortStableFunc(s.events, func(a, b variants.Event) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(s.notifications, func(a, b results.Notification) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(s.reads, func(a, b results.BystanderRead) int { return cmp.Compare(completed(a), completed(b)) })
	events, notifications, reads := s.events, s.notifications, s.reads
	for {
		event, notification := timeOfFirst(events, eventTime), timeOfFirst(notifications, notificationTime)
		read := timeOfFirst(reads, completed)
		switch first := min(event, notification, read); {
		case first > until || first == math.MaxInt64:
			s.events, s.notifications, s.reads = keep(s.events, events), keep(s.notifications, notifications), keep(s.reads, reads)
			return
		case first == notification: // before the event that it may have caused
			s.recorder.Notification(notifications[0])
			notifications = notifications[1:]
		case first == event:
			s.observer.Observe(events[0])
			events = events[1:]
		default:
			s.recorder.Read(reads[0])
			reads = reads[1:]
		}
	}
}

func eventTime(e variants.Event) time.Duration              { return e.At }
func notificationTime(n results.Notification) time.Duration { return n.At }
func completed(r results.BystanderRead) time.Duration       { return r.At + r.Response }

// timeOfFirst returns the time of the first item, and the largest time if there is none.
func timeOfFirst[T any](items []T, at func(T) time.Duration) time.Duration {
	if len(items) == 0 {
		return math.MaxInt64
	}
	return at(items[0])
}

// keep moves the rest to the front of all, clears the items behind it, and returns it.
func keep[T any](all, rest []T) []T {
	n := copy(all, rest)
	clear(all[n:])
	return all[:n]
}
