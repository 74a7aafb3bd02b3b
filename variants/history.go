package variants

import (
	"fmt"
	"sync"
	"time"
)

// EventKind names what a participant did. Each recipe has its own kinds, from 0 on; see [SessionLost] for those of all.
type EventKind uint8

// Event is one entry of a history.
type Event struct {
	At     time.Duration // since the run's epoch, on the one monotonic clock of the process
	Client int
	Kind   EventKind
	Value  int64 // what the recipe has to remember, such as a fencing token
}

// History is everything the participants of one measurement did, in the order of time.
type History []Event

// Span is one timed phase of one participant's work.
type Span struct {
	Phase      string
	Client     int
	Start, End time.Duration
}

// Violation is a breach of a recipe's promise, in words, with when it happened.
type Violation struct {
	At   time.Duration
	Text string
}

// Violation is a breach at the time of the event, in words.
func (e Event) Violation(format string, args ...any) Violation {
	return Violation{At: e.At, Text: fmt.Sprintf(format, args...)}
}

// Log records the events of one participant until they are taken. Its methods may be called concurrently.
type Log struct {
	epoch  time.Time
	client int

	mu     sync.Mutex
	ended  bool
	events []Event
}

// NewLog returns an empty log. The logs of one measurement share one epoch.
func NewLog(epoch time.Time, client int) *Log { return &Log{epoch: epoch, client: client} }

// Record appends an event that happens now.
//
// Note: the time is taken under the mutex, so that a log that is taken from at some moment gives every event before it.
func (l *Log) Record(kind EventKind, value int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record(kind, value)
}

// RecordUnless appends an event of one of two kinds: otherwise if the channel is closed, else kind. If the channel is closed
// before an event is recorded, as that of a [Monitor] before SessionLost, the history has both in that order.
func (l *Log) RecordUnless(closed <-chan struct{}, kind, otherwise EventKind, value int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-closed:
		kind = otherwise
	default:
	}
	l.record(kind, value)
}

// End appends the last event of a participant. What it records afterwards is dropped.
func (l *Log) End(kind EventKind, value int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record(kind, value)
	l.ended = true
}

// record appends an event, unless the log has ended. The caller holds the mutex.
func (l *Log) record(kind EventKind, value int64) {
	if !l.ended {
		l.events = append(l.events, Event{At: time.Since(l.epoch), Client: l.client, Kind: kind, Value: value})
	}
}

// Take appends the events since the last call to dst, in the order of time, and forgets them.
func (l *Log) Take(dst []Event) []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	dst = append(dst, l.events...)
	l.events = l.events[:0]
	return dst
}
