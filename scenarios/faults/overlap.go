package faults

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"
)

// maxChecked is the number of occurrences that the checks of overlaps examine: a day of a server fault each second. Later
// occurrences overlap in the same way.
const maxChecked = 100_000

type outage struct {
	Occurrence
	end time.Duration
}

type overlaps struct {
	terms    Terms
	open     []outage    // sorted by their ends
	losing   *Occurrence // the one that took the quorum away; nil while a quorum exists
	problems []Problem
}

// add reports a mistake of an occurrence, unless its fault has one already.
func (l *overlaps) add(o Occurrence, format string, args ...any) {
	if !slices.ContainsFunc(l.problems, func(p Problem) bool { return p.Index == o.Index }) {
		l.problems = append(l.problems, Problem{o.Index, fmt.Sprintf(format, args...)})
	}
}

func (l *overlaps) begin(o Occurrence, end time.Duration) {
	at := sort.Search(len(l.open), func(i int) bool { return l.open[i].end > end })
	l.open = slices.Insert(l.open, at, outage{o, end})
}

// endBefore removes the outages that are over before a time. One that ends at that time still counts, because a server
// needs a moment to join its quorum.
func (l *overlaps) endBefore(t time.Duration) {
	for len(l.open) > 0 && l.open[0].end < t {
		end := l.open[0].end
		l.open = l.open[1:]
		if l.losing != nil && l.hasQuorum() {
			l.checkLoss(end)
		}
	}
}

// occurrences returns the occurrences of the wanted faults, up to maxChecked. Each keeps its fault's index in the schedule.
func occurrences(schedule []Fault, window time.Duration, wanted func(Fault) bool) iter.Seq[Occurrence] {
	some := slices.Clone(schedule)
	for i, f := range some {
		if !wanted(f) {
			some[i].At = never
		}
	}
	return func(yield func(Occurrence) bool) {
		n := 0
		for o := range Plan(some, window) {
			if n++; n > maxChecked || !yield(o) {
				return
			}
		}
	}
}

func checkStops(schedule []Fault, t Terms) []Problem {
	l := overlaps{terms: t}
	for o := range occurrences(schedule, t.Window, func(f Fault) bool { return f.Kind == Stop }) {
		l.endBefore(o.Due)
		_, one := o.Client()
		dead := func(other outage) bool { return other.Whom == o.Whom }
		switch {
		case len(l.open) >= t.Clients:
			l.add(o, "at %s no client is left to stop: the smallest measurement has %d, and the session of a client that stops ends after %s",
				span(o.Due), t.Clients, span(t.SessionTimeout))
		case one && slices.ContainsFunc(l.open, dead):
			l.add(o, "at %s %s is still dead: the session of a client that stops ends after %s", span(o.Due), o.Whom, span(t.SessionTimeout))
		default:
			l.begin(o, o.Due+t.SessionTimeout)
		}
	}
	return l.problems
}
