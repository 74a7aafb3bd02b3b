package variants

import (
	"cmp"
	"slices"
)

// Observer follows one measurement. It is given the events of all participants in the order of their places, see [Placed],
// and reports spans and violations as soon as they are certain. It keeps only open operations and the like, such as items in
// a queue, so that its memory does not depend on how long the measurement lasts.
//
// A violation that Observe reports holds independently of later events: an operation that is still open does not break a
// promise, as it may yet complete and its client may yet learn that its session was lost. A span is reported with the event
// that ends it. A span that depends on operations that are open then is reported when they have ended.
type Observer interface {
	// Observe takes the next event.
	Observe(Event)
	// Complete is called when every participant has completed its work: operations that are still open then are final,
	// such as an item that was put and never taken. It is not called if the load failed.
	Complete()
}

// Findings receives the findings of an observer. Its functions are called from within Observe and Complete.
type Findings struct {
	Span      func(Span)
	Violation func(Violation)
	Damage    func(Damage) // may be nil: damage that breaks a promise is then a violation; see [Findings.Lose]
}

// Breach reports a violation at the time of an event, in words.
func (f Findings) Breach(e Event, format string, args ...any) {
	f.Violation(e.Violation(format, args...))
}

// Observers gives each event to several observers in turn.
type Observers []Observer

// Observe implements [Observer].
func (all Observers) Observe(e Event) {
	for _, o := range all {
		o.Observe(e)
	}
}

// Complete implements [Observer].
func (all Observers) Complete() {
	for _, o := range all {
		o.Complete()
	}
}

// ObserverFunc is an observer that has nothing to add at the end.
type ObserverFunc func(Event)

// Observe implements [Observer].
func (f ObserverFunc) Observe(e Event) { f(e) }

// Complete implements [Observer].
func (ObserverFunc) Complete() {}

// StateOf returns an observer's state of a client, an item or the like. One that is new to the observer gets the zero value.
func StateOf[K comparable, T any](all map[K]*T, key K) *T {
	return StateOr(all, key, func() *T { return new(T) })
}

// StateOr is StateOf with what one that is new gets.
func StateOr[K comparable, T any](all map[K]*T, key K, fresh func() *T) *T {
	state := all[key]
	if state == nil {
		state = fresh()
		all[key] = state
	}
	return state
}

// KeysWhere returns the keys of a map's wanted entries, sorted.
func KeysWhere[K cmp.Ordered, V any](all map[K]V, wanted func(K, V) bool) []K {
	var keys []K
	for key, value := range all {
		if wanted(key, value) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Timed reports the spans of the phases that have a beginning and an end.
func (f Findings) Timed(phases []Phase) (all Observers) {
	for _, p := range phases {
		if p.To != 0 {
			all = append(all, f.Between(p.Name, p.From, p.To))
		}
	}
	return all
}

// Between reports the spans from each event of kind from to the same participant's next event of kind to, in one life.
func (f Findings) Between(phase string, from, to EventKind) Observer {
	return f.BetweenFitting(phase, from, to, func(_, _ Event) bool { return true })
}

// BetweenFitting is Between for ends that fit their beginnings. Others are passed over.
func (f Findings) BetweenFitting(phase string, from, to EventKind, fit func(begun, end Event) bool) Observer {
	open := map[int]Event{}
	return ObserverFunc(func(e Event) {
		start, begun := open[e.Client]
		switch {
		case e.Kind == from:
			open[e.Client] = e
		case e.Kind == to && begun && fit(start, e):
			f.Span(SpanOf(phase, e.Client, start.Moment(), e.Moment()))
			delete(open, e.Client)
		case e.EndsLife():
			delete(open, e.Client)
		}
	})
}

// Across reports the spans from each event of kind from to the next event of kind to that has the same value, of any
// participant.
func (f Findings) Across(phase string, from, to EventKind) Observer {
	open := map[int64]Moment{}
	return ObserverFunc(func(e Event) {
		switch start, begun := open[e.Value]; {
		case e.Kind == from:
			open[e.Value] = e.Moment()
		case e.Kind == to && begun:
			f.Span(SpanOf(phase, e.Client, start, e.Moment()))
			delete(open, e.Value)
		}
	})
}

// Handovers reports the spans from each event of kind given to the next one of kind got, if that participant was already
// waiting then, since an event of kind wanted. Otherwise the time in between is idle time, not a handover.
func (f Findings) Handovers(phase string, wanted, given, got EventKind) Observer {
	var place, free int // in the history; free is zero if nothing is given
	var since Moment
	waitingSince := map[int]int{}
	return ObserverFunc(func(e Event) {
		place++
		switch e.Kind {
		case wanted:
			waitingSince[e.Client] = place
		case given:
			free, since = place, e.Moment()
		case got:
			if waitingSince[e.Client] < free {
				f.Span(SpanOf(phase, e.Client, since, e.Moment()))
			}
			free = 0
		}
	})
}

// sightsKept is the number of latest values for which FirstSights remembers when they were made.
const sightsKept = 1024

// FirstSights reports the spans from each event of kind made to each participant's first event of kind seen that has the same
// value. The values are 1, 2, 3 and so on. A participant has no span for a value that it never saw, because the next one came
// too early, or that it sees only after sightsKept newer ones have been made.
func (f Findings) FirstSights(phase string, made, seen EventKind) Observer {
	begun := map[int64]Moment{}
	last := map[int]int64{}
	return ObserverFunc(func(e Event) {
		switch e.Kind {
		case made:
			begun[e.Value] = e.Moment()
			delete(begun, e.Value-sightsKept)
		case seen:
			if start, ok := begun[e.Value]; ok && e.Value > last[e.Client] {
				f.Span(SpanOf(phase, e.Client, start, e.Moment()))
				last[e.Client] = e.Value
			}
		}
	})
}

// Replay gives a history to a new observer of the recipe, and returns its findings. complete reports whether all participants
// have completed their work.
func (r Recipe) Replay(h History, complete bool) (spans []Span, violations []Violation) {
	o := r.NewObserver(Findings{
		Span:      func(s Span) { spans = append(spans, s) },
		Violation: func(v Violation) { violations = append(violations, v) },
	})
	for _, e := range h {
		o.Observe(e)
	}
	if complete {
		o.Complete()
	}
	return spans, violations
}
