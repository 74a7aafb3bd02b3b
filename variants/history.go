package variants

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/zkbench/zkbench/variants/session"
)

// EventKind names an action of a participant. Each recipe has its own kinds, counted from 0; see [SessionLost] for the kinds
// of all recipes.
type EventKind uint8

// Event is one entry of a history.
type Event struct {
	At     time.Duration // since the run's epoch, on the monotonic clock of the worker that recorded it
	Client int
	Kind   EventKind
	Worker uint16 // the process that has the client, counted from 0
	Value  int64  // depends on the kind, such as a fencing token
	Shown  int64  // zxid; the client next reads the state after this transaction, or a later one; 0 if that is unknown
	Place  int64  // see [Placed]: twice the zxid for a place just before a transaction, and one more for just after it
}

// History has the actions of all participants in one measurement, in the order of the servers' transactions, see [Placed].
type History []Event

// Span is one timed phase of one participant's work.
type Span struct {
	Phase      string
	Client     int
	Start, End time.Duration
	Across     bool // Start and End are on the clocks of different workers: the difference of their clocks is part of its length
}

// SpanOf returns the span of a client's phase.
func SpanOf(phase string, client int, start, end Moment) Span {
	across := start.Worker != end.Worker || start.Worker == anyWorker
	return Span{Phase: phase, Client: client, Start: start.At, End: end.At, Across: across}
}

// Moment is a time on the clock of a worker. The zero value stands for no moment.
type Moment struct {
	At     time.Duration
	Worker uint16 // anyWorker if it was chosen among moments on several clocks
}

const anyWorker = math.MaxUint16

// Moment returns when the event was recorded.
func (e Event) Moment() Moment { return Moment{e.At, e.Worker} }

// IsNone reports whether it stands for no moment.
func (m Moment) IsNone() bool { return m == Moment{} }

// Latest returns the later of two moments, or one of them if the other one is none.
func (m Moment) Latest(other Moment) Moment { return m.choose(other, max(m.At, other.At)) }

// Earliest returns the earlier of two moments, or one of them if the other one is none.
func (m Moment) Earliest(other Moment) Moment { return m.choose(other, min(m.At, other.At)) }

func (m Moment) choose(other Moment, at time.Duration) Moment {
	switch {
	case m.IsNone():
		return other
	case other.IsNone():
		return m
	case m.Worker != other.Worker:
		return Moment{at, anyWorker}
	}
	return Moment{at, m.Worker}
}

// Violation is a breach of a recipe's promise, in words, with its time.
type Violation struct {
	At   time.Duration
	Text string
}

// Violation returns a breach at the time of the event, in words.
func (e Event) Violation(format string, args ...any) Violation {
	return Violation{At: e.At, Text: fmt.Sprintf(format, args...)}
}

// DataOf returns the data of an item, a task or the like with a number, see [NumberIn].
func DataOf(number int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(number)) }

// NumberIn returns the number in such data. Data that no participant can have written has a negative one, so that the observer finds
// it: a variant that hands it out breaks its promise.
func NumberIn(data []byte) int64 {
	if len(data) != 8 {
		return -1 - int64(len(data))
	}
	return int64(binary.BigEndian.Uint64(data) & math.MaxInt64)
}

// DecimalIn is NumberIn for data that is a number in decimal digits.
func DecimalIn(data []byte) int64 {
	number, err := strconv.ParseUint(string(data), 10, 63)
	if err != nil {
		return -1
	}
	return int64(number)
}

// Named names what has a number of [NumberIn], by a format such as "item %d".
func Named(format string, number int64) string {
	if number < 0 {
		return fmt.Sprintf("%d bytes of data in place of 8", -1-number)
	}
	return fmt.Sprintf(format, number)
}

// Log records the events of one participant until they are taken. Its methods may be called concurrently.
type Log struct {
	epoch  time.Time
	client int
	sight  Sight

	mu     sync.Mutex
	ended  bool
	places Places
}

// NewLog returns an empty log. The logs of one measurement share one epoch. sight is called for each event. For calls, see
// [Recipe.Calls].
func NewLog(epoch time.Time, client int, sight Sight, calls []EventKind) *Log {
	return &Log{epoch: epoch, client: client, sight: sight, places: Places{Calls: calls}}
}

// Beside returns the log of a further participant on the same session.
func (l *Log) Beside(client int) *Log {
	return NewLog(l.epoch, client, l.sight, l.places.Calls)
}

// Record appends an event that happens now. Events after [Died] are dropped.
func (l *Log) Record(kind EventKind, value int64) { l.RecordUnless(nil, kind, kind, value) }

// RecordUnless appends an event of one of two kinds: otherwise if the channel is closed, else kind. If the channel is
// closed before the event is recorded, as a [session.Monitor] closes Lost before SessionLost, the history has both in that
// order. The time is taken under the mutex: a log that is read at a moment has all events before it.
func (l *Log) RecordUnless(closed <-chan struct{}, kind, otherwise EventKind, value int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	if session.IsClosed(closed) {
		kind = otherwise
	}
	seen, shown, next := l.sight()
	l.places.Add(Event{At: time.Since(l.epoch), Client: l.client, Kind: kind, Value: value}, seen, shown, next)
	l.ended = kind == Died
}

// Oldest calls [Places.Oldest] under the mutex.
func (l *Log) Oldest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.places.Oldest()
}

// Take calls [Places.Take] under the mutex.
func (l *Log) Take(dst []Placed, until time.Duration) []Placed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.places.Take(dst, until)
}
