package variants

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// EventKind names what a participant did; each recipe has its own.
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

// logBlock is how many events are allocated at a time: enough that allocating is rare, few enough that a thousand
// idle participants cost little.
const logBlock = 256

// Log records the events of one participant. One goroutine owns it; nothing in it locks, formats, or copies what is
// already there.
type Log struct {
	epoch  time.Time
	client int
	full   [][]Event
	block  []Event
}

// NewLog returns an empty log. The logs of one measurement share one epoch.
func NewLog(epoch time.Time, client int) *Log {
	return &Log{epoch: epoch, client: client, block: make([]Event, 0, logBlock)}
}

// Record appends an event that happens now.
func (l *Log) Record(kind EventKind, value int64) {
	if len(l.block) == cap(l.block) {
		l.full = append(l.full, l.block)
		l.block = make([]Event, 0, logBlock)
	}
	l.block = append(l.block, Event{At: time.Since(l.epoch), Client: l.client, Kind: kind, Value: value})
}

// Merge returns the events of all logs in the order of time. The logs' owners must have finished.
func Merge(logs []*Log) History {
	var h History
	for _, l := range logs {
		for _, block := range l.full {
			h = append(h, block...)
		}
		h = append(h, l.block...)
	}
	slices.SortStableFunc(h, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return h
}

// Between returns the spans from each event of kind from to the same participant's next event of kind to.
func (h History) Between(phase string, from, to EventKind) []Span {
	return h.pair(phase, from, to, func(e Event) int64 { return int64(e.Client) })
}

// Across returns the spans from each event of kind from to the next event of kind to that has the same value, whoever's
// it is.
func (h History) Across(phase string, from, to EventKind) []Span {
	return h.pair(phase, from, to, func(e Event) int64 { return e.Value })
}

// pair returns the spans between events of the same key.
func (h History) pair(phase string, from, to EventKind, key func(Event) int64) []Span {
	var spans []Span
	open := map[int64]time.Duration{}
	for _, e := range h {
		switch e.Kind {
		case from:
			open[key(e)] = e.At
		case to:
			if start, ok := open[key(e)]; ok {
				spans = append(spans, Span{Phase: phase, Client: e.Client, Start: start, End: e.At})
				delete(open, key(e))
			}
		}
	}
	return spans
}

// Handovers pairs each event of kind given with the next one of kind got, if that client was already waiting then, since
// an event of kind wanted; otherwise the time in between is idleness, not handing over.
func (h History) Handovers(phase string, wanted, given, got EventKind) []Span {
	var out []Span
	waitingSince := map[int]time.Duration{}
	var free time.Duration
	pending := false
	for _, e := range h {
		switch e.Kind {
		case wanted:
			waitingSince[e.Client] = e.At
		case given:
			free, pending = e.At, true
		case got:
			if pending && waitingSince[e.Client] < free {
				out = append(out, Span{Phase: phase, Client: e.Client, Start: free, End: e.At})
			}
			pending = false
		}
	}
	return out
}

// FirstSights pairs each event of kind made with each client's first event of kind seen that has the same value. One that
// a client never saw, because the next came too early, has none. The values grow, from 1 on.
func (h History) FirstSights(phase string, made, seen EventKind) []Span {
	var out []Span
	begun := map[int64]time.Duration{}
	last := map[int]int64{}
	for _, e := range h {
		switch e.Kind {
		case made:
			begun[e.Value] = e.At
		case seen:
			if start, ok := begun[e.Value]; ok && e.Value > last[e.Client] {
				out = append(out, Span{Phase: phase, Client: e.Client, Start: start, End: e.At})
				last[e.Client] = e.Value
			}
		}
	}
	return out
}
