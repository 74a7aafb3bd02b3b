package items

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// What a participant records. The value is the item's id, where there is one.
const (
	Putting   variants.EventKind = iota // just before the put is sent
	Put                                 // acknowledged
	Taking                              // begins to look for an item
	Empty                               // found none, and looks again
	Took                                // has one
	Finishing                           // has processed it
	Done                                // it is gone for good
	GivenUp                             // just before it is given back; or its claim was lost
	Unordered                           // the variant promises no order
)

// The phases that all these queues have.
const (
	PhasePut     = "put"
	PhaseTake    = "take"
	PhaseSojourn = "sojourn"
)

// Phases says what they mean, the most telling first.
func Phases() []variants.Phase {
	return []variants.Phase{
		{Name: PhaseTake, Meaning: "from the call until the client has an item", Floor: variants.FloorWrite},
		{Name: PhaseSojourn, Meaning: "an item's stay in the queue, from just before its put is sent until somebody has taken it", UntimedInLockstep: true},
		{Name: PhasePut, Meaning: "from just before a put is sent until its reply", Floor: variants.FloorWrite},
	}
}

// Spans finds these phases.
func Spans(h variants.History) []variants.Span {
	out := h.Between(PhasePut, Putting, Put)
	out = append(out, h.Between(PhaseTake, Taking, Took)...)
	return append(out, h.Across(PhaseSojourn, Putting, Took)...)
}

// Story is a history by items. Times are taken just before a call and just after its return, on one clock, so that an
// order in the history was one in reality.
type Story struct {
	Items     map[int64]*ItemStory
	Acked     []*ItemStory // in the order in which their puts were acknowledged
	Unordered bool         // the variant promises no order
	events    variants.History
	takes     []*takeStory          // in the order in which they ended
	attempts  map[int]time.Duration // since when a client has been looking for an item
}

// ItemStory is what became of an item.
type ItemStory struct {
	ID        int64
	PutBy     int
	PutBegun  time.Duration
	PutEnded  time.Duration // zero if it was not acknowledged
	TakeBegun time.Duration // when somebody began to take it, or may have; forever if nobody did
	takes     []*takeStory
}

const forever = time.Duration(math.MaxInt64)

type takeStory struct {
	variants.Event               // took
	item           *ItemStory    // nil if it had not been put
	start          time.Duration // of the attempt that succeeded
	done           time.Duration // zero if it never was
	givenUp        bool
	open           bool // its client may still report how it ends
}

// kept reports whether the client had the item for good, as far as is known.
func (t *takeStory) kept() bool { return !t.givenUp && !t.open }

// Read sorts a history by items.
func Read(h variants.History) *Story {
	s := &Story{Items: map[int64]*ItemStory{}, events: h, attempts: map[int]time.Duration{}}
	holds := map[int]*takeStory{}
	for _, e := range h {
		switch e.Kind {
		case Putting:
			s.Items[e.Value] = &ItemStory{ID: e.Value, PutBy: e.Client, PutBegun: e.At, TakeBegun: forever}
		case Put:
			if item := s.Items[e.Value]; item != nil {
				item.PutEnded = e.At
				s.Acked = append(s.Acked, item)
			}
		case Taking, Empty:
			s.attempts[e.Client] = e.At
		case Took:
			holds[e.Client] = s.take(e)
		case Done:
			if t := holds[e.Client]; t != nil && t.Value == e.Value {
				t.done = e.At
			}
		case GivenUp:
			if t := holds[e.Client]; t != nil && t.Value == e.Value {
				t.givenUp = true
			}
		case Unordered:
			s.Unordered = true
		}
	}
	return s
}

// ReadPrefix sorts a part of a history, up to some moment. An item that a client holds then may turn out to have been lost
// with its session, and other consumers may have the item.
func ReadPrefix(h variants.History) *Story {
	s := Read(h)
	last := map[int]*takeStory{}
	for _, t := range s.takes {
		last[t.Client] = t
	}
	for _, t := range last {
		t.open = t.done == 0 && !t.givenUp
	}
	return s
}

// take ends a client's attempt with an item.
func (s *Story) take(e variants.Event) *takeStory {
	t := &takeStory{Event: e, item: s.Items[e.Value], start: s.attempts[e.Client]}
	delete(s.attempts, e.Client)
	s.takes = append(s.takes, t)
	if t.item != nil {
		t.item.takes = append(t.item.takes, t)
		t.item.TakeBegun = min(t.item.TakeBegun, t.start)
	}
	return t
}

// Excuse takes it that each attempt that never ended, such as that of a client that died, took one of the items that
// nobody is known to have taken: the first ones in the order in which they are due.
func (s *Story) Excuse(due []*ItemStory) {
	open := slices.Sorted(maps.Values(s.attempts))
	for _, item := range due {
		if len(open) > 0 && len(item.takes) == 0 {
			item.TakeBegun, open = open[0], open[1:]
		}
	}
}

// ExcuseAll assumes that each item without a known taker may have been taken by the oldest attempt that has
// not ended. It excuses more than Excuse, for queues in which an item that was put later may be due earlier.
func (s *Story) ExcuseAll() {
	oldest := forever
	for _, start := range s.attempts {
		oldest = min(oldest, start)
	}
	for _, item := range s.Acked {
		if len(item.takes) == 0 {
			item.TakeBegun = oldest
		}
	}
}

// CheckTakes finds items that nobody had put, and those that two clients had. An item may be taken again only if
// whoever had it before has given it up, which may show late: a client learns late that its session is gone.
func (s *Story) CheckTakes() []variants.Violation {
	var out []variants.Violation
	for _, t := range s.takes {
		if t.item == nil {
			out = append(out, t.Violation("client %d took item %#x, which was never put", t.Client, t.Value))
			continue
		}
		for _, earlier := range t.item.takes {
			if earlier == t {
				break
			}
			again := earlier.done > 0 && t.start > earlier.done
			if earlier.kept() && (t.kept() || again) {
				out = append(out, t.Violation("client %d took item %#x, which client %d had taken", t.Client, t.Value, earlier.Client))
				break
			}
		}
	}
	return out
}

// CheckEmpty finds items that somebody must have known of who found the queue empty. At each moment it is the item whose
// put was acknowledged first that decides, of those that nobody has begun to take.
//
// A client knows of everything that was acknowledged before it began a put that was acknowledged to it: its server has
// come as far. Otherwise that server may lag behind.
func (s *Story) CheckEmpty() []variants.Violation {
	var out []variants.Violation
	waiting := s.Acked
	known := map[int]time.Duration{} // by client
	for _, e := range s.events {
		for len(waiting) > 0 && waiting[0].TakeBegun < e.At {
			waiting = waiting[1:]
		}
		switch e.Kind {
		case Put:
			if item := s.Items[e.Value]; item != nil {
				known[e.Client] = item.PutBegun
			}
		case Empty:
			if len(waiting) > 0 && waiting[0].PutEnded < known[e.Client] {
				out = append(out, e.Violation("client %d found nothing, although item %#x was there and nobody took it", e.Client, waiting[0].ID))
				waiting = waiting[1:] // once is enough
			}
		}
	}
	return out
}
