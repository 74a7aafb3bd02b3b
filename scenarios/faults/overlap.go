package faults

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"
)

// maxChecked is how many occurrences are checked for overlaps: a day of a fault each second. Later ones overlap in the same way.
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

// endBefore removes the outages that are over before a time. One that ends then still counts: a server needs a moment to join its quorum.
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

// checkServers rejects faults of servers that are down, and faults that together take the quorum away for too long.
func checkServers(schedule []Fault, t Terms) []Problem {
	l := overlaps{terms: t}
	for o := range occurrences(schedule, t.Window, func(f Fault) bool { return f.Kind.OfServer() }) {
		l.endBefore(o.Due)
		if !l.canHappen(o) {
			continue
		}
		end := cmp.Or(t.Window, never) // the server is restored at the end of the window
		if o.For > 0 {
			end = min(o.Due+o.For, end)
		}
		l.begin(o, end)
		if l.losing == nil && !l.hasQuorum() {
			l.losing = &o
		}
	}
	l.endBefore(never)
	if l.losing != nil {
		l.checkLoss(never)
	}
	return l.problems
}

func (l *overlaps) hasQuorum() bool { return len(Servers())-len(l.open) > len(Servers())/2 }

// canHappen reports whether there is a server that an occurrence can hit, and adds a mistake otherwise.
func (l *overlaps) canHappen(o Occurrence) bool {
	before := slices.IndexFunc(l.open, func(other outage) bool {
		return slices.Contains(Servers(), o.Whom) && (other.Whom == o.Whom || !slices.Contains(Servers(), other.Whom))
	})
	switch {
	case len(l.open) == len(Servers()):
		l.add(o, "at %s no server is left: all of them are down", span(o.Due))
	case !l.hasQuorum() && (o.Whom == Leader || o.Whom == Follower):
		l.add(o, "at %s there is no %s: %d of the %d servers are down, and the others have no quorum",
			span(o.Due), o.Whom, len(l.open), len(Servers()))
	case before >= 0 && l.open[before].Whom == o.Whom:
		l.add(o, "at %s %s is still down, by `%s`", span(o.Due), o.Whom, l.open[before].Fault)
	case before >= 0:
		l.add(o, "at %s %s may still be down, by `%s`", span(o.Due), o.Whom, l.open[before].Fault)
	default:
		return true
	}
	return false
}

// checkLoss adds a mistake if the quorum was lost for longer than a session lives, unless the scenario allows that.
func (l *overlaps) checkLoss(until time.Duration) {
	losing := *l.losing
	l.losing = nil
	if until-losing.Due <= l.terms.SessionTimeout || l.terms.QuorumLoss {
		return
	}
	to, lasts := "to "+span(until), span(until-losing.Due)+" without a quorum"
	if until == never {
		to, lasts = "on", "no quorum to the end of the measurement"
	}
	l.add(losing, "from %s %s at most one of the %d servers works: %s, longer than the session timeout of %s, "+
		"so that every session ends; quorum-loss: true allows it", span(losing.Due), to, len(Servers()), lasts, span(l.terms.SessionTimeout))
}
